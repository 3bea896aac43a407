package plan

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Next returns the plan that continues a plan that is not Done. values are the run's values by id,
// and must have all values of Live.
func (pl *Plan) Next(ctx context.Context, values []tensor.Value) (*Plan, error) {
	var buf [256]byte
	key := buf[:0]
	for _, id := range pl.live {
		if pl.isFound(id) {
			key = appendType(key, values[id])
		}
	}
	for _, id := range pl.exposed {
		t := values[id].(*tensor.Tensor)
		key = append(key, t.Bytes()...)
		for _, s := range t.Strings() {
			key = binary.AppendUvarint(key, uint64(len(s)))
			key = append(key, s...)
		}
	}
	return pl.next.get(ctx, key, func() (*Plan, error) {
		if len(pl.exposed) > 0 {
			pl.Program.decide()
		}
		return pl.goOn(ctx, values)
	})
}

// isFound reports whether the type of a live value is found while running: the value is made then,
// or is a view with unknown extents.
func (pl *Plan) isFound(id int) bool { return pl.Slots[id].Place == Dynamic || !pl.ready[id] }

// mostDecided bounds the plans of a body for elements that decide extents.
const mostDecided = 8

// decide counts a plan for elements that decide extents. A body may see other elements in each run.
// After mostDecided plans it drops the plans of the body, and new plans leave such extents to the
// run.
func (p *Program) decide() {
	if n := p.decided.Add(1); p.Inner && n%mostDecided == 0 {
		p.plans.clear()
	}
}

// leavesToRun reports whether the outputs of a node get their extents while running.
func (p *Program) leavesToRun(n *Node) bool {
	_, ok := n.Op.(op.Runner)
	return ok && p.Inner && p.decided.Load() >= mostDecided
}

func (pl *Plan) goOn(ctx context.Context, values []tensor.Value) (*Plan, error) {
	n := len(pl.Program.Names)
	known, ready, late := slices.Clone(pl.values[:n]), slices.Clone(pl.ready[:n]), slices.Clone(pl.late[:n])
	for _, id := range pl.live {
		if !pl.isFound(id) {
			continue
		}
		known[id], ready[id], late[id] = &op.Value{Type: op.TypeOf(values[id])}, true, true
		if t := known[id].Type; t.Kind != graph.TensorType {
			known[id].Type = pl.values[id].Type
		}
	}
	for _, id := range pl.exposed {
		t := values[id].(*tensor.Tensor).Clone()
		known[id], late[id] = &op.Value{Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape())), Const: t}, true
	}
	given := slices.DeleteFunc(slices.Clone(pl.live), func(id int) bool { return known[id].Const != nil })
	next, err := pl.Program.stage(ctx, &facts{known, ready, late}, pl.rest, given, Earlier, pl.Lengths)
	if err == nil && len(next.rest) == len(pl.rest) && len(next.exposed) == 0 {
		n := next.rest[0]
		return nil, pl.Program.fail(n.Node, errors.New("its inputs stay unknown; this is a fault of the planner"))
	}
	return next, err
}
