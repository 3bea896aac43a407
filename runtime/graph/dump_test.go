package graph_test

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func must(t *tensor.Tensor, err error) *tensor.Tensor {
	if err != nil {
		panic(err)
	}
	return t
}

func TestDump(t *testing.T) {
	g := net("x", "y", node("y = Conv(x, w, )", &graph.Attr{Name: "pads", Kind: graph.AttrInts, Ints: []int64{1, 2}},
		&graph.Attr{Name: "auto_pad", Kind: graph.AttrString, Str: []byte("VALID")}),
		node("z = If(x)", body(net("", "a", node("a = Neg(x)")))))
	g.Name = "main"
	g.Inputs[0].Type = graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(3)})
	g.Nodes[0].Name = "first one"
	g.Initializers = []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 100)}}
	m := &graph.Model{
		Format: "onnx", IR: 8, Producer: "test", Opsets: []graph.Opset{{Version: 17}, {Domain: "f", Version: 1}},
		Meta: []graph.Pair{{Key: "k", Value: "v"}}, Graph: g,
		Functions: []*graph.Function{{Domain: "f", Name: "g", Inputs: []string{"x"}, Outputs: []string{"y"}, Attrs: []string{"p"},
			Nodes: []*graph.Node{node("y = Neg(x)", &graph.Attr{Name: "q", Ref: "p"})}}},
	}
	const want = `model onnx ir 8
  producer "test"
  opset ai.onnx 17
  opset f 1
  meta "k" = "v"
graph main {
  input x float32[n,3]
  constant w float32[100]
  y = Conv-1(x, w, _) as "first one"
    .pads = [1 2]
    .auto_pad = "VALID"
  z = If-1(x)
    .body = graph "" {
      a = Neg-1(x)
      output a unknown
    }
  output y unknown
}
function f.g (x) -> (y) {
  attribute p
  y = Neg-1(x)
    .q = attribute p
}
`
	var b strings.Builder
	if err := graph.Dump(&b, m); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestDumpElements(t *testing.T) {
	cases := []struct {
		t    *tensor.Tensor
		want string
	}{
		{must(tensor.From([]float32{0.1, -2}, 2)), "{0.1 -2}"},
		{must(tensor.From([]float64{0.1}, 1)), "{0.1}"},
		{must(tensor.From([]packed.F16{0x3c00}, 1)), "{1}"},
		{must(tensor.From([]packed.BF16{0x3f80}, 1)), "{1}"},
		{must(tensor.From([]int8{-1, 5}, 2)), "{-1 5}"},
		{must(tensor.From([]int64{-1}, 1)), "{-1}"},
		{must(tensor.From([]uint16{65535}, 1)), "{65535}"},
		{must(tensor.From([]bool{true, false}, 2)), "{true false}"},
		{must(tensor.From([]complex64{1 + 2i}, 1)), "{1+2i}"},
		{must(tensor.From([]packed.F8E5M2{0x7c}, 1)), "{0x7c}"},
		{must(tensor.FromBytes(tensor.I4, tensor.Shape{3}, []byte{0x1f, 0x02})), "{-1 1 2}"},
		{must(tensor.FromBytes(tensor.F4E2M1, tensor.Shape{2}, []byte{0x1f})), "{0xf 0x1}"},
		{must(tensor.FromStrings([]string{"a b", ""}, 2)), `{"a b" ""}`},
	}
	for _, c := range cases {
		g := &graph.Graph{Initializers: []*graph.Initializer{{Name: "c", Tensor: c.t}}}
		var b strings.Builder
		if err := graph.DumpGraph(&b, g); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%v: %s", c.t, b.String())
		}
	}
}
