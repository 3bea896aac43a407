package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/fold"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// foldConst replaces nodes by constants if their inputs are constants, or if their results follow
// from extents, as for Shape. Nodes that fail to compute stay, so that the planner or the run
// reports them.
func foldConst(s *Scope) (*Edit, error) {
	e := newEdit()
	folded := map[string]*op.Value{}
	value := func(name string) *op.Value {
		if v := folded[name]; v != nil {
			return v
		}
		return s.value(name)
	}
	room, counted := fold.Constants.Total, map[string]bool{}
	for _, n := range s.Nodes {
		if err := s.done(); err != nil {
			return nil, err
		}
		size := fold.Constants.Growth
		for _, name := range n.Inputs {
			v := value(name)
			if name == "" || v.Const == nil {
				continue
			}
			size += v.Const.Size()
			if folded[name] == nil && !counted[name] {
				counted[name] = true
				room += 2 * v.Const.Size()
			}
		}
		if size > room {
			continue
		}
		out := s.fold(n, value)
		if out == nil {
			continue
		}
		e.Replace[n] = nil
		for _, t := range out {
			if t != nil {
				room -= t.Size()
			}
		}
		for i, name := range n.Outputs {
			if name != "" {
				folded[name] = op.Known(out[i])
				e.add(name, out[i])
			}
		}
	}
	return e, nil
}

// fold returns the outputs of a node. If the node cannot or must not be folded, or the budget lacks
// the memory, it returns nil.
func (s *Scope) fold(n *graph.Node, value func(name string) *op.Value) []*tensor.Tensor {
	o, row, err := s.Registry.New(n)
	if err != nil || row.DynamicOutputs || row.Impure {
		return nil
	}
	out, known := make([]*tensor.Tensor, len(n.Outputs)), true
	for i, name := range n.Outputs {
		if name != "" {
			out[i] = value(name).Const
			known = known && out[i] != nil
		}
	}
	if known {
		return out
	}
	in := make([]*op.Value, len(n.Inputs))
	for i, name := range n.Inputs {
		if name == "" {
			continue
		}
		if in[i] = value(name); in[i].Const == nil {
			return nil
		}
	}
	if row.CheckTypes(in) != nil {
		return nil
	}
	inferred, err := kit.InferOutputs(o, n, in)
	if err != nil {
		return nil
	}
	bytes := 0
	for i, v := range inferred {
		shape, ok := v.Dims.Concrete()
		if ok && n.Outputs[i] != "" && v.Const == nil {
			bytes += tensor.SizeOf(v.DType, shape)
		}
	}
	if s.take(bytes) != nil {
		return nil
	}
	result := s.compute(n, row, in, inferred, fold.Constants)
	if result == nil {
		s.Budget.Release(int64(bytes))
	}
	return result
}
