package graph

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestLimit(t *testing.T) {
	ids, err := tensor.From([]int32{3, 0, 4}, 3)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (int, bool) {
		n, ok := map[string]int{"past": 5, "sequence": 2}[name]
		return n, ok
	}
	both := ParseDim("past + sequence")
	for _, c := range []struct {
		limit Limit
		says  string // empty if the limit holds
	}{
		{Limit{Input: "ids", Most: 4}, ""},
		{Limit{Input: "ids", Most: 3, About: "words"}, `element 2 of input "ids" is 4; the model takes 0 to 3 (words)`},
		{Limit{Input: "ids", Least: 1, Most: 9}, `element 1 of input "ids" is 0; the model takes 1 to 9`},
		{Limit{Extent: both, Most: 7}, ""},
		{Limit{Extent: both, Most: 6}, "is 7; the model takes at most 6"},
		{Limit{Extent: both, Least: 8, Most: math.MaxInt}, "is 7; the model takes at least 8"},
		{Limit{Extent: ParseDim("other"), Most: 0}, ""},
	} {
		err := c.limit.Check(ids, lookup)
		if c.says == "" && err != nil ||
			c.says != "" && (!errors.Is(err, ErrShape) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v, want %q", c.limit, err, c.says)
		}
	}
	if err := (Limit{Input: "ids"}).Check(nil, nil); err != nil {
		t.Errorf("without an input: %v", err)
	}
	if err := (Limit{Input: "ids"}).Check(tensor.New(tensor.F32, 3), nil); err != nil {
		t.Errorf("numbers with fractions: %v", err)
	}
}
