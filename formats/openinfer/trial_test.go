package openinfer

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// trial is a call with its operands.
type trial struct {
	name   string
	word   string
	attrs  []attr
	in     dtype
	inputs []*tensor.Tensor
	// own uses the operator of the domain openinfer, even if standard operators exist.
	own bool
	// over gives the output the name of input 0.
	over bool
	out  dtype
	dims []int
	// vars holds the scalars of variable attributes by name.
	vars map[string]*tensor.Tensor
}

// ways lists the options for every trial.
var ways = []runtime.Options{
	{Threads: 1}, {Threads: 2}, {Threads: 1, NoOptimize: true}, {Threads: 2, NoOptimize: true},
}

// build returns a graph of the trials and its inputs. Output i is named yi.
func build(t *testing.T, trials []trial) (*graph.Model, map[string]*tensor.Tensor) {
	t.Helper()
	b, inputs := graph.NewBuilder("trials"), map[string]*tensor.Tensor{}
	input := func(name string, x *tensor.Tensor) string {
		inputs[name] = x
		return b.Input(name, graph.TensorOf(x.DType(), graph.DimsOf(x.Shape())))
	}
	for i, c := range trials {
		row, ok := lookupOp(c.word)
		if !ok {
			t.Fatalf("%s: no operator %s", c.name, c.word)
		}
		out := operand{dtype: c.out, dims: c.dims}
		var operands []operand
		for k, x := range c.inputs {
			operands = append(operands, operand{input(fmt.Sprintf("x%d.%d", i, k), x), c.in, x.Shape()})
		}
		if c.over {
			out.value = operands[0].value
		}
		attrs := slices.Clone(c.attrs)
		for k, a := range attrs {
			if v, ok := a.value.(operand); ok {
				v.value = input(fmt.Sprintf("x%d.%s", i, a.name), c.vars[a.name])
				attrs[k].value = v
			}
		}
		value, err := lowered(row, b, attrs, operands, out, c.own)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		b.Output(value, fmt.Sprintf("y%d", i), graph.TensorOf(c.out.tensor(), graph.DimsOf(c.dims)))
	}
	return b.Model(&graph.Model{}), inputs
}

// run returns the results of trials. The results must agree for all of ways.
func run(t *testing.T, trials []trial) []*tensor.Tensor {
	t.Helper()
	m, inputs := build(t, trials)
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	var results []*tensor.Tensor
	for _, way := range ways {
		s, err := byname.New(m, way)
		if err != nil {
			t.Fatalf("%+v: %v", way, err)
		}
		got, err := s.Run(context.Background(), inputs)
		if err != nil {
			t.Fatalf("%+v: %v", way, err)
		}
		for i, c := range trials {
			y := got[fmt.Sprintf("y%d", i)]
			if y.DType() != c.out.tensor() || !slices.Equal(y.Shape(), c.dims) {
				t.Fatalf("%s, %+v: %v, want %v%v", c.name, way, y, c.out.tensor(), c.dims)
			}
			if len(results) == i {
				results = append(results, y)
			} else if where := differs(c.out, y, results[i], exact); where != "" {
				t.Errorf("%s: %+v and %+v differ: %s", c.name, way, ways[0], where)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	return results
}

// lowered is lower, but adds a node of the domain openinfer if own is set.
func lowered(row *opRow, b *graph.Builder, attrs []attr, inputs []operand, out operand, own bool) (string, error) {
	if own {
		c := *row
		c.lowered = nil
		row = &c
	}
	return row.lower(b, attrs, inputs, out)
}
