package control

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// growth finds the states of a loop that become longer with every iteration and keeps them in
// memory with room. One plan then serves all their lengths.
type growth struct {
	shapes []tensor.Shape // shapes of the states before the last iteration; nil for no tensor
	seen   int            // consecutive iterations that made some states longer and kept the others
	grown  bool           // states are kept in memory with room
	never  bool           // the graph does not let the states grow
}

// watched is the number of consecutive iterations after which states count as growing.
const watched = 2

// mostRoom is the largest size in bytes at which a state gets room for all iterations at once.
const mostRoom = 1 << 20

// watch inspects the states, inputs 2 and on of the body, after an iteration. left is the largest
// number of iterations that may follow.
func (g *growth) watch(runs op.Repeat, in []tensor.Value, left int64) error {
	if g.grown || g.never {
		return nil
	}
	var states []op.LoopState
	plain, room := true, 0
	var symbols map[int]graph.Dim // by length
	for i, v := range in[2:] {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			continue
		}
		last := g.shapes[i]
		g.shapes[i] = t.Shape()
		if last == nil || last.Equal(t.Shape()) {
			continue
		}
		axis, more := longer(last, t.Shape())
		if axis < 0 || t.DType() == tensor.String || t.DType().Bits()%8 != 0 {
			plain = false
			continue
		}
		n := t.Shape()[axis]
		if symbols == nil {
			symbols = map[int]graph.Dim{}
		}
		if _, ok := symbols[n]; !ok {
			symbols[n] = graph.Symbol(fmt.Sprint(op.Rows, len(symbols)))
		}
		dims := graph.DimsOf(t.Shape())
		dims[axis] = symbols[n]
		states = append(states, op.LoopState{In: 2 + i, Out: 1 + i, DType: t.DType(), Dims: dims, Axis: axis})
		room = max(room, 2*n)
		if all := int64(n) + left*int64(more); left < mostRoom && all <= int64(mostRoom/max(t.Size()/n, 1)) {
			room = max(room, int(all))
		}
	}
	if !plain || states == nil {
		g.seen = 0
		return nil
	}
	if g.seen++; g.seen < watched || left <= 0 {
		return nil
	}
	grown, err := runs.Grow(states, in, room)
	if err != nil {
		return err
	}
	if g.grown, g.never = grown, !grown; grown {
		for _, s := range states {
			in[s.In] = nil
		}
	}
	return nil
}

// longer returns the only axis along which b is longer than a, and the difference. If b differs
// otherwise, it returns -1.
func longer(a, b tensor.Shape) (axis, more int) {
	axis = -1
	if len(a) != len(b) {
		return -1, 0
	}
	for i := range a {
		switch {
		case a[i] == b[i]:
		case axis >= 0 || b[i] < a[i]:
			return -1, 0
		default:
			axis, more = i, b[i]-a[i]
		}
	}
	return axis, more
}
