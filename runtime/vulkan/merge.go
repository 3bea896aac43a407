package vulkan

import (
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// merges are the ways to replace commands by one that does the work of all, in the order of their use.
// Each looks at what begins or ends at a command. Binders note the work of the commands that they know,
// in kernel.does.
var merges = []func(v *versions, u *uses, i int) error{
	(*versions).mergeRows, (*versions).mergeNorm, (*versions).mergeGate, (*versions).mergeTurning,
}

// merge replaces commands, so that there are fewer dispatches and barriers.
func (v *versions) merge() error {
	for _, replace := range merges {
		u := v.uses()
		for i := range v.commands {
			if err := replace(v, u, i); err != nil {
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

// isFree reports whether no command between two others conflicts with operands of command i: whether
// its effect on these may move from one to the other. Commands of without do not count.
func (v *versions) isFree(i int, operands []int, from, to int, without []int) bool {
	for m := from + 1; m < to; m++ {
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
		if n, ok := v.faults.index(v.commands[o.i].planned[o.k]); ok {
			v.faults.list[n].command = i
		}
	}
	v.commands[i], v.of[i] = to, of
}
