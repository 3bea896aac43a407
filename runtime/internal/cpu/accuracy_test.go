package cpu

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/device"
)

func TestAccuracy(t *testing.T) {
	for _, c := range []struct {
		a            device.Accuracy
		model, wants bool
	}{
		{device.AccuracyModel, false, false},
		{device.AccuracyModel, true, true},
		{device.AccuracyExact, true, false},
		{device.AccuracyFast, false, true},
	} {
		if got := c.a.Rounds(c.model); got != c.wants {
			t.Errorf("accuracy %d, model %v: rounds is %v", c.a, c.model, got)
		}
	}
}
