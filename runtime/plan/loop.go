package plan

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// LoopTypes are the types of the program's inputs, with the extents that a loop says go with the rows of its
// states; other extents are not known.
func (b *Body) LoopTypes(l *op.Loop) []graph.Type {
	types := make([]graph.Type, len(b.Inputs))
	for i, id := range b.Inputs {
		types[i] = b.values[id].Type
		types[i].Dims = l.Going[i]
	}
	return types
}

// LoopStates are the states of a loop by name. The error is for states that name no
// input or output of the graph, or of other types.
func (b *Body) LoopStates(l *op.Loop) ([]graph.State, error) {
	list := make([]graph.State, len(l.States))
	for i, s := range l.States {
		if s.In < 0 || s.In >= len(b.Decl) || s.Out < 0 || s.Out >= len(b.Outputs) {
			return nil, graph.Errorf(graph.ErrFormat, "the graph has %d inputs and %d outputs, and input %d is to become output %d", len(b.Decl), len(b.Outputs), s.In, s.Out)
		}
		want, made := b.Decl[s.In].Type, b.Type(b.Outputs[s.Out])
		if want.Kind != graph.TensorType || want.DType != s.DType || made.Kind == graph.TensorType && made.DType != s.DType {
			return nil, graph.Errorf(graph.ErrShape, "input %q of the graph is %v and becomes %v, and not %v", b.Decl[s.In].Name, want, made, s.DType)
		}
		list[i] = graph.State{Input: b.Decl[s.In].Name, Output: b.Names[b.Outputs[s.Out]], Axis: s.Axis}
	}
	return list, nil
}
