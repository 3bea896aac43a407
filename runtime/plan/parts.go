package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// keepParts has values computed where a later step joins them, so that it copies nothing.
// The last step comes first: a value that is itself joined lies within another.
func (p *placer) keepParts() {
	made := make([]int, len(p.Slots)) // by value id: the step that computes it, from 1
	for i := range p.Steps {
		for _, id := range p.Steps[i].Out {
			if id >= 0 {
				made[id] = i + 1
			}
		}
	}
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if len(p.Steps[i].Joins) > 0 && p.movable(i, p.Steps[i].Out[0]) {
			p.keepJoined(i, made)
		}
	}
}

// keepJoined has the parts that step i joins computed in its output.
func (p *placer) keepJoined(i int, made []int) {
	st := &p.Steps[i]
	whole, kept := p.kept[st.Out[0]]
	if !kept {
		if whole, kept = p.together(st); kept {
			p.kept[st.Out[0]] = whole
			return
		}
	}
	for _, share := range st.Joins {
		id := st.In[share.Operand]
		first := made[id] - 1
		if first < 0 || share.Offset%alignment != 0 || !p.movable(first, id) || count(st.In, id) > 1 {
			continue
		}
		if _, ok := p.kept[id]; ok {
			continue
		}
		if whole.of == nil {
			whole.of = &buffer{bytes: alignUp(p.Slots[st.Out[0]].Bytes()), first: i, last: i}
			p.list = append(p.list, whole.of)
		}
		p.kept[id] = piece{whole.of, whole.at + share.Offset}
		whole.of.first = min(whole.of.first, first)
	}
	if whole.of != nil && !kept {
		p.kept[st.Out[0]] = whole
	}
}

// together returns where all parts that a step joins lie, one behind the other, because a
// later step joins them and more.
func (p *placer) together(st *Step) (whole piece, ok bool) {
	for k, share := range st.Joins {
		part, ok := p.kept[st.In[share.Operand]]
		if k == 0 {
			whole = part
		}
		if !ok || part != (piece{whole.of, whole.at + share.Offset}) {
			return piece{}, false
		}
	}
	return whole, len(st.Joins) > 0
}

func count(list []int, id int) (n int) {
	for _, other := range list {
		if other == id {
			n++
		}
	}
	return n
}

// movable reports whether value id, which step i computes, may lie anywhere in the arena.
func (p *placer) movable(i, id int) bool {
	s, st := &p.Slots[id], &p.Steps[i]
	return s.Place == Unused && s.Shape != nil && s.Type.Kind == graph.TensorType && s.Type.DType != tensor.String &&
		s.Bytes() <= maxBytes && !p.isResult[id] && !st.Dynamic && !(st.Row.View && id == st.Out[0]) && !p.isState(id)
}

// isState reports whether a value is one of those of a state.
func (p *placer) isState(id int) bool {
	return p.Lengths != nil && slices.ContainsFunc(p.Lengths.States, func(s State) bool { return s.In == id || s.Out == id })
}

// splitOf returns the place of output k of a step in the value that the step splits.
func (p *placer) splitOf(st *Step, k, id int) (piece, bool) {
	at := slices.IndexFunc(st.Splits, func(s device.Share) bool { return s.Operand == k })
	if at < 0 || st.In[0] < 0 || p.of[st.In[0]] == nil || p.Slots[id].Shape == nil {
		return piece{}, false
	}
	where := p.at[st.In[0]] + st.Splits[at].Offset
	return piece{p.of[st.In[0]], where}, where%alignment == 0
}
