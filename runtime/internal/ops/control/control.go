package control

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// truth returns the value of a condition, a bool tensor of one element.
func truth(t *tensor.Tensor) (bool, error) {
	if t == nil || t.DType() != tensor.Bool || t.Len() != 1 {
		return false, graph.Errorf(graph.ErrShape, "condition is %v, not one bool", t)
	}
	return t.Bytes()[0] != 0, nil
}

// tripCount returns the value of a trip count, an int64 tensor of one element.
func tripCount(t *tensor.Tensor) (int64, error) {
	if t.DType() != tensor.I64 || t.Len() != 1 {
		return 0, graph.Errorf(graph.ErrShape, "trip count is %v, not one int64", t)
	}
	return tensor.View[int64](t.Aligned())[0], nil
}

// branch is If: it runs one of two graphs without inputs
// (https://onnx.ai/onnx/operators/onnx__If.html).
type branch struct{}

const (
	thenBranch = "then_branch"
	elseBranch = "else_branch"
)

func newBranch(n *op.Node) (op.Op, error) {
	if err := n.Graph(thenBranch); err != nil {
		return nil, err
	}
	return branch{}, n.Graph(elseBranch)
}

// BodyTypes leaves out the graph that a constant condition never runs.
func (branch) BodyTypes(attr string, in []*op.Value) ([]graph.Type, bool) {
	if in[0] == nil || in[0].Const == nil {
		return nil, true
	}
	yes, err := truth(in[0].Const)
	return nil, err != nil || yes == (attr == thenBranch)
}

// Infer joins the outputs of both graphs. If one graph does not fit the known extents, the
// condition guards against it, and Infer ignores it.
func (b branch) Infer(c *op.Infer) error {
	var known [][]*op.Value
	var failure error
	for _, attr := range []string{thenBranch, elseBranch} {
		if _, used := b.BodyTypes(attr, c.In); !used {
			continue
		}
		out, err := c.Body(attr, nil)
		switch {
		case err != nil:
			failure = fmt.Errorf("graph %q: %w", attr, err)
		case len(out) != len(c.Out):
			return graph.Errorf(graph.ErrFormat, "graph %q has %d outputs and the node %d", attr, len(out), len(c.Out))
		default:
			known = append(known, out)
		}
	}
	if known == nil {
		return failure
	}
	for i, v := range known[0] {
		t := v.Type
		if len(known) > 1 {
			var err error
			if t, err = joinTypes(t, known[1][i].Type); err != nil {
				return fmt.Errorf("output %d: %w", i, err)
			}
		}
		c.SetType(i, t)
	}
	return nil
}

// joinTypes returns the type of a value that has type a or b.
func joinTypes(a, b graph.Type) (graph.Type, error) {
	if a.Kind != b.Kind {
		return a, graph.Errorf(graph.ErrShape, "one graph gives %v and the other %v", a, b)
	}
	if a.Kind != graph.TensorType {
		return a, nil
	}
	if a.DType != b.DType {
		return a, graph.Errorf(graph.ErrShape, "one graph gives %v and the other %v", a, b)
	}
	if len(a.Dims) != len(b.Dims) || a.Dims == nil || b.Dims == nil {
		return graph.TensorOf(a.DType, nil), nil
	}
	dims := make(graph.Dims, len(a.Dims))
	for i, d := range a.Dims {
		if dims[i] = d; !d.Same(b.Dims[i]) {
			dims[i] = graph.Unknown()
		}
	}
	return graph.TensorOf(a.DType, dims), nil
}

func (branch) Run(c *op.Run) error {
	yes, err := truth(c.In[0])
	if err != nil {
		return err
	}
	attr := elseBranch
	if yes {
		attr = thenBranch
	}
	out, err := c.Body(attr, nil)
	for i, v := range out {
		c.SetSole(i, v)
	}
	return err
}

var controlRows = []op.Row{
	{Name: "If", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, op.Any}, Types: op.Boolean, DynamicOutputs: true, New: newBranch},
	{Name: "Loop", Since: []int{1, 11, 13, 16, 19, 21, 23, 24, 25}, In: [2]int{2, op.Any}, Optional: kit.Inputs(0, 1), Out: [2]int{1, op.Any}, Kinds: true, DynamicOutputs: true, New: newLoop},
	{Name: "Scan", Since: []int{8, 9, 11, 16, 19, 21, 23, 24, 25}, In: [2]int{1, op.Any}, Optional: kit.Inputs(0), Later: []op.Arity{{Since: 9, In: [2]int{1, op.Any}}},
		Out: [2]int{1, op.Any}, DynamicOutputs: true, New: newScan},
}
