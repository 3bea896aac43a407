package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// joiner decides which values are computed directly in the output of a later step that joins them,
// so that the step copies nothing.
type joiner struct {
	*placer
	made []int // by value id: the index of the step that computes it, plus 1
	live []int // by step: the bytes of values in use in the arena
	most int   // the limit of bytes in use
}

// keepParts finds the values that are computed directly in the output of a step that joins them. It
// begins at the last step, because a joined value may itself be a part of another. The memory of
// the output is in use from its first part on. If that takes much more memory than the run takes
// anyway, parts are copied.
func (p *placer) keepParts() {
	j := &joiner{placer: p}
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if len(p.Steps[i].Joins) == 0 {
			continue
		}
		if j.made == nil {
			j.count()
		}
		if p.movable(i, p.Steps[i].Out[0]) {
			j.join(i)
		}
	}
}

// count finds the steps that compute values and the bytes in use at every step.
func (j *joiner) count() {
	j.made, j.live = make([]int, len(j.Slots)), make([]int, len(j.Steps))
	for i := range j.Steps {
		for _, id := range j.Steps[i].Out {
			if id < 0 {
				continue
			}
			j.made[id] = i + 1
			for at := i; j.movable(i, id) && at <= min(max(i, j.last[id]), len(j.live)-1); at++ {
				j.live[at] += alignUp(j.Slots[id].Bytes())
			}
		}
	}
	peak := slices.Max(j.live)
	j.most = peak + peak/8
}

// join places parts that step i joins in its output.
func (j *joiner) join(i int) {
	st := &j.Steps[i]
	whole, kept := j.kept[st.Out[0]]
	if !kept {
		if whole, kept = j.together(st); kept {
			j.kept[st.Out[0]] = whole
			return
		}
		whole.of = &buffer{bytes: alignUp(j.Slots[st.Out[0]].Bytes()), first: i, last: i}
	}
	parts := j.parts(st)
	for len(parts) > 0 && !j.hasRoom(whole.of, st, parts) {
		parts = parts[1:]
	}
	if len(parts) == 0 {
		return
	}
	first := j.made[st.In[parts[0].Operand]] - 1
	for at := first; at < whole.of.first; at++ {
		j.live[at] += j.extra(whole.of, st, parts, at)
	}
	whole.of.first = min(whole.of.first, first)
	for _, share := range parts {
		j.kept[st.In[share.Operand]] = piece{whole.of, whole.at + share.Offset}
	}
	if !kept {
		j.list = append(j.list, whole.of)
		j.kept[st.Out[0]] = whole
	}
}

// parts lists the operands that a step joins and that may be computed in place, in the order of the
// steps that compute them.
func (j *joiner) parts(st *Step) (list []device.Share) {
	for _, share := range st.Joins {
		id := st.In[share.Operand]
		if id < 0 || j.made[id] == 0 || share.Offset%alignment != 0 || !j.movable(j.made[id]-1, id) {
			continue
		}
		if _, ok := j.kept[id]; !ok && slices.Index(st.In, id) == share.Operand {
			list = append(list, share)
		}
	}
	slices.SortStableFunc(list, func(a, b device.Share) int { return j.made[st.In[a.Operand]] - j.made[st.In[b.Operand]] })
	return list
}

// hasRoom reports whether the whole may be in use from its first part on.
func (j *joiner) hasRoom(whole *buffer, st *Step, parts []device.Share) bool {
	for at := j.made[st.In[parts[0].Operand]] - 1; at < whole.first; at++ {
		if j.live[at]+j.extra(whole, st, parts, at) > j.most {
			return false
		}
	}
	return true
}

// extra returns the bytes of the whole that no part occupies at a step.
func (j *joiner) extra(whole *buffer, st *Step, parts []device.Share, at int) int {
	n := whole.bytes
	for _, share := range parts {
		if id := st.In[share.Operand]; j.made[id]-1 <= at {
			n -= j.Slots[id].Bytes()
		}
	}
	return n
}

// together returns the position of an output if all its parts are already adjacent, because a later
// step joins them with others.
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

// movable reports whether value id, an output of step i, may be anywhere in the arena.
func (p *placer) movable(i, id int) bool {
	s, st := &p.Slots[id], &p.Steps[i]
	return s.Place == Unused && s.Shape != nil && s.Type.Kind == graph.TensorType && s.Type.DType != tensor.String &&
		s.Bytes() <= maxBytes && !p.isResult[id] && !st.Dynamic && !(st.Row.View && id == st.Out[0]) && !p.isState(id)
}

// isState reports whether a value is the input or the output of a state.
func (pl *Plan) isState(id int) bool {
	return pl.Lengths != nil && slices.ContainsFunc(pl.Lengths.States,
		func(s State) bool { return s.In == id || s.Out == id })
}

// splitOf returns the position of output k of a step in the value that the step splits.
func (p *placer) splitOf(st *Step, k, id int) (piece, bool) {
	at := slices.IndexFunc(st.Splits, func(s device.Share) bool { return s.Operand == k })
	if at < 0 || st.In[0] < 0 || p.of[st.In[0]] == nil || p.Slots[id].Shape == nil {
		return piece{}, false
	}
	where := p.at[st.In[0]] + st.Splits[at].Offset
	return piece{p.of[st.In[0]], where}, where%alignment == 0
}
