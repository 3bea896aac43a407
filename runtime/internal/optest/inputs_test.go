package optest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	cpudevice "github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestNeededInputs omits each required input of every version of every row, as "" and by ending the
// list before it.
func TestNeededInputs(t *testing.T) {
	registry := standard.Registry()
	for name, row := range Rows() {
		for _, version := range row.Since {
			takes := row.Arity(version)
			count := takes.In[0]
			if takes.In[1] == op.Any {
				count += 3
			}
			n := &graph.Node{Domain: row.Domain, Op: row.Name, Version: version, Outputs: make([]string, row.Out[0])}
			for i := range count {
				n.Inputs = append(n.Inputs, fmt.Sprint("in", i))
			}
			if _, _, err := registry.Match(n); err != nil {
				t.Errorf("%s-%d with %d inputs: %v", name, version, count, err)
			}
			for i := range count {
				if !takes.Needs(i) {
					continue
				}
				less := *n
				less.Inputs = slices.Clone(n.Inputs)
				less.Inputs[i] = ""
				if _, _, err := registry.New(&less); !errors.Is(err, graph.ErrFormat) {
					t.Errorf("%s-%d without input %d: %v, want an error of kind %q", name, version, i, err, graph.ErrFormat)
				}
				if less.Inputs = n.Inputs[:i]; i >= takes.In[0] {
					continue
				}
				if _, _, err := registry.New(&less); !errors.Is(err, graph.ErrFormat) {
					t.Errorf("%s-%d with %d inputs: %v, want an error of kind %q", name, version, i, err, graph.ErrFormat)
				}
			}
		}
	}
}

// TestInputsLeftOut omits each input of the cases that succeed. A missing required input is
// ErrFormat. Without another input the node may succeed or be refused, but never fail with an
// internal error.
func TestInputsLeftOut(t *testing.T) {
	testenv.Need(t, bindings.Available())
	registry, rows := standard.Registry(), Rows()
	met := map[string]bool{}
	for _, c := range Cases() {
		row := rows[c.Key()]
		for _, version := range c.Versions(row) {
			for i, x := range c.In {
				id := fmt.Sprint(c.Key(), version, i, c.Note, len(c.In), len(c.Attrs))
				if x == nil || c.Fails != nil || met[id] {
					continue
				}
				met[id] = true
				less := *c
				less.In = slices.Clone(c.In)
				less.In[i] = nil
				_, err := cpudevice.Eval(registry, less.Node(version), bindings.DetectISA(), nil, less.In)
				switch needs := row.Arity(version).Needs(i); {
				case needs && !errors.Is(err, graph.ErrFormat):
					t.Errorf("%s in version %d without input %d: %v, want an error of kind %q", c.Name(), version, i, err,
						graph.ErrFormat)
				case err != nil && kindOf(err) == nil:
					t.Errorf("%s in version %d without input %d: %v", c.Name(), version, i, err)
				}
			}
		}
	}
}

// kinds lists the errors with which an operator may refuse a node.
var kinds = []error{graph.ErrFormat, graph.ErrShape, graph.ErrUnsupported}

// kindOf returns the kind of an operator's error. It returns nil for an internal error and for one
// without a kind.
func kindOf(err error) error {
	i := slices.IndexFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
	if i < 0 || errors.Is(err, guard.ErrInternal) {
		return nil
	}
	return kinds[i]
}

// TestInferWithout infers nodes of every row without optional inputs, with operands of every kind
// and of several ranks. No shape rule fails with an internal error.
func TestInferWithout(t *testing.T) {
	registry := standard.Registry()
	inferred := map[string]bool{}
	for name, row := range Rows() {
		for _, version := range row.Since {
			takes := row.Arity(version)
			count := takes.In[1]
			if count == op.Any {
				count = takes.In[0] + 3
			}
			for out := -1; out < count; out++ {
				if out >= 0 && takes.Needs(out) {
					continue
				}
				n := &graph.Node{Domain: row.Domain, Op: row.Name, Version: version, Outputs: []string{"out"}}
				for i := range count {
					n.Inputs = append(n.Inputs, fmt.Sprint("in", i))
				}
				if out >= 0 {
					n.Inputs[out] = ""
				}
				o, row, err := registry.New(n)
				if err != nil {
					continue // it needs attributes; the cases have them
				}
				for _, v := range operands() {
					c := &op.Infer{In: make([]*op.Value, count), Out: []*op.Value{{}}}
					for i := range c.In {
						if i != out && (out < 0 || takes.Needs(i) || i < out) {
							c.In[i] = v
						}
					}
					if row.CheckTypes(c.In) != nil {
						continue
					}
					c.Body = func(string, []*op.Value) ([]*op.Value, error) { return []*op.Value{v, v, v}, nil }
					if _, err := kit.InferWith(o, n, c); errors.Is(err, guard.ErrInternal) {
						t.Errorf("%s-%d without input %d of %v: %v", name, version, out, v.Type, err)
					} else if err == nil {
						inferred[name] = true
					}
				}
			}
		}
	}
	if len(inferred) < 100 {
		t.Errorf("only %d operators were inferred", len(inferred))
	}
}

// operands returns types of every kind that an operator may take.
func operands() (list []*op.Value) {
	for _, d := range []tensor.DType{tensor.F32, tensor.I64, tensor.U8, tensor.Bool, tensor.String} {
		list = append(list, &op.Value{Type: graph.TensorOf(d, nil)})
		for rank := range 6 {
			shape := slices.Repeat(tensor.Shape{2}, rank)
			list = append(list, &op.Value{Type: graph.TensorOf(d, graph.DimsOf(shape))},
				&op.Value{Type: graph.TensorOf(d, graph.UnknownDims(rank))})
			if rank > 0 && d != tensor.String {
				list = append(list, op.Known(tensor.New(d, shape...)))
			}
		}
		elem := graph.TensorOf(d, nil)
		key := tensor.I64
		if d == tensor.String {
			key = tensor.String
		}
		list = append(list, &op.Value{Type: kit.SequenceOf(elem)}, &op.Value{Type: graph.Type{Kind: graph.OptionalType, Elem: &elem}},
			&op.Value{Type: graph.Type{Kind: graph.MapType, Key: key, Elem: &elem}})
	}
	return list
}
