package invent

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
)

func TestExtents(t *testing.T) {
	for text, want := range map[string]int{"past": 7, "past + 1": 8, "past + seq": 8, "seq": 1, "batch * 2": 6,
		"seq - past": 1, "": 9} {
		e := &Extents{Numbers: map[string]int{"past": 7, Normal("batch * 2"): 6, "x[0]": 9}}
		if got := e.of(nacre.Info{Name: "x", Shape: []nacre.Dim{{Symbol: text, Size: -1}}}, 0); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	list := []nacre.Info{{Name: "x", Shape: []nacre.Dim{{Symbol: "past + 1", Size: -1}, {Size: -1}, {Size: 3}}}}
	for name, want := range map[string]bool{"past": true, Normal("past + 1"): true, "seq": false, "x[1]": true,
		"x[2]": false, "3": false} {
		if HasAxis(list, name) != want {
			t.Errorf("%s is an axis: %v", name, !want)
		}
	}
	e := &Extents{Numbers: map[string]int{}}
	if shape := e.Shape(list[0]); !slices.Equal(shape, []int{2, 1, 3}) ||
		!slices.Equal(e.Assumed, []string{"past", "x[1]"}) {
		t.Errorf("shape %v, assumed %v", shape, e.Assumed)
	}
	if err := e.Take(nacre.Info{Name: "y", Shape: []nacre.Dim{{Symbol: "n", Size: -1}}}, []int{4}); err != nil ||
		e.Numbers["n"] != 4 {
		t.Errorf("numbers %v (%v)", e.Numbers, err)
	}
	if err := e.Take(nacre.Info{Name: "z", Shape: []nacre.Dim{{Symbol: "n", Size: -1}}}, []int{5}); err == nil {
		t.Error("n is 4 and 5")
	}
}
