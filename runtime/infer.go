package runtime

import (
	"context"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Inline returns the model with the nodes of its functions in place of their calls. The model is
// not changed. Sparse constants become dense; together these may take DefaultMemoryLimit bytes.
func Inline(m *graph.Model) (*graph.Model, error) {
	b := budget.New(context.Background(), budget.Limits{Bytes: int64(DefaultMemoryLimit())})
	return optimize.Run(m, optimize.Required(), optimize.Context{Registry: standard.Registry(), Eval: evaluate, Budget: b})
}

// inferBytes is the limit, in bytes, of the constants that Infer computes a node from and of its
// results.
const inferBytes = 1 << 16

// Infer returns what is known of the outputs of a node, given the known properties of its inputs. A
// nil input is left out. If all inputs are small constants, Infer computes the results.
func Infer(n *graph.Node, in []*op.Value) ([]*op.Value, error) {
	o, row, err := standard.Registry().New(n)
	if err != nil {
		return nil, err
	}
	if err := row.CheckTypes(in); err != nil {
		return nil, err
	}
	out, err := kit.InferOutputs(o, n, in)
	if err != nil || row.Impure || row.DynamicOutputs {
		return out, err
	}
	constants, ok := small(in, out)
	if !ok {
		return out, nil
	}
	list, err := evaluate(n, constants)
	if err != nil {
		return out, nil // a run reports the error
	}
	return kit.Values(list), nil
}

// small returns the inputs as constants, if all are constant and they and the outputs are small.
func small(in, out []*op.Value) ([]*tensor.Tensor, bool) {
	list := make([]*tensor.Tensor, len(in))
	total := 0
	for i, v := range in {
		if v == nil {
			continue
		}
		if v.Const == nil {
			return nil, false
		}
		list[i] = v.Const
		total += v.Const.Size()
	}
	for _, v := range out {
		shape, ok := v.Dims.Concrete()
		if v.Kind != graph.TensorType || !ok {
			return nil, false
		}
		total += v.DType.Bytes(shape.Len())
	}
	return list, total <= inferBytes
}

func evaluate(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	isa, err := Options{}.isa()
	if err != nil {
		return nil, err
	}
	return cpu.EvalUntil(nil, standard.Registry(), n, isa, in)
}

// Cast returns a tensor with the elements of t in another type, as the operator Cast gives them.
func Cast(t *tensor.Tensor, to tensor.DType) (*tensor.Tensor, error) {
	if to.Code() == 0 {
		return nil, graph.Errorf(graph.ErrUnsupported, "elements are not cast to %v", to)
	}
	n := &graph.Node{Op: "Cast", Version: castVersion, Inputs: []string{"x"}, Outputs: []string{"y"},
		Attrs: []*graph.Attr{graph.IntAttr("to", int64(to.Code()))}}
	o, row, err := standard.Registry().New(n)
	if err != nil {
		return nil, err
	}
	in := []*tensor.Tensor{t}
	if err := row.CheckTypes(kit.Values(in)); err != nil {
		return nil, err
	}
	if _, err := kit.InferOutputs(o, n, kit.Values(in)); err != nil {
		return nil, err
	}
	out, err := evaluate(n, in)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// castVersion is the version of Cast that rounds and saturates as the newest does.
const castVersion = 25

// Dense returns a sparse tensor with all its elements, if they take at most limit bytes. A limit of
// 0 is DefaultMemoryLimit.
func Dense(t *graph.SparseTensor, limit int) (*tensor.Tensor, error) {
	s, err := kit.NewSparse(t)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = DefaultMemoryLimit()
	}
	if n := s.Bytes(); limit > 0 && n > limit {
		return nil, graph.Errorf(graph.ErrMemory, "all elements of a sparse tensor, %v%v, take %d bytes; the limit is %d",
			s.DType, s.Shape, n, limit)
	}
	return s.Dense(), nil
}
