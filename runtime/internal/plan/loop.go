package plan

import (
	"context"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// LoopTypes returns the types of the program's inputs. Extents that depend on the rows of a loop's
// states are expressions, other extents unknown.
func (b *Body) LoopTypes(l *op.Loop) []graph.Type {
	types := make([]graph.Type, len(b.Inputs))
	for i, id := range b.Inputs {
		types[i] = b.values[id].Type
		types[i].Dims = l.Going[i]
	}
	return types
}

// LoopStates returns the states of a loop by name. It returns an error if a state is no input or
// output of the graph, or has another type there.
func (b *Body) LoopStates(l *op.Loop) ([]graph.State, error) {
	list := make([]graph.State, len(l.States))
	for i, s := range l.States {
		if s.In < 0 || s.In >= len(b.Decl) || s.Out < 0 || s.Out >= len(b.Outputs) {
			return nil, graph.Errorf(graph.ErrFormat,
				"the graph has %d inputs and %d outputs, and input %d is to become output %d", len(b.Decl), len(b.Outputs), s.In,
				s.Out)
		}
		want, made := b.Decl[s.In].Type, b.Type(b.Outputs[s.Out])
		if want.Kind != graph.TensorType || want.DType != s.DType || made.Kind == graph.TensorType && made.DType != s.DType {
			return nil, graph.Errorf(graph.ErrShape, "input %q of the graph is %v and becomes %v, and not %v",
				b.Decl[s.In].Name, want, made, s.DType)
		}
		if s.DType.Bits() == 0 || s.DType.Bits()%8 != 0 {
			return nil, graph.Errorf(graph.ErrUnsupported, "input %q of the graph is %v; states are tensors of numbers of whole bytes", b.Decl[s.In].Name, want)
		}
		list[i] = graph.State{Input: b.Decl[s.In].Name, Output: b.Names[b.Outputs[s.Out]], Axis: s.Axis}
	}
	return list, nil
}

// lengths describes states in memory with room, or in tensors with that many rows.
func (b *Body) lengths(l *op.Loop, inRoom bool) *Lengths {
	x := &Lengths{Bounds: map[string]int{}}
	if inRoom {
		x.Bounds[op.Rows] = l.Room
	}
	for _, s := range l.States {
		x.States = append(x.States, State{In: b.Inputs[s.In], Out: b.Outputs[s.Out], Axis: s.Axis, Room: l.Room,
			InRoom: inRoom})
	}
	return x
}

// loop plans a run of a graph in a stream.
func (pl *Plan) loop(b *Body, l *kit.Loops) (*Plan, error) {
	if _, err := b.LoopStates(&l.Loop); err != nil {
		return nil, err
	}
	types := make([]graph.Type, len(b.Inputs))
	for i, id := range b.Inputs {
		types[i] = b.values[id].Type
		if i >= len(b.Decl) {
			types[i] = pl.values[b.Captures[i-len(b.Decl)]].Type
		} else if t, ok := l.Types[i]; ok {
			types[i] = t
		}
	}
	for _, s := range l.States {
		types[s.In] = graph.TensorOf(s.DType, s.Dims)
	}
	planned, err := b.ForLengths(context.Background(), types, b.lengths(&l.Loop, true))
	if err == nil {
		return planned, nil
	}
	// Plan with extents that are numbers, for states of one row.
	for i := range types {
		dims := slices.Clone(types[i].Dims)
		for a, d := range dims {
			if n, ok := d.Eval(func(string) (int, bool) { return 1, true }); ok {
				dims[a] = graph.Known(n)
			}
		}
		types[i].Dims = dims
	}
	return b.ForLengths(context.Background(), types, b.lengths(&l.Loop, false))
}

// ListedState is a state of a graph that a node runs again and again.
type ListedState struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	Place  string `json:"place"`
	Room   int    `json:"room,omitempty"` // rows
}

// listStates lists the states of a stream's plan.
func (pl *Plan) listStates() []ListedState {
	var list []ListedState
	for _, s := range pl.Lengths.States {
		l := ListedState{Input: pl.Name(s.In), Output: pl.Name(s.Out), Place: "a new tensor in each run"}
		if s.InRoom {
			l.Place, l.Room = "in place", s.Room
		}
		list = append(list, l)
	}
	return list
}
