package vulkan_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// coded returns a cache of int8 [shape,row] with rows of size elements.
func coded(r *rand.Rand, size int, shape ...int) *tensor.Tensor {
	width, _ := kit.CacheWidth(tensor.I8, graph.Known(size)).Value()
	t := tensor.New(tensor.I8, append(slices.Clone(shape), width)...)
	for row := range slices.Chunk(t.Bytes(), width) {
		for i := range row[:size] {
			row[i] = byte(r.IntN(255) - 127)
		}
		for at := size; at < width; at += 2 {
			binary.LittleEndian.PutUint16(row[at:], uint16(packed.ToBF16((1+r.Float32())/100)))
		}
	}
	return t
}

// hard returns rows of size numbers with codes and scales that are hard to round: ties, subnormal
// numbers, zeros, the greatest numbers, and numbers that are not finite.
func hard(r *rand.Rand, rows, size int) []float32 {
	const block = 32
	list := some(r, rows*size)
	for i := range rows {
		row := list[i*size:][:size]
		for e := range row {
			switch i % 8 {
			case 0: // ties of a block with scale 1, or 127/128 of it
				row[e] = float32(e%block) - 15.5
			case 1:
				row[e] *= 0x1p-130
			case 2:
				row[e] *= 0x1p-121
			case 3:
				row[e] = float32(math.Copysign(0, float64(row[e])))
			case 4:
				row[e] *= 0x1.fffffep+126
			}
		}
		for e := 0; e < size && i%8 == 0; e += block {
			row[e] = []float32{127, -127 * 0x1.01p0, 0x1.fffffep6, 127 * 0x1.fep-1}[i/8%4]
		}
		if i%8 == 5 {
			row[r.IntN(size)] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[i/8%3]
		}
	}
	return list
}

// internal returns a node of the optimizer's own operators.
func internal(op string, in []*tensor.Tensor, near float64, outs int, attrs ...*graph.Attr) nodeCase {
	c := nodeCase{domain: kit.Internal, op: op, attrs: attrs, in: in, outs: outs, near: near}
	if op == "NarrowAttention" {
		c.version = 23
	}
	return c
}

// codedNodes are nodes with caches of int8, for floats of type d.
func codedNodes(t *testing.T, r *rand.Rand, d tensor.DType) (list []nodeCase) {
	for _, size := range []int{1, 2, 3, 7, 31, 32, 33, 40, 64, 95, 129, 256} {
		rows := typed(t, d, hard(r, 2*3*16, size), 2, 3, 16, size)
		for axis := range 3 {
			before := []int{2, 3, 16}
			before[axis] = 5
			list = append(list, internal("AppendCodes", []*tensor.Tensor{coded(r, size, before...), rows}, 0, 1, ints("axis", int64(axis))))
		}
		list = append(list, internal("WidenCodes", []*tensor.Tensor{coded(r, size, 3, 7)}, 0, 1, ints("to", int64(d.Code()))))
	}
	near := 4 * nears[d]
	for i, s := range [][6]int{{4, 2, 1, 63, 13, 9}, {4, 4, 2, 64, 64, 64}, {6, 2, 3, 65, 33, 80}, {8, 1, 1, 129, 256, 31},
		{2, 2, 70, 70, 32, 256}, {4, 2, 1, 1501, 80, 96}, {1, 1, 5, 1, 1, 1}} {
		heads, kvHeads, queries, keys, size, width := s[0], s[1], s[2], s[3], s[4], s[5]
		q := typed(t, d, some(r, 2*heads*queries*size), 2, heads, queries, size)
		k, v := coded(r, size, 2, kvHeads, keys), coded(r, width, 2, kvHeads, keys)
		there := tensor.New(tensor.Bool, queries, keys)
		for j := range there.Bytes() {
			there.Bytes()[j] = byte(kit.Btoi(j%keys == 0 || r.IntN(3) > 0))
		}
		for j, mask := range []*tensor.Tensor{nil, typed(t, d, some(r, keys), 1, keys), there} {
			if mask != nil && mask.DType() == tensor.Bool && d != tensor.F32 {
				continue
			}
			attrs := []*graph.Attr{ints("is_causal", int64(j%2)), number("softcap", float64(i%3))}
			list = append(list, internal("NarrowAttention", []*tensor.Tensor{q, k, v, mask}, near, 1, attrs...),
				internal("ComposedAttention", []*tensor.Tensor{q, k, v, mask}, near, 1, number("scale", 0.1)))
		}
		if size == width {
			list = append(list, internal("NarrowMultiHeadAttention", []*tensor.Tensor{q, k, v}, near, 1, ints("num_heads", int64(heads))))
		}
	}
	return append(list, cachedNodes(t, r, d)...)
}

// cachedNodes are attentions that extend caches of int8.
func cachedNodes(t *testing.T, r *rand.Rand, d tensor.DType) (list []nodeCase) {
	near := 4 * nears[d]
	for _, s := range [][5]int{{4, 2, 3, 10, 9}, {4, 4, 1, 33, 65}, {8, 2, 2, 64, 130}, {3, 1, 5, 65, 7}} {
		heads, kvHeads, tokens, size, room := s[0], s[1], s[2], s[3], s[4]
		side := func(heads int) *tensor.Tensor {
			return typed(t, d, some(r, 2*tokens*heads*size), 2, tokens, heads*size)
		}
		past := func(heads int) *tensor.Tensor { return coded(r, size, 2, heads, room) }
		counts := func(list ...int) *tensor.Tensor {
			return tensorOf(t, kit.Convert(list, func(n int) int32 { return int32(n) }), len(list))
		}
		list = append(list,
			internal("NarrowGroupQueryAttention", []*tensor.Tensor{side(heads), side(kvHeads), side(kvHeads), past(kvHeads), past(kvHeads),
				counts(room-1, tokens), counts(room)}, near, 3, ints("num_heads", int64(heads)), ints("kv_num_heads", int64(kvHeads))),
			internal("NarrowGroupQueryAttention", []*tensor.Tensor{side(heads), side(kvHeads), side(kvHeads), past(kvHeads), past(kvHeads),
				counts(room+tokens-1, room), counts(room + tokens)}, near, 3, ints("num_heads", int64(heads)), ints("kv_num_heads", int64(kvHeads))),
			internal("NarrowAttention", []*tensor.Tensor{side(heads), side(kvHeads), side(kvHeads), nil, past(kvHeads), past(kvHeads)},
				near, 3, ints("q_num_heads", int64(heads)), ints("kv_num_heads", int64(kvHeads)), ints("is_causal", 1)),
			internal("NarrowAttention", []*tensor.Tensor{side(heads), side(kvHeads), side(kvHeads), nil, past(kvHeads), past(kvHeads)},
				near, 1, ints("q_num_heads", int64(heads)), ints("kv_num_heads", int64(kvHeads))),
			internal("NarrowMultiHeadAttention", []*tensor.Tensor{side(heads), side(heads), side(heads), typed(t, d, some(r, 3*heads*size), 3*heads*size),
				nil, nil, past(heads), past(heads)}, near, 3, ints("num_heads", int64(heads))))
	}
	return list
}

// TestCodes compares nodes with caches of int8 with the CPU. Caches are the same bytes. All that the
// device has features for run there, at every level.
func TestCodes(t *testing.T) {
	for _, setting := range []struct {
		name    string
		options vulkan.Options
		types   []tensor.DType
	}{
		{"all", vulkan.Options{}, narrowFloats},
		{"level 0", vulkan.Options{Level: vulkan.L0}, narrowFloats[:1]},
		{"level 1", vulkan.Options{Level: vulkan.L1}, narrowFloats[:1]},
	} {
		t.Run(setting.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 17))
			for _, d := range setting.types {
				list := slices.DeleteFunc(codedNodes(t, r, d), func(c nodeCase) bool {
					// Masks of bytes need a feature of level 1.
					return setting.options.Level == vulkan.L0 && len(c.in) == 4 && c.in[3] != nil && c.in[3].DType() == tensor.Bool
				})
				compareWith(t, setting.options, list).checkRan(t)
			}
		})
	}
}

// TestCodesInStreams extends caches of int8 in memory with room, and compares them and attention to
// them with the CPU. The device computes all of it, and the memory grows.
func TestCodesInStreams(t *testing.T) {
	d := open(t, vulkan.Options{Everything: true})
	for _, size := range []int{1, 31, 33, 64, 80} {
		width, _ := kit.CacheWidth(tensor.I8, graph.Known(size)).Value()
		const heads = 3
		value := func(name string, d tensor.DType, rows string, size int) *graph.Value {
			return &graph.Value{Name: name, Type: graph.TensorOf(d, graph.Dims{graph.Known(1), graph.Known(heads), graph.ParseDim(rows), graph.Known(size)})}
		}
		build := func() *graph.Model {
			g := &graph.Graph{
				Name: "codes",
				Inputs: []*graph.Value{value("x", tensor.F32, "s", size), value("p", tensor.I8, "past", width),
					value("k", tensor.I8, "past", width), value("v", tensor.I8, "past", width)},
				Outputs: []*graph.Value{value("a", tensor.I8, "past + s", width), value("b", tensor.I8, "past + s", width),
					value("c", tensor.I8, "past + s", width), {Name: "w"}, {Name: "y"}, {Name: "z"}},
			}
			add := func(op string, version int, in, out []string, attrs ...*graph.Attr) {
				g.Nodes = append(g.Nodes, &graph.Node{Name: op, Domain: kit.Internal, Op: op, Version: version, Inputs: in, Outputs: out, Attrs: attrs})
			}
			add("AppendCodes", 1, []string{"p", "x"}, []string{"a"}, ints("axis", 2))
			add("WidenCodes", 1, []string{"a"}, []string{"w"}, ints("to", 1))
			add("ComposedAttention", 1, []string{"x", "a", "a"}, []string{"y"}, number("scale", 0.2))
			add("NarrowAttention", 23, []string{"x", "x", "x", "", "k", "v"}, []string{"z", "b", "c"}, ints("is_causal", 1))
			return &graph.Model{Graph: g}
		}
		states := []graph.State{{Input: "p", Output: "a", Axis: 2}, {Input: "k", Output: "b", Axis: 2}, {Input: "v", Output: "c", Axis: 2}}
		var results [2][]map[string]tensor.Value
		for k, a := range []device.Accelerator{nil, accelerator(t, d)} {
			r := rand.New(rand.NewPCG(3, 19))
			st, err := session(t, build(), a).NewStream(states, 4)
			if err != nil {
				t.Fatal(err)
			}
			for i, rows := range []int{3, 1, 70, 1, 1, 2} {
				if i == 4 {
					st = forkedCodes(t, st, states)
				}
				in := map[string]tensor.Value{"x": random(r, 1, heads, rows, size)}
				pl, err := st.Plan(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				for _, step := range pl.Steps {
					if a != nil && isCoded(&step) && !step.Offloaded() {
						t.Errorf("size %d: %s is not on the device:\n%v", size, step.OpName(), pl)
					}
				}
				out, err := st.Run(context.Background(), in)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range states {
					if out[s.Output], err = st.State(s.Input); err != nil {
						t.Fatal(err)
					}
				}
				results[k] = append(results[k], out)
			}
			st.Close()
		}
		for i, want := range results[0] {
			for name, near := range map[string]float64{"a": 0, "b": 0, "c": 0, "w": 0, "y": 1e-5, "z": 1e-5} {
				x, _ := results[1][i][name].(*tensor.Tensor)
				y, _ := want[name].(*tensor.Tensor)
				if at := differ(x, y, near); at >= 0 {
					t.Errorf("size %d: element %d of %s differs after %d runs: %s, want %s", size, at, name, i+1, element(x, at), element(y, at))
				}
			}
		}
	}
}

// forkedCodes returns a copy of st after its states were read and set, and closes st.
func forkedCodes(t *testing.T, st byname.Stream, states []graph.State) byname.Stream {
	fork, err := st.Fork()
	if err != nil {
		t.Fatal(err)
	}
	st.Close()
	for _, s := range states {
		x, err := fork.State(s.Input)
		if err != nil {
			t.Fatal(err)
		}
		if err := fork.SetState(s.Input, x); err != nil {
			t.Fatal(err)
		}
	}
	return fork
}

// isCoded reports whether a step is of an operator with caches of int8.
func isCoded(s *plan.Step) bool {
	return slices.Contains([]string{"nacre.AppendCodes", "nacre.WidenCodes", "nacre.ComposedAttention", "nacre.NarrowAttention"}, s.OpName())
}
