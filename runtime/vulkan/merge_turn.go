package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/shaders"
)

// turning is the commands that attention/turn replaces: the rotations of queries and keys, and those
// that append keys and values.
type turning struct {
	queries, keys, appendKeys, appendValues int
}

// mergeTurning merges the turning that appends keys by command i.
func (v *versions) mergeTurning(u *uses, i int) error {
	if t := v.turning(u, i); t != nil {
		return v.turn(t)
	}
	return nil
}

// turning returns the turning that appends keys by command i; nil if there is none.
func (v *versions) turning(u *uses, i int) *turning {
	t := &turning{appendKeys: i, appendValues: i + 1}
	attend := i + 2
	k, ok := work[*appended](v, t.appendKeys)
	values, also := work[*appended](v, t.appendValues)
	if !ok || !also || attend >= len(v.commands) || v.commands[attend].kernel == nil ||
		v.commands[attend].recorded.Step != v.commands[i].recorded.Step {
		return nil
	}
	if t.keys, ok = v.from(u, t.appendKeys, 1); !ok || v.of[i][1].stays {
		return nil
	}
	if t.queries, ok = v.from(u, attend, 0); !ok {
		return nil
	}
	q, isQ := work[*rotation](v, t.queries)
	r, isK := work[*rotation](v, t.keys)
	if !isQ || !isK || !slices.Equal(v.commands[t.queries].kernel.constants, v.commands[t.keys].kernel.constants) ||
		q.pairs != r.pairs || q.table != r.table || q.x.rows != r.x.rows || q.x.size != r.x.size || q.x.batch != r.x.batch {
		return nil
	}
	for _, operand := range []int{1, 2, 3} {
		if !v.isSame(t.queries, t.keys, operand) {
			return nil
		}
	}
	if !k.isPlain() || !values.isPlain() || k.kept != values.kept || k.coded != values.coded || k.x.extents() != values.x.extents() ||
		k.x.extents() != r.out.extents() || k.x.steps() != r.out.steps() || !v.isSame(t.appendKeys, t.appendValues, 3) {
		return nil
	}
	list := t.list()
	for _, j := range list {
		if !v.isFree(j, v.operands(j), j, list[len(list)-1], list) {
			return nil
		}
	}
	for _, to := range []site{{t.queries, 4}, {t.appendKeys, 4}, {t.appendValues, 4}} {
		for _, from := range t.operands() {
			if from != to && v.conflicts(to, from) {
				return nil
			}
		}
	}
	return t
}

// list returns the commands in order.
func (t *turning) list() []int {
	list := []int{t.queries, t.keys, t.appendKeys, t.appendValues}
	slices.Sort(list)
	return list
}

// operands lists the operands of attention/turn.
func (t *turning) operands() []site {
	return []site{{t.queries, 0}, {t.keys, 0}, {t.appendValues, 1}, {t.keys, 1}, {t.keys, 2}, {t.keys, 3},
		{t.appendKeys, 3}, {t.queries, 4}, {t.appendKeys, 4}, {t.appendValues, 4}, {t.keys, 5}}
}

// turn makes the last command of t do the work of all.
func (v *versions) turn(t *turning) error {
	q, _ := work[*rotation](v, t.queries)
	r, _ := work[*rotation](v, t.keys)
	k, _ := work[*appended](v, t.appendKeys)
	values, _ := work[*appended](v, t.appendValues)
	from := v.commands[t.keys].kernel
	name := "attention/turn"
	if k.cache.coded {
		name += "_codes"
	}
	m, err := shaders.Find(name, from.Variant())
	if err != nil {
		return err
	}
	if m.Kernel.Operands > v.acc.dev.info.Caps.MaxBuffers {
		return nil
	}
	var w words
	n := q.x.len() + r.x.len() + values.x.len()
	if k.cache.coded {
		width := cacheWidth(tensor.I8, k.x.size)
		each := wordsOfRows(k.x.rows, width)
		n = q.x.len() + 2*k.x.batch*k.x.heads*each
		w.int(n, q.x.len(), each, q.x.heads, r.x.heads, q.x.rows, q.x.size, q.pairs, q.table, k.kept)
		for _, x := range []headRows{q.x, q.out, r.x, values.x} {
			w.heads(x)
		}
		w.int(k.cache.room*width, values.cache.room*width)
	} else {
		w.int(n, q.x.heads, r.x.heads, q.x.rows, q.x.size, q.pairs, q.table, k.kept)
		w.heads(q.x)
		w.heads(q.out)
		w.heads(r.x)
		w.int(k.start, k.cache.room*k.x.size)
		w.heads(values.x)
		w.int(values.start, values.cache.room*values.x.size)
	}
	list := t.list()
	v.replace(list[len(list)-1], &kernel{
		module: m, constants: append(slices.Clone(from.constants), uint32(kit.Btoi(k.lengths.Place != device.None))),
		groups: v.acc.dev.flatGroups((n + groupSize - 1) / groupSize),
	}, w, t.operands())
	for _, i := range list[:len(list)-1] {
		v.commands[i].drop(list[len(list)-1])
	}
	return nil
}
