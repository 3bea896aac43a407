package plan

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// buffer is a piece of the arena that one or more values share, because they
// are views of each other or because one was computed over another.
type buffer struct {
	bytes       int
	first, last int // the steps between which it is in use, both counted in
	offset      int
	members     []int
}

// placer gives every value of the steps a slot, in the order of the steps.
type placer struct {
	*Plan
	last     []int // by value id: the last step that reads it; -1 for none
	isResult []bool
	of       []*buffer // by value id; nil when it is not in the arena
	list     []*buffer
}

// maxBytes bounds the values of one plan together: more than any machine has,
// and little enough to count without overflow.
const maxBytes = min(1<<48, math.MaxInt>>2)

func (pl *Plan) place() error {
	n := len(pl.Slots)
	p := &placer{Plan: pl, last: make([]int, n), isResult: make([]bool, n), of: make([]*buffer, n)}
	for id := range p.last {
		p.last[id] = -1
	}
	for i, s := range pl.Steps {
		for _, id := range s.In {
			if id >= 0 {
				p.last[id] = i
			}
		}
	}
	for _, id := range pl.Program.Outputs {
		p.last[id] = len(pl.Steps)
		p.isResult[id] = true
	}
	for i := range pl.Steps {
		p.step(i)
		if pl.NaiveBytes > maxBytes || pl.ResultBytes > maxBytes {
			n := pl.Steps[i].Node.Node
			return pl.Program.fail(n, graph.Mark(graph.ErrShape, "outputs up to here take more than %d bytes", maxBytes))
		}
	}
	for id, last := range p.last {
		if pl.Slots[id].Place == Dynamic && last >= 0 && last < len(pl.Steps) {
			pl.Steps[last].Dead = append(pl.Steps[last].Dead, id)
		}
	}
	layout(p.list)
	for _, b := range p.list {
		pl.ArenaBytes = max(pl.ArenaBytes, b.offset+b.bytes)
		for _, id := range b.members {
			pl.Slots[id].Offset = b.offset
		}
	}
	return nil
}

func (p *placer) step(i int) {
	st := &p.Steps[i]
	for _, id := range st.Out {
		st.Dynamic = st.Dynamic || st.Row.Makes || id >= 0 && p.Slots[id].Shape == nil
	}
	for k, id := range st.Out {
		if id < 0 {
			continue
		}
		s := &p.Slots[id]
		switch {
		case k == 0 && st.Row.View && s.Type.Kind == graph.TensorType:
			p.view(id, st.In[0])
		case st.Dynamic || s.Type.DType == tensor.String:
			s.Place = Dynamic
		case p.isResult[id]:
			s.Place = Result
			p.ResultBytes += min(s.Bytes(), 2*maxBytes)
		default:
			p.arena(i, k, id)
		}
	}
}

// view gives value id the bytes of value src.
func (p *placer) view(id, src int) {
	p.Slots[id].Place, p.Slots[id].ViewOf = View, src
	if b := p.of[src]; b != nil {
		p.join(b, id)
	}
}

func (p *placer) join(b *buffer, id int) {
	b.members = append(b.members, id)
	b.last = max(b.last, p.last[id])
	p.of[id] = b
}

// arena puts output k of a step in the arena, over an input that dies there if
// the operator allows it.
func (p *placer) arena(step, k, id int) {
	st, s := &p.Steps[step], &p.Slots[id]
	s.Place = Arena
	bytes := alignUp(min(s.Bytes(), 2*maxBytes))
	p.NaiveBytes += bytes
	if k == 0 {
		at := slices.IndexFunc(st.Row.InPlace, func(i int) bool {
			return i < len(st.In) && p.canTakeOver(step, s, st.In[i])
		})
		if at >= 0 {
			st.InPlace = st.Row.InPlace[at]
			p.join(p.of[st.In[st.InPlace]], id)
			return
		}
	}
	b := &buffer{bytes: bytes, first: step, last: step}
	p.list = append(p.list, b)
	p.join(b, id)
}

// canTakeOver reports whether value id, an input of the step, lies in the arena
// with the extents and element size of s, and no other input of the step and
// nothing after it reads that memory.
func (p *placer) canTakeOver(step int, s *Slot, id int) bool {
	if id < 0 || p.of[id] == nil {
		return false
	}
	from := &p.Slots[id]
	if from.Shape == nil || !from.Shape.Equal(s.Shape) || from.Type.DType.Bits() != s.Type.DType.Bits() {
		return false
	}
	st := &p.Steps[step]
	for i, other := range st.In {
		if other >= 0 && p.of[other] == p.of[id] && (other != id || !slices.Contains(st.Row.InPlace, i)) {
			return false
		}
	}
	return !slices.ContainsFunc(p.of[id].members, func(m int) bool { return p.last[m] > step })
}
