package kit

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

func TestNormAxes(t *testing.T) {
	for _, c := range []struct {
		name string
		axes []int
		rank int
		want []int
		ok   bool
	}{
		{"none", nil, 3, []int{}, true},
		{"order is kept", []int{-1, 0}, 3, []int{2, 0}, true},
		{"scalar has no axis", []int{0}, 0, nil, false},
		{"beyond the last", []int{3}, 3, nil, false},
		{"before the first", []int{-4}, 3, nil, false},
		{"smallest int", []int{math.MinInt}, 3, nil, false},
		{"twice", []int{1, -2}, 3, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := NormAxes(c.axes, c.rank)
			if (err == nil) != c.ok || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v", got, err)
			}
			if err != nil && !errors.Is(err, graph.ErrShape) {
				t.Errorf("%v is not ErrShape", err)
			}
		})
	}
}
