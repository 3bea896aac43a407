package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestCopiesOfAnyLength binds nodes for a symbolic length and runs their commands for several
// lengths.
func TestCopiesOfAnyLength(t *testing.T) {
	pool := testPool(t)
	n := graph.Symbol("n")
	dims := func(list ...any) graph.Dims {
		d := graph.Dims{}
		for _, x := range list {
			if k, ok := x.(int); ok {
				d = append(d, graph.Known(k))
			} else {
				d = append(d, x.(graph.Dim))
			}
		}
		return d
	}
	ints := func(list ...int64) *tensor.Tensor {
		x, err := tensor.From(list, len(list))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	type input struct {
		dims  graph.Dims
		fixed *tensor.Tensor // a constant; nil for floats
	}
	given := func(list ...any) input { return input{dims: dims(list...)} }
	fixed := func(x *tensor.Tensor) input { return input{graph.DimsOf(x.Shape()), x} }
	tests := []struct {
		name, op string
		since    int
		attrs    []*graph.Attr
		in       []input
		out      graph.Dims
		shape    []int // for n = 3
	}{
		{"concat", "Concat", 13, intAttrs("axis", 1), []input{given(2, n, 4), given(2, 1, 4)}, dims(2, n.Add(graph.Known(1)), 4), []int{2, 4, 4}},
		{"transpose", "Transpose", 13, []*graph.Attr{{Name: "perm", Kind: graph.AttrInts, Ints: []int64{0, 2, 1, 3}}}, []input{given(1, n, 5, 4)}, dims(1, 5, n, 4), []int{1, 5, 3, 4}},
		{"expand", "Expand", 13, nil, []input{given(n, 1, 2), fixed(ints(1, 3, 1))}, dims(n, 3, 2), []int{3, 3, 2}},
		{"tile", "Tile", 13, nil, []input{given(2, n), fixed(ints(3, 2))}, dims(6, n.Mul(graph.Known(2))), []int{6, 6}},
		{"slice", "Slice", 13, nil, []input{given(2, n, 4), fixed(ints(1)), fixed(ints(1 << 40)), fixed(ints(1))}, dims(2, n.Sub(graph.Known(1)), 4), []int{2, 2, 4}},
		{"pad", "Pad", 13, nil, []input{given(2, n), fixed(ints(0, 2, 0, 1))}, dims(2, n.Add(graph.Known(3))), []int{2, 6}},
		{"gather", "Gather", 13, intAttrs("axis", 1), []input{given(2, n, 3), fixed(ints(0, -1))}, dims(2, 2, 3), []int{2, 2, 3}},
		{"trilu", "Trilu", 14, nil, []input{given(2, n, 6)}, dims(2, n, 6), []int{2, 3, 6}},
	}
	registry, r := standard.Registry(), rand.New(rand.NewPCG(21, 22))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			node := &graph.Node{Op: tt.op, Version: tt.since, Attrs: tt.attrs, Outputs: []string{"y"}}
			b := &device.Binding{Node: node, Bound: func(string) (int, bool) { return 100, true }}
			for i, x := range tt.in {
				node.Inputs = append(node.Inputs, fmt.Sprint("x", i))
				v := &op.Value{Type: graph.TensorOf(tensor.F32, x.dims), Const: x.fixed}
				if x.fixed != nil {
					v.DType = x.fixed.DType()
				}
				b.In = append(b.In, v)
			}
			var err error
			if b.Op, b.Row, err = registry.New(node); err != nil {
				t.Fatal(err)
			}
			if b.Out, err = kit.InferOutputs(b.Op, node, b.In); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(b.Out[0].Dims, tt.out, graph.Dim.Same) {
				t.Fatalf("inferred %v, not %v", b.Out[0].Dims, tt.out)
			}
			packs := NewPacks()
			defer packs.Close()
			d, err := New(bindings.DetectISA(), pool, 3, packs)
			if err != nil {
				t.Fatal(err)
			}
			step, err := d.Bind(b)
			if err != nil {
				t.Fatal(err)
			}
			list := make([]device.Recorded, len(step.Commands))
			for i := range list {
				list[i] = device.Record(&step.Commands[i], func(o device.Operand) int {
					if o.Place == device.In {
						return 2 + o.Index
					}
					return 2 + len(b.In)
				}, 1, device.AlignUp(step.Temp))
			}
			s, err := d.Record(list)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Free()
			scratch := tensor.New(tensor.U8, step.Scratch()+64)
			for _, length := range []int{3, 70, 1, 2, 50} {
				lookup := func(string) (int, bool) { return length, true }
				if err := s.Resize(lookup); err != nil {
					t.Fatal(err)
				}
				var pin device.Pinner
				rebase := func(base int, x *tensor.Tensor) {
					pin.Pin(x.Pointer())
					s.Rebase(base, x.Bytes())
				}
				rebase(1, scratch)
				in := make([]*tensor.Tensor, len(tt.in))
				for i, x := range tt.in {
					if in[i] = x.fixed; in[i] == nil {
						in[i] = tensor.New(tensor.F32, evaluated(t, x.dims, lookup)...)
						for k := range tensor.View[float32](in[i]) {
							tensor.View[float32](in[i])[k] = r.Float32()
						}
					}
					rebase(2+i, in[i])
				}
				shape := evaluated(t, tt.out, lookup)
				if length == 3 && !slices.Equal(shape, tt.shape) {
					t.Fatalf("the shape is %v, not %v", shape, tt.shape)
				}
				y := tensor.New(tensor.F32, shape...)
				if y.Len() > 0 {
					rebase(2+len(in), y)
				}
				_, err := s.Run(nil, false)
				pin.Unpin()
				if err != nil {
					t.Fatal(err)
				}
				want, err := Eval(registry, node, 0, nil, in)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(y.Bytes(), want[0].Bytes()) {
					t.Errorf("wrong for length %d", length)
				}
			}
		})
	}
}

func intAttrs(name string, n int64) []*graph.Attr {
	return []*graph.Attr{{Name: name, Kind: graph.AttrInt, Int: n}}
}

func evaluated(t *testing.T, dims graph.Dims, lookup func(string) (int, bool)) []int {
	shape := make([]int, len(dims))
	for i, d := range dims {
		var ok bool
		if shape[i], ok = d.Eval(lookup); !ok {
			t.Fatalf("extent %v is not known", d)
		}
	}
	return shape
}

// TestStoreOfAnyLength checks that integers derived from a length are stored.
func TestStoreOfAnyLength(t *testing.T) {
	testPool(t)
	n := graph.Symbol("n")
	node := &graph.Node{Op: "Shape", Version: 13, Inputs: []string{"x"}, Outputs: []string{"y"}}
	o, row, err := standard.Registry().New(node)
	if err != nil {
		t.Fatal(err)
	}
	in := []*op.Value{{Type: graph.TensorOf(tensor.F32, graph.Dims{n.Mul(n), graph.Known(4)})}}
	out, err := kit.InferOutputs(o, node, in)
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(0, nil, 1, NewPacks())
	if err != nil {
		t.Fatal(err)
	}
	step, err := d.Bind(&device.Binding{Op: o, Row: row, Node: node, In: in, Out: out,
		Bound: func(string) (int, bool) { return 100, true }})
	if err != nil {
		t.Fatal(err)
	}
	if len(step.Commands) != 1 || step.Commands[0].Kernel.Op() != "store_i64" {
		t.Fatalf("the step is %v", step)
	}
	if w := step.Commands[0].Words; !w[1].Same(n.Mul(n)) || !w[2].Is(4) {
		t.Errorf("the words are %v", w)
	}
}
