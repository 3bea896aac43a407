package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// net builds graphs for tests of streams.
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

// node adds a node from a text "Op in in -> out out". An underscore is a missing operand.
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
	n.g.Nodes = append(n.g.Nodes, &graph.Node{Name: fmt.Sprint(name, len(n.g.Nodes)), Domain: domain, Op: name,
		Inputs: names(strings.Join(in[1:], " ")), Outputs: names(right), Attrs: attrs})
}

func (n *net) model(opset int) *graph.Model {
	for _, x := range n.g.Nodes {
		if x.Version = opset; x.Domain != "" {
			x.Version = 1
		}
	}
	return &graph.Model{Producer: "test", IR: 10,
		Opsets: []graph.Opset{{Version: opset}, {Domain: "com.microsoft", Version: 1}}, Graph: n.g}
}

// projected adds x times three matrices: q of 4 heads of 8, and k and v with the given number of
// heads.
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
	perm := graph.IntsAttr("perm", 0, 2, 1, 3)
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
	n.node("Transpose a -> ta", graph.IntsAttr("perm", 0, 2, 1, 3))
	n.node("Reshape ta shapeY -> y")
}

// streamNets are networks with states. Room says whether their states are expected in memory with
// room, and here whether this is memory of the session even with an accelerator.
var streamNets = []struct {
	name   string
	room   bool
	states int
	build  func() *graph.Model
	here   bool
}{
	{"attention", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.caches(2, "p", "p + s")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(2)
		n.split(2)
		n.node("Attention tq tk tv _ past.key past.value -> a present.key present.value", graph.IntAttr("is_causal", 1))
		n.merged()
		return n.model(23)
	}, false},
	{"multi_head", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.caches(4, "past_sequence_length", "total_sequence_length")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(4)
		n.node("com.microsoft:MultiHeadAttention q k v _ _ _ past.key past.value -> y present.key present.value",
			graph.IntAttr("num_heads", 4))
		return n.model(17)
	}, false},
	{"group_query", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("attention_mask", tensor.I64, "b,total_sequence_length")
		n.caches(2, "past_sequence_length", "total_sequence_length")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(2)
		n.ints("one", 1)
		n.ints("axis", 1)
		n.node("ReduceSum attention_mask axis -> counted", graph.IntAttr("keepdims", 0))
		n.node("Sub counted one -> last")
		n.node("Cast last -> last32", graph.IntAttr("to", 6))
		n.node("Shape attention_mask -> shape")
		n.node("Gather shape index -> total")
		n.g.Initializers = append(n.g.Initializers, &graph.Initializer{Name: "index", Tensor: nets.Scalar(int64(1))})
		n.node("Cast total -> total32", graph.IntAttr("to", 6))
		n.node("com.microsoft:GroupQueryAttention q k v past.key past.value last32 total32 -> y present.key present.value",
			graph.IntAttr("num_heads", 4), graph.IntAttr("kv_num_heads", 2))
		return n.model(17)
	}, false},
	{"concat", true, 2, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("mask", tensor.F32, "b,1,s,past_sequence_length + s")
		n.caches(4, "past_sequence_length", "past_sequence_length + s")
		n.output("y", tensor.F32, "b,s,32")
		n.projected(4)
		n.split(4)
		n.node("Concat past.key tk -> present.key", graph.IntAttr("axis", 2))
		n.node("Concat past.value tv -> present.value", graph.IntAttr("axis", 2))
		n.node("Transpose present.key -> kt", graph.IntsAttr("perm", 0, 1, 3, 2))
		n.node("MatMul tq kt -> scores")
		n.node("Mul scores scale -> scaled")
		n.g.Initializers = append(n.g.Initializers,
			&graph.Initializer{Name: "scale", Tensor: nets.Scalar(float32(0.35))})
		n.node("Add scaled mask -> masked")
		n.node("Softmax masked -> weights", graph.IntAttr("axis", -1))
		n.node("MatMul weights present.value -> a")
		n.merged()
		return n.model(17)
	}, false},
	{"projected", true, 1, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("past_0", tensor.F32, "2,b,4,past_sequence_length,4")
		n.output("present_0", tensor.F32, "2,b,4,total_sequence_length,4")
		n.output("y", tensor.F32, "b,s,16")
		n.floats("w", 16, 48)
		n.floats("bias", 48)
		n.node("com.microsoft:Attention x w bias _ past_0 -> y present_0", graph.IntAttr("num_heads", 4),
			graph.IntAttr("unidirectional", 1))
		return n.model(17)
	}, false},
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
			n.node(fmt.Sprintf("Concat past.%s t%c -> present.%s", x, x[0], x), graph.IntAttr("axis", 2))
			n.node(fmt.Sprintf("Unsqueeze present.%s two -> u%s", x, x))
			n.node(fmt.Sprintf("Expand u%s repeats -> e%s", x, x))
			n.node(fmt.Sprintf("Reshape e%s joined -> f%s", x, x))
		}
		n.node("Transpose fkey -> kt", graph.IntsAttr("perm", 0, 1, 3, 2))
		n.node("MatMul tq kt -> scores")
		n.node("Mul scores scale -> scaled")
		n.g.Initializers = append(n.g.Initializers,
			&graph.Initializer{Name: "scale", Tensor: nets.Scalar(float32(0.35))})
		n.node("Softmax scaled -> weights", graph.IntAttr("axis", -1))
		n.node("MatMul weights fvalue -> a")
		n.merged()
		return n.model(17)
	}, false},
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
			n.node(fmt.Sprintf("Concat past.%s t%c -> present.%s", x, x[0], x), graph.IntAttr("axis", 2))
			n.node(fmt.Sprintf("Unsqueeze present.%s two -> u%s", x, x))
			n.node(fmt.Sprintf("Concat u%s u%s -> e%s", x, x, x), graph.IntAttr("axis", 2))
			n.node(fmt.Sprintf("Reshape e%s joined -> f%s", x, x))
		}
		n.node("Transpose fkey -> kt", graph.IntsAttr("perm", 0, 1, 3, 2))
		n.node("MatMul tq kt -> scores")
		n.node("Softmax scores -> weights", graph.IntAttr("axis", -1))
		n.node("MatMul weights fvalue -> a")
		n.merged()
		return n.model(17)
	}, true},
	{"window", false, 1, func() *graph.Model {
		n := newNet()
		n.input("x", tensor.F32, "b,s,16")
		n.input("past", tensor.F32, "b,p,16")
		n.output("present", tensor.F32, "b,t,16")
		n.output("y", tensor.F32, "b,1,16")
		n.ints("start", -5)
		n.ints("end", math.MaxInt64)
		n.ints("axis", 1)
		n.node("Concat past x -> all", graph.IntAttr("axis", 1))
		n.node("Slice all start end axis -> present")
		n.node("ReduceMean present -> y", graph.IntsAttr("axes", 1), graph.IntAttr("keepdims", 1))
		return n.model(17)
	}, true},
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
		n.node("LSTM x w r _ _ h c -> y hn cn", graph.IntAttr("hidden_size", 8))
		return n.model(17)
	}, false},
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
		n.node("ReduceSum cache_out two -> y", graph.IntAttr("keepdims", 0))
		n.ints("two", 2)
		return n.model(24)
	}, false},
}
