package standard_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func floatAttr(name string, v float32) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloat, Float: v}
}

func floatsAttr(name string, v ...float32) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrFloats, Floats: v}
}

func from[T tensor.Element](data []T, shape ...int) *tensor.Tensor {
	t, err := tensor.From(data, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

// counted returns 0, 1, 2, ... in the given shape.
func counted(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.F32, shape...)
	for i, s := 0, tensor.View[float32](t); i < len(s); i++ {
		s[i] = float32(i)
	}
	return t
}

// evalNode computes a node with outs outputs. A nil input is left out.
func evalNode(name string, version, outs int, list []*graph.Attr, in ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	n := &graph.Node{Op: name, Version: version, Attrs: list}
	for i, t := range in {
		n.Inputs = append(n.Inputs, "")
		if t != nil {
			n.Inputs[i] = fmt.Sprint("in", i)
		}
	}
	for i := range outs {
		n.Outputs = append(n.Outputs, fmt.Sprint("out", i))
	}
	return cpu.Eval(standard.Registry(), n, bindings.DetectISA(), nil, in)
}

// An evalCase is a node and the expected elements of its output, in row-major order.
type evalCase struct {
	name    string
	op      string
	version int
	attrs   []*graph.Attr
	in      []*tensor.Tensor
	shape   tensor.Shape // of output 0
	want    []float64
}

func runEvalCases(t *testing.T, list []evalCase) {
	testenv.Need(t, bindings.Available())
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			out, err := evalNode(c.op, c.version, 1, c.attrs, c.in...)
			if err != nil {
				t.Fatal(err)
			}
			if !out[0].Shape().Equal(c.shape) {
				t.Errorf("shape %v, not %v", out[0].Shape(), c.shape)
			}
			if got := numbersOf(out[0]); !closeLists(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func numbersOf(t *tensor.Tensor) []float64 {
	list, _ := kit.Numbers(t)
	return list
}

func closeLists(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(g, w float64) bool {
		return g == w || math.IsNaN(g) && math.IsNaN(w) || math.Abs(g-w) <= 1e-5*max(1, math.Abs(w))
	})
}

// refused checks that each case returns an error with a kind.
func refused(t *testing.T, list []evalCase) {
	testenv.Need(t, bindings.Available())
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			out, err := evalNode(c.op, c.version, 1, c.attrs, c.in...)
			if err == nil {
				t.Fatalf("got %v, want an error", out[0])
			}
			if !errors.Is(err, graph.ErrShape) && !errors.Is(err, graph.ErrFormat) && !errors.Is(err, graph.ErrUnsupported) {
				t.Errorf("error %q has no kind", err)
			}
		})
	}
}

func in(list ...*tensor.Tensor) []*tensor.Tensor { return list }

var nan, inf = math.NaN(), math.Inf(1)

func intsAttr(name string, v ...int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: v}
}

func strAttr(name, v string) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrString, Str: []byte(v)}
}

func intAttr(name string, v int64) *graph.Attr {
	return &graph.Attr{Name: name, Kind: graph.AttrInt, Int: v}
}
