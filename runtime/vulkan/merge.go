package vulkan

import (
	"math"
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/shaders"
)

// merge replaces commands by one that does the work of all, so that there are fewer dispatches and
// barriers. Binders note the work of the commands that it knows, in kernel.does.
func (v *versions) merge() error {
	u := v.uses()
	for i := range v.commands {
		if list := v.products(u, i); list != nil {
			if err := v.normalise(i, list); err != nil {
				return err
			}
		}
		if t := v.turning(u, i); t != nil {
			if err := v.turn(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// uses is the commands that use values, by version.
type uses struct {
	writer  map[*version]int // of versions with one writer
	readers map[*version][]int
}

func (v *versions) uses() *uses {
	u := &uses{map[*version]int{}, map[*version][]int{}}
	for i := range v.commands {
		if v.commands[i].isGone {
			continue
		}
		for k, x := range v.of[i] {
			switch {
			case x == nil:
			case !v.commands[i].writes(k):
				u.readers[x.root()] = append(u.readers[x.root()], i)
			case x.writers == 1:
				u.writer[x] = i
			}
		}
	}
	return u
}

// work returns the noted work of a command. It reports false if it is not a T.
func work[T any](v *versions, i int) (w T, ok bool) {
	if i >= len(v.commands) || v.commands[i].isGone || v.commands[i].kernel == nil {
		return w, false
	}
	w, ok = v.commands[i].kernel.does.(T)
	return w, ok
}

// from returns the command that wrote operand k of command i, if i alone reads all that it wrote.
func (v *versions) from(u *uses, i, k int) (writer int, ok bool) {
	x := v.of[i][k]
	if x == nil || v.commands[i].planned[k].Offset != x.planned.Offset || !slices.Equal(u.readers[x.root()], []int{i}) {
		return 0, false
	}
	writer, ok = u.writer[x.root()]
	return writer, ok
}

// isSame reports whether operands k of commands i and j are the same memory with the same value.
func (v *versions) isSame(i, j, k int) bool {
	x, y := v.of[i][k], v.of[j][k]
	o, p := v.commands[i].planned[k], v.commands[j].planned[k]
	if x == nil || y == nil {
		return x == y && o == p
	}
	return x.root() == y.root() && o.Offset-x.planned.Offset == p.Offset-y.planned.Offset && o.Bytes == p.Bytes
}

// site is operand k of command i.
type site struct{ i, k int }

// operands lists the indices of the operands of command i.
func (v *versions) operands(i int) (list []int) {
	for k := range v.commands[i].planned {
		list = append(list, k)
	}
	return list
}

// conflicts reports whether one of two operands is written and the other one is in its memory.
func (v *versions) conflicts(a, b site) bool {
	c, d := &v.commands[a.i], &v.commands[b.i]
	if c.planned[a.k].Buffer == nil || d.planned[b.k].Buffer == nil || !c.writes(a.k) && !d.writes(b.k) {
		return false
	}
	x, y := v.of[a.i][a.k], v.of[b.i][b.k]
	xMoves, yMoves := x != nil && !x.stays, y != nil && !y.stays
	if xMoves || yMoves {
		return xMoves && yMoves && x.root() == y.root()
	}
	return overlaps(c.planned[a.k], d.planned[b.k])
}

// delays reports whether command i may have its effect on some operands when a later command runs.
// Commands of without do not count.
func (v *versions) delays(i int, operands []int, later int, without []int) bool {
	for m := i + 1; m < later; m++ {
		if v.commands[m].isGone || slices.Contains(without, m) {
			continue
		}
		for _, k := range operands {
			for l := range v.commands[m].planned {
				if v.conflicts(site{i, k}, site{m, l}) {
					return false
				}
			}
		}
	}
	return true
}

// turning is the commands that attention/turn replaces: the rotations of queries and keys, and those
// that append keys and values.
type turning struct {
	queries, keys, appendKeys, appendValues int
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
	if !k.isPlain() || !values.isPlain() || k.kept != values.kept || k.x.extents() != values.x.extents() ||
		k.x.extents() != r.out.extents() || k.x.steps() != r.out.steps() || !v.isSame(t.appendKeys, t.appendValues, 3) {
		return nil
	}
	list := t.list()
	for _, j := range list {
		if !v.delays(j, v.operands(j), list[len(list)-1], list) {
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
	m, err := shaders.Find("attention/turn", from.Variant())
	if err != nil {
		return err
	}
	if m.Kernel.Operands > v.acc.dev.info.Caps.MaxBuffers {
		return nil
	}
	n := q.x.len() + r.x.len() + values.x.len()
	var w words
	w.int(n, q.x.heads, r.x.heads, q.x.rows, q.x.size, q.pairs, q.table, k.kept)
	w.heads(q.x)
	w.heads(q.out)
	w.heads(r.x)
	w.int(k.start, k.cache.room*k.x.size)
	w.heads(values.x)
	w.int(values.start, values.cache.room*values.x.size)
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

// normsAlone has the types of devices with commands of their own for norms. For a device in software,
// a barrier costs less than the norm of a row in each workgroup of a product.
var normsAlone = map[string]bool{"cpu": true}

// products lists the products that alone read the row that command i normalises, if they can do that;
// nil for none.
func (v *versions) products(u *uses, i int) []int {
	r, ok := work[*rows](v, i)
	if !ok || normsAlone[v.acc.dev.info.Type] || r.rows != 1 || r.centred || v.commands[i].kernel.Variant() != "f32" ||
		r.scale.Place == device.None {
		return nil
	}
	for _, o := range []device.Operand{r.bias, r.shift, r.mean, r.inverse} {
		if o.Place != device.None {
			return nil
		}
	}
	y := v.of[i][5]
	if y == nil || y.stays || y.writers != 1 || y.same != nil {
		return nil
	}
	list := u.readers[y]
	for n, j := range list {
		p, ok := work[*unitProduct](v, j)
		if !ok || p.rows != 1 || v.commands[j].kernel.Variant() != "f32" || n > 0 && list[n-1] == j ||
			v.of[j][0] != y || v.commands[j].planned[0].Offset != y.planned.Offset {
			return nil
		}
		moved := []int{0, 1, 3} // the row, what is added, and the weights
		if n == 0 {
			moved = append(moved, 8) // the sum
		}
		if !v.delays(i, moved, j, nil) {
			return nil
		}
		for k := range v.commands[j].planned {
			for _, from := range moved {
				if v.conflicts(site{j, k}, site{i, from}) {
					return nil
				}
			}
		}
	}
	return list
}

// normalise makes products normalise the row themselves, as command i does. The first of them stores
// the sum.
func (v *versions) normalise(i int, products []int) error {
	r, _ := work[*rows](v, i)
	kernels := make([]*kernel, len(products))
	for n, j := range products {
		from := v.commands[j].kernel
		m, err := shaders.Find(from.Op(), from.Variant()+"_normed")
		if err != nil {
			return err
		}
		shared, err := m.SharedBytes(from.constants)
		if err != nil || shared > v.acc.dev.info.Caps.MaxShared {
			return err
		}
		own := *from
		own.module, own.does = m, nil
		kernels[n] = &own
	}
	for n, j := range products {
		has, sum := kit.Btoi(r.skipped.Place != device.None), site{i: -1}
		if n == 0 && r.sum.Place != device.None {
			has, sum = has|2, site{i, 8}
		}
		kernels[n].constants = slices.Concat(kernels[n].constants[:len(kernels[n].constants)-2],
			words{uint32(has), math.Float32bits(float32(r.epsilon))})
		operands := []site{{i, 0}}
		for k := 1; k < len(v.commands[j].planned)-3; k++ {
			operands = append(operands, site{j, k})
		}
		v.replace(j, kernels[n], v.commands[j].push, append(operands, site{i, 1}, site{i, 3}, sum))
	}
	v.commands[i].drop(products...)
	return nil
}

// replace makes command i the dispatch of a kernel, with operands of commands; none if their index is
// negative.
func (v *versions) replace(i int, k *kernel, w words, operands []site) {
	to := command{recorded: v.commands[i].recorded, owner: v.commands[i].owner, kernel: k, push: w}
	var of []*version
	for _, o := range operands {
		if o.i < 0 {
			to.planned, of = append(to.planned, vk.Operand{}), append(of, nil)
			continue
		}
		to.planned = append(to.planned, v.commands[o.i].planned[o.k])
		of = append(of, v.of[o.i][o.k])
		if p := &v.commands[o.i].recorded.Operands[o.k]; p.Place == device.Const && p.Index == faultIndex {
			v.faults.list[v.segment.constants.at[o.i][o.k].at].command = i
		}
	}
	v.commands[i], v.of[i] = to, of
}
