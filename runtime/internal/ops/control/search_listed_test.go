package control

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestLoops describes the runs of decoders with partly declared inputs.
func TestLoops(t *testing.T) {
	typed := func(d tensor.DType, dims ...string) *graph.Value {
		v := &graph.Value{Name: "x", Type: graph.Type{Kind: graph.TensorType, DType: d}}
		for _, x := range dims {
			v.Type.Dims = append(v.Type.Dims, graph.ParseDim(x))
		}
		return v
	}
	number := func(n int32) *op.Value {
		x := tensor.New(tensor.I32, 1)
		tensor.View[int32](x)[0] = n
		return op.Known(x)
	}
	ids := func(d ...string) *op.Value { return &op.Value{Type: typed(tensor.I32, d...).Type} }
	past := typed(tensor.F32, "2", "b", "3", "p", "4")
	cache, flat := typed(tensor.F32, "b", "3", "n", "4"), typed(tensor.F32, "b")
	one := &search{}
	beams, text := &search{beams: 3}, &search{beams: 3, pair: &pair{masked: true, layers: 1}}
	for name, c := range map[string]struct {
		s       *search
		decoder []*graph.Value
		in      []*op.Value
		rows    int // 0 for no description
		assumed string
	}{
		"all known":  {one, []*graph.Value{ids2(), ids2(), ids2(), past}, []*op.Value{ids("5", "2"), number(9)}, 5, ""},
		"no extents": {one, []*graph.Value{ids2(), ids2(), ids2(), past}, []*op.Value{ids(), number(9)}, 1, "batch 1"},
		"open":       {beams, []*graph.Value{ids2(), ids2(), ids2(), past}, []*op.Value{ids("5", "s"), ids("1"), nil, ids("1")}, 5, "max_length 4096, num_beams 1"},
		"beams":      {beams, []*graph.Value{ids2(), ids2(), ids2(), past}, []*op.Value{ids("5", "s"), number(9), nil, number(4)}, 20, ""},
		"too many":   {beams, []*graph.Value{ids2(), ids2(), ids2(), past}, []*op.Value{ids("5", "s"), number(9), nil, number(1 << 20)}, 0, ""},
		"no pasts":   {one, []*graph.Value{ids2()}, []*op.Value{ids("5", "2"), number(9)}, 0, ""},
		"flat past":  {one, []*graph.Value{ids2(), ids2(), ids2(), flat}, []*op.Value{ids("5", "2"), number(9)}, 0, ""},
		"pair":       {text, []*graph.Value{ids2(), ids2(), cache, cache, cache, cache}, []*op.Value{ids("2", "7"), number(9), nil, number(2)}, 4, ""},
		"flat cache": {text, []*graph.Value{ids2(), ids2(), flat, flat, flat, flat}, []*op.Value{ids("2", "7"), number(9), nil, number(2)}, 0, ""},
		"open heads": {text, []*graph.Value{ids2(), ids2(), typed(tensor.F32, "b", "h", "n", "4"), cache, cache, cache}, []*op.Value{ids("2", "7"), number(9), nil, number(2)}, 0, ""},
	} {
		s := *c.s
		s.decoder = &graph.Graph{Inputs: c.decoder, Outputs: values(strings.Repeat("x ", max(len(c.decoder)-2, 0)))}
		l := s.Loops(decoderBody, c.in)
		if (l == nil) != (c.rows == 0) {
			t.Errorf("%s: got %+v", name, l)
			continue
		}
		if l == nil {
			continue
		}
		if n, _ := l.Types[0].Dims[0].Value(); n != c.rows || l.Assumed != c.assumed {
			t.Errorf("%s: got %d rows, assumed %q, want %d, %q", name, n, l.Assumed, c.rows, c.assumed)
		}
		for _, x := range l.States {
			if x.Dims[x.Axis].String() != op.Rows {
				t.Errorf("%s: a state is %v along axis %d", name, x.Dims, x.Axis)
			}
		}
	}
	if l := one.Loops(encoderBody, nil); l != nil {
		t.Errorf("an encoder: got %+v", l)
	}
}

// ids2 returns an input of tokens.
func ids2() *graph.Value { return values("ids")[0] }
