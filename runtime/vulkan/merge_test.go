package vulkan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// turningCase is an attention that turns queries and keys and appends keys and values.
type turningCase struct {
	dtype             tensor.DType
	positions, pairs  int // of the tables
	interleaved, norm bool
	packed, codes     bool
}

const turnHeads, turnKVHeads, turnSize, turnBatch = 4, 2, 12, 2

// model returns the node as a model with states.
func (c *turningCase) model(t *testing.T, r *rand.Rand) (*graph.Model, []graph.State) {
	g := graph.NewBuilder("turning")
	g.Opset(kit.Microsoft, 1)
	g.Opset(kit.Internal, 1)
	domain, op, cache, width := kit.Microsoft, "GroupQueryAttention", c.dtype, turnSize
	if c.codes {
		size, _ := kit.CacheWidth(tensor.I8, graph.Known(turnSize)).Value()
		domain, op, cache, width = kit.Internal, "NarrowGroupQueryAttention", tensor.I8, size
	}
	dims := func(list ...any) (d graph.Dims) {
		for _, x := range list {
			d = append(d, graph.ParseDim(fmt.Sprint(x)))
		}
		return d
	}
	input := func(name string, heads int) string {
		return g.Input(name, graph.TensorOf(c.dtype, dims(turnBatch, "rows", heads*turnSize)))
	}
	weight := func(name string, shape ...int) string {
		list := some(r, tensor.Shape(shape).Len())
		return g.Weight(&graph.Initializer{Name: name, Tensor: typed(t, c.dtype, list, shape...)})
	}
	in := []string{"", "", ""}
	if c.packed {
		in[0] = input("q", turnHeads+2*turnKVHeads)
	} else {
		in[0], in[1], in[2] = input("q", turnHeads), input("k", turnKVHeads), input("v", turnKVHeads)
	}
	var states []graph.State
	for _, name := range []string{"keys", "values"} {
		in = append(in, g.State("past_"+name, name, 2, graph.TensorOf(cache, dims(turnBatch, turnKVHeads, "past", width))))
		states = append(states, graph.State{Input: "past_" + name, Output: name, Axis: 2})
	}
	along := func(x string, axis int64) string {
		return g.Op("Shape", []string{x}, ints("start", axis), ints("end", axis+1))
	}
	total := g.Op("Add", []string{along(in[3], 2), along(in[0], 1)})
	last := g.Op("Expand", []string{g.Op("Sub", []string{total, g.Ints(1)}), along(in[0], 0)})
	in = append(in, g.Op("Cast", []string{last}, ints("to", 6)),
		g.Op("Cast", []string{g.Op("Squeeze", []string{total, g.Ints(0)})}, ints("to", 6)),
		weight("cos", c.positions, c.pairs), weight("sin", c.positions, c.pairs))
	if c.norm {
		in = append(in, "", "", "", "", "", weight("q_norm", turnSize), weight("k_norm", turnSize))
	}
	out := g.Node(domain, op, in, 3, ints("num_heads", turnHeads), ints("kv_num_heads", turnKVHeads),
		ints("do_rotary", 1), ints("rotary_interleaved", int64(kit.Btoi(c.interleaved))), number("qk_norm_epsilon", 1e-3))
	g.Output(out[0], "y", graph.TensorOf(c.dtype, dims(turnBatch, "rows", turnHeads*turnSize)))
	for i, x := range out[1:] {
		g.Output(x, states[i].Output, graph.TensorOf(cache, dims(turnBatch, turnKVHeads, "past + rows", width)))
	}
	return g.Model(&graph.Model{IR: 10}), states
}

// outputs returns the results of a prompt and of steps.
func (c *turningCase) outputs(t *testing.T, s byname.Session, states []graph.State) (list []*tensor.Tensor, err error) {
	st, err := s.NewStream(states, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r := rand.New(rand.NewPCG(8, 9))
	for _, rows := range []int{3, 1, 1, 2, 1, 1} {
		of := func(heads int) *tensor.Tensor {
			return typed(t, c.dtype, some(r, turnBatch*rows*heads*turnSize), turnBatch, rows, heads*turnSize)
		}
		in := map[string]tensor.Value{"q": of(turnHeads), "k": of(turnKVHeads), "v": of(turnKVHeads)}
		if c.packed {
			in = map[string]tensor.Value{"q": of(turnHeads + 2*turnKVHeads)}
		}
		out, err := st.Run(t.Context(), in)
		if err != nil {
			return list, err
		}
		list = append(list, out["y"].(*tensor.Tensor))
	}
	return list, nil
}

// TestTurning checks attention in streams, where one dispatch turns and appends, against the CPU and
// against a dispatch for each.
func TestTurning(t *testing.T) {
	for _, c := range []turningCase{
		{tensor.F32, 64, 6, false, false, false, false},
		{tensor.F32, 64, 6, true, true, false, false},
		{tensor.F32, 64, 4, false, true, true, false},
		{tensor.F32, 64, 4, true, false, true, false},
		{tensor.F16, 64, 6, false, false, false, false},
		{tensor.BF16, 64, 4, false, false, true, false},
		{tensor.F32, 64, 6, false, false, false, true},
		{tensor.F32, 64, 4, true, true, true, true},
		{tensor.F16, 64, 6, true, false, false, true},
		{tensor.BF16, 64, 4, false, false, true, true},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			m, states := c.model(t, rand.New(rand.NewPCG(6, 7)))
			want, err := c.outputs(t, session(t, m, nil), states)
			if err != nil {
				t.Fatal(err)
			}
			d := open(t, vulkan.Options{Everything: true})
			got, err := c.outputs(t, session(t, m, accelerator(t, d)), states)
			if err != nil {
				t.Fatal(err)
			}
			restore := vulkan.Apart()
			apart, err := c.outputs(t, session(t, m, accelerator(t, open(t, vulkan.Options{Everything: true}))), states)
			restore()
			if err != nil {
				t.Fatal(err)
			}
			near, suffix := 2*nears[c.dtype], ""
			if c.codes {
				near, suffix = max(near, 0.02), "_codes" // an angle's last digit may turn a code into the next
			}
			for i := range want {
				if at := differ(got[i], want[i], near); at >= 0 {
					t.Errorf("run %d differs at %d: %s, want %s", i, at, element(got[i], at), element(want[i], at))
				}
				if at := differ(got[i], apart[i], 0); at >= 0 {
					t.Errorf("run %d differs at %d: %s, by commands of their own %s", i, at, element(got[i], at), element(apart[i], at))
				}
			}
			without := lacks(t, d, "attention/turn", c.dtype.Short())
			for name, runs := range map[string]bool{"attention/turn": true, "attention/rotary": false, "attention/append": false} {
				if name != "attention/rotary" {
					name += suffix
				}
				if d.Compiled(name) != (runs && !without) {
					t.Errorf("%s runs: %v", name, d.Compiled(name))
				}
			}
		})
	}
}

// TestTurningFails checks the error for positions without a row in the tables.
func TestTurningFails(t *testing.T) {
	c := turningCase{dtype: tensor.F32, positions: 4, pairs: 6}
	m, states := c.model(t, rand.New(rand.NewPCG(6, 7)))
	list, err := c.outputs(t, session(t, m, accelerator(t, open(t, vulkan.Options{Everything: true}))), states)
	if len(list) != 2 || !errors.Is(err, graph.ErrShape) || !strings.Contains(err.Error(), "position") {
		t.Errorf("after %d runs: %v", len(list), err)
	}
}

// normedModel is a row that is normalised, and two products that read it, or their greater and lesser
// elements. One of them may round its row.
func normedModel(t *testing.T, r *rand.Rand, k int, skips, stores, rounds bool) *graph.Model {
	g := graph.NewBuilder("normed")
	g.Opset(kit.Microsoft, 1)
	g.Opset(kit.Internal, 1)
	weight := func(name string, x *tensor.Tensor) string { return g.Weight(&graph.Initializer{Name: name, Tensor: x}) }
	row := func(name string) string {
		return g.Input(name, graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{1, k})))
	}
	x, outs := []string{row("x"), weight("scale", random(r, k))}, 1
	domain, name, attr := "", "RMSNormalization", number("epsilon", 1e-3)
	if skips {
		domain, name, x = kit.Microsoft, "SkipSimplifiedLayerNormalization", []string{x[0], row("y"), x[1]}
	}
	if stores {
		outs = 4
	}
	normed := g.Node(domain, name, x, outs, attr)
	codes := fourBits(t, r, tensor.F32, 1, k, k, 32, true, rounds)
	y := g.Node(kit.Microsoft, codes.op, []string{normed[0], weight("codes", codes.in[1]), weight("scales", codes.in[2])}, 1,
		codes.attrs...)[0]
	blocks := inBlocks(t, r, packed.Q8_0, 1, k, k)
	z := g.Node(kit.Internal, blocks.op, []string{normed[0], weight("blocks", blocks.in[1])}, 1, blocks.attrs...)[0]
	if stores {
		y = g.Op("Add", []string{y, normed[3]})
	}
	for range 3 { // other values take the memory of the row
		y, z = g.Op("Max", []string{y, z}), g.Op("Min", []string{y, z})
	}
	for _, x := range []string{y, z} {
		g.Output(x, x+"_out", graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{1, k})))
	}
	m := g.Model(&graph.Model{IR: 10})
	for _, n := range m.Graph.Nodes {
		if n.Op == name && stores {
			n.Outputs[1], n.Outputs[2] = "", ""
		}
	}
	return m
}

// TestNormedProducts checks products that normalise their row themselves.
func TestNormedProducts(t *testing.T) {
	defer vulkan.JoinedUnits()()
	for _, o := range []vulkan.Options{{}, {Level: vulkan.L0}, {Profile: vulkan.Mali}} {
		for _, k := range []int{32, 96, 4128} {
			for i, skips := range []bool{false, true, true, true} {
				r, rounds, near := rand.New(rand.NewPCG(7, uint64(k+i))), i == 3, 2e-3
				if rounds {
					near = 0.3 // of rows that only one of both rounds
				}
				m, in := normedModel(t, r, k, skips, i == 2, rounds), map[string]*tensor.Tensor{"x": random(r, 1, k)}
				if skips {
					in["y"] = random(r, 1, k)
				}
				o.Everything = true
				d := open(t, o)
				want, err := session(t, m, nil).Run(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				got, err := session(t, m, accelerator(t, d)).Run(t.Context(), in)
				if err != nil {
					t.Fatal(err)
				}
				for name := range want {
					if at := differ(got[name], want[name], near); at >= 0 {
						t.Errorf("%v, %d, case %d: %s differs at %d: %s, want %s", o, k, i, name, at, element(got[name], at),
							element(want[name], at))
					}
				}
				if d.Compiled("norm/layer") {
					t.Errorf("%v, %d, case %d: a command normalises alone", o, k, i)
				}
				const dot = "f32_normed_dot"
				dots := d.Compiled("quant/nbits4_joined/" + dot)
				if dots != (rounds && o.Level != vulkan.L0 && !lacks(t, d, "quant/nbits4_joined", dot)) {
					t.Errorf("%v, %d, case %d: rows of bytes: %v", o, k, i, dots)
				}
			}
		}
	}
}
