package chelis

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// attending returns a network of Attention with 4 query heads that share 2 key heads.
func attending(mask *tensor.Tensor, attrs ...*graph.Attr) *graph.Model {
	b := graph.NewBuilder("attention")
	inputs := []string{b.Input("q", floats(known(2, 4, 3, 6)...))}
	for _, name := range []string{"k", "v"} {
		inputs = append(inputs, b.Weight(&graph.Initializer{Name: name, Tensor: f32(2, 2, 5, 6)}))
	}
	if mask != nil {
		inputs = append(inputs, b.Weight(&graph.Initializer{Name: "mask", Tensor: mask}))
	}
	b.Output(b.Op("Attention", inputs, attrs...), "y", floats(known(2, 4, 3, 6)...))
	return model(b)
}

// TestAttention compares modules of Attention with runs, and checks the errors of Attention that
// cannot be emitted.
func TestAttention(t *testing.T) {
	for i, m := range []*graph.Model{attending(nil), attending(nil, graph.IntAttr("is_causal", 1)), attending(f32(3, 5), graph.FloatAttr("scale", 0.3)), attending(f32(2, 1, 3, 5))} {
		text, err := emitted(m, Options{})
		if err == nil {
			err = runModule(m, text, map[string]*tensor.Tensor{"q": f32(2, 4, 3, 6)}, nil)
		}
		if err != nil {
			t.Errorf("%d: %v\n%.1500s", i, err, text)
		}
	}
	for _, c := range []struct {
		m    *graph.Model
		o    Options
		want error
		text string
	}{
		{attending(tensor.New(tensor.Bool, 3, 5)), Options{}, ErrUnsupportedDtype, "a mask of bool"},
		{attending(nil, graph.FloatAttr("softcap", 2)), Options{}, ErrUnsupportedOperator, "softcap"},
		{attending(nil, graph.IntAttr("is_causal", 1)), Options{MaxElements: 14}, ErrUnsupportedShape, "a causal mask of 3 by 5"},
	} {
		if _, err := emitted(c.m, c.o); !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%v, want %v with %q", err, c.want, c.text)
		}
	}
}
