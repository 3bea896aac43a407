package optimize_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// net builds a network as an exporter writes it. Every method that adds a value returns its name.
type net struct {
	g       *graph.Graph
	dtype   tensor.DType // of floats
	opset   int
	named   bool // extents of inputs are symbols, not numbers
	rand    *rand.Rand
	made    int
	feeds   map[string]*tensor.Tensor
	symbols map[string]int
}

func newNet(d tensor.DType, named bool) *net {
	return &net{g: &graph.Graph{Name: "net"}, dtype: d, opset: 17, named: named, rand: rand.New(rand.NewPCG(3, 5)),
		feeds: map[string]*tensor.Tensor{}, symbols: map[string]int{"batch": 2, "tokens": 5, "keys": 7}}
}

// dims returns the shape and the extents of a list of numbers and symbols.
func (b *net) dims(list []any) (shape tensor.Shape, dims graph.Dims) {
	dims = graph.Dims{}
	for _, d := range list {
		switch d := d.(type) {
		case int:
			shape, dims = append(shape, d), append(dims, graph.Known(d))
		case string:
			shape = append(shape, b.symbols[d])
			if dims = append(dims, graph.Known(b.symbols[d])); b.named {
				dims[len(dims)-1] = graph.Symbol(d)
			}
		}
	}
	return shape, dims
}

// in adds an input of normally distributed numbers.
func (b *net) in(name string, list ...any) string {
	shape, dims := b.dims(list)
	b.feeds[name] = b.floats(func(int) float64 { return b.rand.NormFloat64() }, shape...)
	b.g.Inputs = append(b.g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(b.dtype, dims)})
	return name
}

// given adds an input with the elements of t.
func (b *net) given(name string, t *tensor.Tensor, list ...any) string {
	_, dims := b.dims(list)
	b.feeds[name] = t
	b.g.Inputs = append(b.g.Inputs, &graph.Value{Name: name, Type: graph.TensorOf(t.DType(), dims)})
	return name
}

func (b *net) floats(at func(i int) float64, shape ...int) *tensor.Tensor {
	t := tensor.New(b.dtype, shape...)
	for i := range t.Len() {
		switch v := at(i); b.dtype {
		case tensor.F16:
			tensor.View[packed.F16](t)[i] = packed.ToF16(float32(v))
		case tensor.BF16:
			tensor.View[packed.BF16](t)[i] = packed.ToBF16(float32(v))
		case tensor.F64:
			tensor.View[float64](t)[i] = v
		default:
			tensor.View[float32](t)[i] = float32(v)
		}
	}
	return t
}

func (b *net) constant(t *tensor.Tensor) string {
	name := b.name("c")
	b.g.Initializers = append(b.g.Initializers, &graph.Initializer{Name: name, Tensor: t})
	return name
}

// c adds a scalar constant.
func (b *net) c(v float64) string { return b.constant(b.floats(func(int) float64 { return v })) }

// weight adds a constant of small numbers.
func (b *net) weight(shape ...int) string {
	return b.constant(b.floats(func(int) float64 { return b.rand.NormFloat64() / 2 }, shape...))
}

func (b *net) ints(list ...int) string {
	t := tensor.New(tensor.I64, len(list))
	for i, v := range list {
		tensor.View[int64](t)[i] = int64(v)
	}
	return b.constant(t)
}

// one adds a scalar integer constant.
func (b *net) one(v int) string {
	t := tensor.New(tensor.I64)
	tensor.View[int64](t)[0] = int64(v)
	return b.constant(t)
}

func (b *net) name(kind string) string {
	b.made++
	return fmt.Sprintf("%s_%d", kind, b.made)
}

// op adds a node. Strings among args are its inputs.
func (b *net) op(op string, args ...any) string { return b.opOf("", op, b.opset, args...) }

// microsoft adds a node of the operators that ONNX Runtime adds to the standard's.
func (b *net) microsoft(op string, args ...any) string {
	return b.opOf(cases.Microsoft, op, 1, args...)
}

func (b *net) opOf(domain, op string, version int, args ...any) string {
	out := b.name(op)
	n := &graph.Node{Name: out, Domain: domain, Op: op, Version: version, Outputs: []string{out}}
	for _, a := range args {
		switch a := a.(type) {
		case string:
			n.Inputs = append(n.Inputs, a)
		case *graph.Attr:
			n.Attrs = append(n.Attrs, a)
		}
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return out
}

func (b *net) out(names ...string) {
	for _, name := range names {
		b.g.Outputs = append(b.g.Outputs, &graph.Value{Name: name})
	}
}

func (b *net) model() *graph.Model {
	return &graph.Model{Format: "test", IR: 8, Opsets: []graph.Opset{{Version: b.opset}}, Graph: b.g}
}

// run computes the outputs with or without passes.
func (b *net) run(t *testing.T, passes bool) []*tensor.Tensor {
	t.Helper()
	list, err := b.results(passes)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func (b *net) optimized(t *testing.T) *graph.Model {
	t.Helper()
	m, err := optimize.Run(b.model(), optimize.Passes(), contextOf(standard.Registry()))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tolerances are the tolerances of outputs, relative to the largest element. float32 differs by the
// order of sums, half types by the places where they round.
var tolerances = map[tensor.DType]float64{tensor.F32: 4e-6, tensor.F64: 1e-6, tensor.F16: 4e-3, tensor.BF16: 3e-2}

// same compares outputs with and without passes.
func (b *net) same(t *testing.T) {
	t.Helper()
	want, got := b.run(t, false), b.run(t, true)
	for i := range want {
		if err := cases.Near(want[i], got[i], tolerances[b.dtype], true); err != nil {
			t.Errorf("output %d: %v", i, err)
		}
	}
}

func attrInts(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func attrInt(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}

func attrFloat(name string, v float32) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
}

// pattern is a network that a pass rewrites, or that it must leave as it is.
type pattern struct {
	name  string
	build func(b *net)
	want  []string // operators after all passes
	types []tensor.DType
}

var narrow = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

// check runs patterns and their mutants in every type, with known and with symbolic
// extents.
func check(t *testing.T, patterns []pattern) {
	for _, p := range patterns {
		t.Run(p.name, func(t *testing.T) {
			types := p.types
			if types == nil {
				types = narrow
			}
			for _, d := range types {
				for _, named := range []bool{false, true} {
					b := newNet(d, named)
					p.build(b)
					m := b.optimized(t)
					got := applied(m)
					if !slices.Equal(got, p.want) {
						t.Errorf("%v, named %v: got %q, want %q", d, named, got, p.want)
					}
					b.same(t)
				}
				mutated(t, p, d, mutants)
			}
		})
	}
}

// applied lists the operators of a graph's nodes in order.
func applied(m *graph.Model) []string {
	var list []string
	for _, n := range m.Graph.Nodes {
		list = append(list, n.Op)
	}
	return list
}

func integers(list ...int64) *tensor.Tensor {
	t := tensor.New(tensor.I64, 2, len(list)/2)
	copy(tensor.View[int64](t), list)
	return t
}
