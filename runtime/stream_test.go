package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// net makes graphs for tests of streams.
type net struct {
	g    *graph.Graph
	rand *rand.Rand
}

func newNet() *net { return &net{&graph.Graph{Name: "net"}, rand.New(rand.NewPCG(5, 6))} }

func (n *net) dims(text string) graph.Dims {
	d := graph.Dims{}
	for _, x := range strings.Split(text, ",") {
		if x = strings.TrimSpace(x); x != "" {
			d = append(d, graph.ParseDim(x))
		}
	}
	return d
}

func (n *net) input(name string, d tensor.DType, dims string) string {
	n.g.Inputs = append(n.g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(d, n.dims(dims))})
	return name
}

func (n *net) output(name string, d tensor.DType, dims string) {
	n.g.Outputs = append(n.g.Outputs, &graph.Value{Name: name, Type: graph.TensorOf(d, n.dims(dims))})
}

func (n *net) floats(name string, shape ...int) string {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(n.rand.NormFloat64()) / 2
	}
	n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

func (n *net) ints(name string, list ...int64) string {
	t, _ := tensor.From(list, len(list))
	n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

// node adds a node: "Op in in -> out out", where an underscore is an operand left out.
func (n *net) node(text string, attrs ...*graph.Attr) {
	left, right, _ := strings.Cut(text, "->")
	names := func(s string) []string {
		list := strings.Fields(s)
		for i := range list {
			if list[i] == "_" {
				list[i] = ""
			}
		}
		return list
	}
	in := strings.Fields(left)
	domain, name := "", in[0]
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		domain, name = name[:i], name[i+1:]
	}
	n.g.Nodes = append(n.g.Nodes, &graph.Node{Name: fmt.Sprint(name, len(n.g.Nodes)), Domain: domain, Op: name, Inputs: names(strings.Join(in[1:], " ")), Outputs: names(right), Attrs: attrs})
}

func (n *net) model(opset int) *graph.Model {
	for _, x := range n.g.Nodes {
		if x.Version = opset; x.Domain != "" {
			x.Version = 1
		}
	}
	return &graph.Model{Producer: "test", IR: 10, Opsets: []graph.Opset{{Version: opset}, {Domain: "com.microsoft", Version: 1}}, Graph: n.g}
}

func intAttr(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}
func intsAttr(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

// projected adds x times three matrices: q of 4 heads of 8, k and v of that many heads.
func (n *net) projected(heads int) {
	n.node("MatMul x wq -> q")
	n.node("MatMul x wk -> k")
	n.node("MatMul x wv -> v")
	n.floats("wq", 16, 32)
	n.floats("wk", 16, 8*heads)
	n.floats("wv", 16, 8*heads)
}

// split adds q, k and v as [batch,heads,rows,8].
func (n *net) split(heads int) {
	n.ints("shape4", 0, 0, 4, 8)
	n.ints("shapeKV", 0, 0, int64(heads), 8)
	perm := intsAttr("perm", 0, 2, 1, 3)
	for _, x := range []string{"q", "k", "v"} {
		shape := "shapeKV"
		if x == "q" {
			shape = "shape4"
		}
		n.node("Reshape " + x + " " + shape + " -> r" + x)
		n.node("Transpose r"+x+" -> t"+x, perm)
	}
}

func (n *net) caches(heads int, past, present string) {
	for _, x := range []string{"key", "value"} {
		n.input("past."+x, tensor.F32, fmt.Sprintf("b,%d,%s,8", heads, past))
		n.output("present."+x, tensor.F32, fmt.Sprintf("b,%d,%s,8", heads, present))
	}
}

// merged adds y, the heads of a side by side, as the output.
func (n *net) merged() {
	n.ints("shapeY", 0, 0, 32)
	n.node("Transpose a -> ta", intsAttr("perm", 0, 2, 1, 3))
	n.node("Reshape ta shapeY -> y")
}

// streamNets are networks with states. Room says whether their states are expected in
// memory with room.
var streamNets = []struct {
	name   string
	room   bool
	states int
	build  func() *graph.Model
}{
	{"attention", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.caches(2, "p", "p + s")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(2)
		n.split(2)
		n.node("Attention tq tk tv _ past.key past.value -> a present.key present.value", intAttr("is_causal", 1))
		n.merged()
		return n.model(23)
	}},
	{"multi_head", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.caches(4, "past_sequence_length", "total_sequence_length")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(4)
		n.node("com.microsoft:MultiHeadAttention q k v _ _ _ past.key past.value -> y present.key present.value", intAttr("num_heads", 4))
		return n.model(17)
	}},
	{"group_query", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("attention_mask", tensor.I64, "b,total_sequence_length")
		n.caches(2, "past_sequence_length", "total_sequence_length")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(2)
		n.ints("one", 1)
		n.ints("axis", 1)
		n.node("ReduceSum attention_mask axis -> counted", intAttr("keepdims", 0))
		n.node("Sub counted one -> last")
		n.node("Cast last -> last32", intAttr("to", 6))
		n.node("Shape attention_mask -> shape")
		n.node("Gather shape index -> total")
		n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: "index", Tensor: scalar(int64(1))})
		n.node("Cast total -> total32", intAttr("to", 6))
		n.node("com.microsoft:GroupQueryAttention q k v past.key past.value last32 total32 -> y present.key present.value", intAttr("num_heads", 4), intAttr("kv_num_heads", 2))
		return n.model(17)
	}},
	{"concat", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("mask", tensor.F32, "b,1,s,past_sequence_length + s")
		n.caches(4, "past_sequence_length", "past_sequence_length + s")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(4)
		n.split(4)
		n.node("Concat past.key tk -> present.key", intAttr("axis", 2))
		n.node("Concat past.value tv -> present.value", intAttr("axis", 2))
		n.node("Transpose present.key -> kt", intsAttr("perm", 0, 1, 3, 2))
		n.node("MatMul tq kt -> scores")
		n.node("Mul scores scale -> scaled")
		n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: "scale", Tensor: scalar(float32(0.35))})
		n.node("Add scaled mask -> masked")
		n.node("Softmax masked -> weights", intAttr("axis", -1))
		n.node("MatMul weights present.value -> a")
		n.merged()
		return n.model(17)
	}},
	{"projected", true, 1, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("past_0", tensor.F32, "2,b,4,past_sequence_length,4")
		n.output("present_0", tensor.F32, "2,b,4,total_sequence_length,4")
		n.output("y", tensor.F32, "b,s,16")
		n.floats("w", 16, 48)
		n.floats("bias", 48)
		n.node("com.microsoft:Attention x w bias _ past_0 -> y present_0", intAttr("num_heads", 4), intAttr("unidirectional", 1))
		return n.model(17)
	}},
	{"fused concat", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.caches(2, "past_sequence_length", "past_sequence_length + s")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(2)
		n.split(2)
		n.ints("two", 2)
		n.ints("repeats", 1, 1, 2, 1, 1)
		n.ints("joined", 0, 4, -1, 8)
		for _, x := range []string{"key", "value"} {
			n.node(fmt.Sprintf("Concat past.%s t%c -> present.%s", x, x[0], x), intAttr("axis", 2))
			n.node(fmt.Sprintf("Unsqueeze present.%s two -> u%s", x, x))
			n.node(fmt.Sprintf("Expand u%s repeats -> e%s", x, x))
			n.node(fmt.Sprintf("Reshape e%s joined -> f%s", x, x))
		}
		n.node("Transpose fkey -> kt", intsAttr("perm", 0, 1, 3, 2))
		n.node("MatMul tq kt -> scores")
		n.node("Mul scores scale -> scaled")
		n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: "scale", Tensor: scalar(float32(0.35))})
		n.node("Softmax scaled -> weights", intAttr("axis", -1))
		n.node("MatMul weights fvalue -> a")
		n.merged()
		return n.model(17)
	}},
	{"repeated heads", false, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.caches(2, "past_sequence_length", "past_sequence_length + s")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(2)
		n.split(2)
		n.ints("two", 2)
		n.ints("joined", 0, 4, -1, 8)
		for _, x := range []string{"key", "value"} {
			n.node(fmt.Sprintf("Concat past.%s t%c -> present.%s", x, x[0], x), intAttr("axis", 2))
			n.node(fmt.Sprintf("Unsqueeze present.%s two -> u%s", x, x))
			n.node(fmt.Sprintf("Concat u%s u%s -> e%s", x, x, x), intAttr("axis", 2))
			n.node(fmt.Sprintf("Reshape e%s joined -> f%s", x, x))
		}
		n.node("Transpose fkey -> kt", intsAttr("perm", 0, 1, 3, 2))
		n.node("MatMul tq kt -> scores")
		n.node("Softmax scores -> weights", intAttr("axis", -1))
		n.node("MatMul weights fvalue -> a")
		n.merged()
		return n.model(17)
	}},
	{"window", false, 1, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("past", tensor.F32, "b,p,16")
		n.output("present", tensor.F32, "b,t,16")
		n.output("y", tensor.F32, "b,1,16")
		n.ints("start", -5)
		n.ints("end", math.MaxInt64)
		n.ints("axis", 1)
		n.node("Concat past x -> all", intAttr("axis", 1))
		n.node("Slice all start end axis -> present")
		n.node("ReduceMean present -> y", intsAttr("axes", 1), intAttr("keepdims", 1))
		return n.model(17)
	}},
	{"lstm", false, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "1,1,16")
		n.input("h", tensor.F32, "1,1,8")
		n.input("c", tensor.F32, "1,1,8")
		n.output("y", tensor.F32, "1,1,1,8")
		n.output("hn", tensor.F32, "1,1,8")
		n.output("cn", tensor.F32, "1,1,8")
		n.floats("w", 1, 32, 16)
		n.floats("r", 1, 32, 8)
		n.node("LSTM x w r _ _ h c -> y hn cn", intAttr("hidden_size", 8))
		return n.model(17)
	}},
	{"scatter", false, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "1,2,1,8")
		n.input("cache", tensor.F32, "1,2,64,8")
		n.input("cell", tensor.I64, "1")
		n.output("cache_out", tensor.F32, "1,2,64,8")
		n.output("cell_out", tensor.I64, "1")
		n.output("y", tensor.F32, "1,2,8")
		n.ints("one", 1)
		n.node("TensorScatter cache x cell -> cache_out")
		n.node("Add cell one -> cell_out")
		n.node("ReduceSum cache_out two -> y", intAttr("keepdims", 0))
		n.ints("two", 2)
		return n.model(24)
	}},
}

// TestStreams compares the runs of a stream with runs that are given the states.
func TestStreams(t *testing.T) {
	for _, tt := range streamNets {
		t.Run(tt.name, func(t *testing.T) {
			s := openNet(t, tt.build())
			states := graph.FindStates(tt.build().Graph)
			if len(states) != tt.states {
				t.Fatalf("states are %v", states)
			}
			st, err := s.NewStream(states, 4)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			d := &driver{t: t, session: s, stream: st, states: states, rand: rand.New(rand.NewPCG(7, 8))}
			for round := range 2 {
				d.reset()
				for _, rows := range []int{3, 1, 1, 1, 2, 1, 5, 1, 1, 1, 1, 9, 1, 1} {
					d.step(rows)
				}
				if round > 0 || !st.Grows() || tt.name == "window" {
					continue
				}
				d.fork()
				d.truncate(6)
				d.step(1)
				d.step(4)
			}
			pl, err := st.Plan(d.inputs(1))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range pl.Lengths.States {
				if x.InRoom != tt.room {
					t.Errorf("state %q lies in room: %t", pl.Program.Names[x.In], x.InRoom)
				}
			}
		})
	}
}

func openNet(t *testing.T, m *graph.Model) *Session {
	t.Helper()
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	s, err := New(m, Options{Threads: 2, Registry: op.Standard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// driver runs a stream and, beside it, the session on the states of its own.
type driver struct {
	t       *testing.T
	session *Session
	stream  *Stream
	states  []graph.State
	rand    *rand.Rand
	own     map[string]tensor.Value
}

func (d *driver) reset() {
	d.stream.Reset()
	d.own = map[string]tensor.Value{}
	for _, v := range d.session.Inputs() {
		for _, s := range d.states {
			if s.Input == v.Name {
				shape := make([]int, len(v.Type.Dims))
				for i, x := range v.Type.Dims {
					shape[i], _ = x.Eval(func(symbol string) (int, bool) {
						if symbol == "b" {
							return 2, true
						}
						return 0, true
					})
				}
				d.own[v.Name] = tensor.New(v.Type.DType, shape...)
			}
		}
	}
}

// inputs makes those of a run that adds rows.
func (d *driver) inputs(rows int) map[string]tensor.Value {
	in := map[string]tensor.Value{}
	for _, v := range d.session.Inputs() {
		if d.own[v.Name] != nil {
			continue
		}
		shape := make([]int, len(v.Type.Dims))
		for i, x := range v.Type.Dims {
			n, _ := x.Eval(func(symbol string) (int, bool) {
				switch symbol {
				case "b":
					return 2, true
				case "s":
					return rows, true
				case "total_sequence_length":
					return d.stream.Length() + rows, true
				}
				return d.stream.Length(), true
			})
			shape[i] = n
		}
		x := tensor.New(v.Type.DType, shape...)
		switch v.Type.DType {
		case tensor.F32:
			for i := range tensor.View[float32](x) {
				tensor.View[float32](x)[i] = float32(d.rand.NormFloat64())
			}
		case tensor.I64:
			for i := range tensor.View[int64](x) {
				tensor.View[int64](x)[i] = 1
			}
		}
		in[v.Name] = x
	}
	return in
}

func (d *driver) step(rows int) {
	d.t.Helper()
	in := d.inputs(rows)
	got, err := d.stream.Run(context.Background(), in, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	for name, v := range d.own {
		in[name] = v
	}
	want, err := d.session.RunValues(context.Background(), in)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range d.states {
		d.own[s.Input] = want[s.Output]
		x, err := d.stream.State(s.Input)
		if err != nil {
			d.t.Fatal(err)
		}
		d.same("state "+s.Input, x, want[s.Output])
	}
	d.same("y", got["y"], want["y"])
	if len(got) != len(want)-len(d.states) {
		d.t.Fatalf("a run of the stream gives %d results", len(got))
	}
}

func (d *driver) same(what string, got, want tensor.Value) {
	d.t.Helper()
	x, _ := got.(*tensor.Tensor)
	y := want.(*tensor.Tensor)
	if x == nil || !x.Shape().Equal(y.Shape()) || x.DType() != y.DType() {
		d.t.Fatalf("%s is %v, not %v (length %d)", what, x, y, d.stream.Length())
	}
	if x.DType() != tensor.F32 {
		if !slices.Equal(x.Bytes(), y.Bytes()) {
			d.t.Fatalf("%s differs", what)
		}
		return
	}
	for i, v := range tensor.View[float32](y) {
		if g := tensor.View[float32](x)[i]; math.Abs(float64(g-v)) > 1e-5*(1+math.Abs(float64(v))) {
			d.t.Fatalf("%s: element %d is %v, not %v (length %d)", what, i, g, v, d.stream.Length())
		}
	}
}

// fork runs a copy of the stream apart from it.
func (d *driver) fork() {
	d.t.Helper()
	other, err := d.stream.Fork()
	if err != nil {
		d.t.Fatal(err)
	}
	defer other.Close()
	own := map[string]tensor.Value{}
	for name, v := range d.own {
		own[name] = v
	}
	beam := &driver{d.t, d.session, other, d.states, d.rand, own}
	beam.step(2)
	d.step(1)
	beam.step(1)
	d.step(3)
}

func (d *driver) truncate(rows int) {
	d.t.Helper()
	if err := d.stream.Truncate(rows); err != nil {
		d.t.Fatal(err)
	}
	for _, s := range d.states {
		x, err := d.stream.State(s.Input)
		if err != nil {
			d.t.Fatal(err)
		}
		if x.Shape()[s.Axis] != rows {
			d.t.Fatalf("state %q is %v after %d rows were left", s.Input, x, rows)
		}
		d.own[s.Input] = x
	}
}

// TestStreamPlans checks that tokens share the plan of a room.
func TestStreamPlans(t *testing.T) {
	for _, tt := range streamNets {
		if !tt.room {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			s := openNet(t, tt.build())
			states := graph.FindStates(tt.build().Graph)
			st, err := s.NewStream(states, 32)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			d := &driver{t: t, session: s, stream: st, states: states, rand: rand.New(rand.NewPCG(7, 8))}
			d.reset()
			d.step(2)
			first, err := st.Plan(d.inputs(1))
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				d.step(1)
				if pl, err := st.Plan(d.inputs(1)); err != nil || pl != first {
					t.Fatalf("length %d has a plan of its own (%v): inputs %v and %v", st.Length(), err, inputTypes(pl), inputTypes(first))
				}
			}
		})
	}
}

// TestStreamErrors gives streams what they cannot take.
func TestStreamErrors(t *testing.T) {
	m := streamNets[0].build()
	s := openNet(t, m)
	states := graph.FindStates(m.Graph)
	for _, list := range [][]graph.State{
		{{Input: "none", Output: "present.key", Axis: 2}},
		{{Input: "past.key", Output: "none", Axis: 2}},
	} {
		if _, err := s.NewStream(list, 4); !errors.Is(err, graph.ErrMissing) {
			t.Errorf("%v: %v", list, err)
		}
	}
	if _, err := s.NewStream([]graph.State{{Input: "past.key", Output: "present.key", Axis: 3}}, 4); !errors.Is(err, graph.ErrShape) {
		t.Error(err)
	}
	st, err := s.NewStream(states, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	x := tensor.New(tensor.F32, 2, 3, 16)
	if _, err := st.Run(context.Background(), map[string]tensor.Value{"x": x, "past.key": x}, nil); !errors.Is(err, graph.ErrState) {
		t.Error("a state is given:", err)
	}
	if _, err := st.Run(context.Background(), nil, nil); !errors.Is(err, graph.ErrMissing) {
		t.Error("an input is missing:", err)
	}
	if _, err := st.Run(context.Background(), map[string]tensor.Value{"x": x}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Run(context.Background(), map[string]tensor.Value{"x": tensor.New(tensor.F32, 3, 3, 16)}, nil); !errors.Is(err, graph.ErrShape) {
		t.Error("another batch:", err)
	}
	if err := st.Truncate(4); !errors.Is(err, graph.ErrState) {
		t.Error("more rows than there are:", err)
	}
	if _, err := st.State("x"); !errors.Is(err, graph.ErrMissing) {
		t.Error(err)
	}
	if err := st.SetState("past.key", tensor.New(tensor.F64, 2, 2, 1, 8)); !errors.Is(err, graph.ErrShape) {
		t.Error(err)
	}
}

func scalar[T int64 | float32](v T) *tensor.Tensor {
	t, err := tensor.From([]T{v})
	if err != nil {
		panic(err)
	}
	return t
}

func inputTypes(pl *plan.Plan) []graph.Type {
	var list []graph.Type
	for _, id := range pl.Program.Inputs {
		list = append(list, pl.Slots[id].Type)
	}
	return list
}

// TestBoundStreams compares bound runs of a stream with runs of another, and counts what
// they allocate.
func TestBoundStreams(t *testing.T) {
	for _, tt := range streamNets {
		if !tt.room && tt.name != "lstm" && tt.name != "scatter" || tt.name == "concat" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			s := openNet(t, tt.build())
			states := graph.FindStates(tt.build().Graph)
			var streams [2]*Stream
			for i := range streams {
				st, err := s.NewStream(states, 4)
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				streams[i] = st
			}
			d := &driver{t: t, session: s, stream: streams[0], states: states, rand: rand.New(rand.NewPCG(7, 8))}
			d.reset()
			first := d.inputs(1)
			b, err := streams[1].Bind(first)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			at, out := inputOf(s, "x"), outputOf(s, "y")
			for range 20 {
				in := d.inputs(1)
				copy(b.Input(at).Bytes(), in["x"].(*tensor.Tensor).Bytes())
				if err := b.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
				want, err := streams[0].Run(context.Background(), in, nil)
				if err != nil {
					t.Fatal(err)
				}
				d.same("y", b.Output(out), want["y"])
				for _, x := range states {
					got, err := streams[1].State(x.Input)
					if err != nil {
						t.Fatal(err)
					}
					want, err := streams[0].State(x.Input)
					if err != nil {
						t.Fatal(err)
					}
					d.same(x.Input, got, want)
				}
			}
			if n := testing.AllocsPerRun(5, func() {
				if err := b.Run(context.Background()); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("a run allocates %v times", n)
			}
			streams[1].Reset()
			if err := b.Run(context.Background()); err != nil {
				t.Fatal("after a reset:", err)
			}
		})
	}
}

func inputOf(s *Session, name string) int {
	return slices.IndexFunc(s.Inputs(), func(v *graph.Value) bool { return v.Name == name })
}

func outputOf(s *Session, name string) int {
	return slices.IndexFunc(s.Outputs(), func(v *graph.Value) bool { return v.Name == name })
}
