package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

func TestHello(t *testing.T) {
	testenv.Need(t, bindings.Available())
	digits := filepath.Join(testenv.Root(t), "cmd", "nacre", "demo", "digits.onnx")
	for _, c := range []struct {
		extents []string
		want    string // in the output or the error
	}{
		{[]string{"batch=2"}, "probabilities float32[2,10]"},
		{nil, "batch"},
		{[]string{"batch"}, "batch: not of the form NAME=N"},
	} {
		var out strings.Builder
		err := run(&out, digits, c.extents)
		if got := out.String(); !strings.Contains(got, c.want) && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %q, %v; want %q", c.extents, got, err, c.want)
		}
	}
}
