package optimize_test

import (
	gocontext "context"
	"errors"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// batchCase is a case of the operators with an axis of items of each input, op.Shared for none.
type batchCase struct {
	*cases.Case
	version int
	at      []int
	items   int
}

// model returns the node with inputs that have items as inputs, and others as constants.
func (c *batchCase) model() *graph.Model {
	n := c.Node(c.version)
	m := &graph.Model{IR: 10, Opsets: []graph.Opset{{Domain: n.Domain, Version: c.version}},
		Graph: &graph.Graph{Nodes: []*graph.Node{n}}}
	for i, x := range c.In {
		switch {
		case x == nil:
		case c.at[i] < 0:
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: n.Inputs[i], Tensor: x})
		default:
			dims := graph.DimsOf(x.Shape())
			dims[c.at[i]] = graph.Symbol("n")
			m.Graph.Inputs = append(m.Graph.Inputs, &graph.Value{Name: n.Inputs[i], Type: graph.TensorOf(x.DType(), dims)})
		}
	}
	for _, name := range n.Outputs {
		if name != "" {
			m.Graph.Outputs = append(m.Graph.Outputs, &graph.Value{Name: name})
		}
	}
	return m
}

// axes lists the axes of items by input.
func (c *batchCase) axes() map[string]int {
	list := map[string]int{}
	for i, name := range c.Node(c.version).Inputs {
		if name != "" && c.at[i] >= 0 {
			list[name] = c.at[i]
		}
	}
	return list
}

// item returns item i of a tensor with n items along an axis.
func item(x *tensor.Tensor, axis, i, n int) *tensor.Tensor {
	shape := slices.Clone(x.Shape())
	shape[axis] /= n
	y := tensor.New(x.DType(), shape...)
	each, outer := shape[axis:].Len(), shape[:axis].Len()
	for k := range outer {
		from := (k*n + i) * each
		if x.DType() == tensor.String {
			copy(y.Strings()[k*each:], x.Strings()[from:from+each])
			continue
		}
		size := x.DType().Bits() / 8
		copy(y.Bytes()[k*each*size:], x.Bytes()[from*size:(from+each)*size])
	}
	return y
}

// check runs every item alone, and compares the results with the items of the case's results.
func (c *batchCase) check(t *testing.T, out []int) {
	t.Helper()
	s, err := byname.New(c.model(), runtime.Options{Threads: 1, NoOptimize: true})
	if err != nil {
		t.Errorf("%s, items %v: %v", c.Name(), c.at, err)
		return
	}
	defer s.Close()
	n := c.Node(c.version)
	for i := range c.items {
		feeds := map[string]*tensor.Tensor{}
		for k, x := range c.In {
			if x != nil && c.at[k] >= 0 {
				feeds[n.Inputs[k]] = item(x, c.at[k], i, c.items)
			}
		}
		got, err := s.Run(gocontext.Background(), feeds)
		if err != nil {
			t.Errorf("%s, items %v: item %d: %v", c.Name(), c.at, i, err)
			return
		}
		one := *c.Case
		one.Want = make([]*tensor.Tensor, len(c.Want))
		list, next := make([]*tensor.Tensor, len(c.Want)), 0
		for k, want := range c.Want {
			if want == nil {
				continue
			}
			if one.Want[k] = want; out[next] >= 0 {
				one.Want[k] = item(want, out[next], i, c.items)
			}
			list[k] = got[n.Outputs[k]]
			next++
		}
		if err := one.Compare(list); err != nil {
			t.Errorf("%s, items %v, out %v: item %d: %v", c.Name(), c.at, out, i, err)
			return
		}
	}
}

// assignments calls f with the axes of items that inputs may have, up to a number of calls.
func assignments(in []*tensor.Tensor, most int, f func(at []int, items int)) {
	at := slices.Repeat([]int{op.Shared}, len(in))
	var choose func(i, items int)
	choose = func(i, items int) {
		if most <= 0 {
			return
		}
		if i == len(in) {
			if items > 1 {
				most--
				f(slices.Clone(at), items)
			}
			return
		}
		if x := in[i]; x != nil && x.DType().Bits()%8 == 0 {
			for axis, n := range x.Shape() {
				if n > 1 && (items == 0 || n == items) {
					at[i] = axis
					choose(i+1, n)
				}
			}
		}
		at[i] = op.Shared
		choose(i+1, items)
	}
	choose(0, 0)
}

// TestItemsOfCases proves what it can of every case of every operator, and runs each item of a proved
// one alone.
func TestItemsOfCases(t *testing.T) {
	rows, proved, seen := optest.Rows(), map[string]int{}, map[string]int{}
	c := contextOf(standard.Registry())
	for _, x := range optest.Cases() {
		row := rows[x.Key()]
		narrow := func(y *tensor.Tensor) bool { return y != nil && y.DType().Bits()%8 != 0 }
		if row == nil || x.Fails != nil || slices.ContainsFunc(x.Want, narrow) || kit.ItemsOf(row) == nil || seen[x.Key()] >= 24 {
			continue
		}
		seen[x.Key()]++
		versions := x.Versions(row)
		assignments(x.In, 40, func(at []int, items int) {
			b := &batchCase{x, versions[len(versions)-1], at, items}
			out, err := optimize.Items(b.model(), b.axes(), c)
			if err != nil {
				if !errors.Is(err, graph.ErrOption) {
					t.Errorf("%s: %v", x.Name(), err)
				}
				return
			}
			if proved[x.Key()]++; proved[x.Key()] <= 8 {
				b.check(t, out)
			}
		})
	}
	if least := 150; len(proved) < least {
		t.Errorf("items of %d operators were compared, fewer than %d", len(proved), least)
	}
}
