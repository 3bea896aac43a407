package vulkan

import (
	"fmt"
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// The planner reuses memory, so that commands wait for readers of values that have nothing to do
// with them. Small values get memory of their own instead: at most mostMoved bytes each, and
// mostMovedAll in a segment. Large values stay, because the reused memory is in the device's cache.
const (
	mostMoved    = 64 << 10
	mostMovedAll = 16 << 20
)

// version is a value that a command writes to the frame's memory.
type version struct {
	planned vk.Operand
	step    int  // the last step of the plan that writes it
	writers int  // commands
	isTemp  bool // it is scratch of its step
	stays   bool
	moved   int      // offset in the memory of moved values
	same    *version // an equal value of an earlier command; nil for none
}

// root returns the version that has the value.
func (v *version) root() *version {
	for v.same != nil {
		v = v.same
	}
	return v
}

// versions finds the version that each operand refers to.
type versions struct {
	*segment
	list []*version
	of   [][]*version // by command and operand; nil for memory outside the frame's
}

// rename finds the versions of all values, drops commands that compute a value again, merges commands,
// and moves small values to memory of their own.
func (s *segment) rename() error {
	v := &versions{segment: s, of: make([][]*version, len(s.commands))}
	for i := range s.commands {
		v.add(i)
	}
	v.settle()
	v.share()
	if err := v.merge(); err != nil {
		return err
	}
	return v.move()
}

// isPrivate reports whether an operand is in the frame's memory.
func (s *segment) isPrivate(o vk.Operand) bool {
	return s.memory != nil && o.Buffer != nil && overlaps(o, s.memory.operand(0, s.memory.bytes))
}

// add finds the versions that command i reads and writes.
func (v *versions) add(i int) {
	c := &v.commands[i]
	v.of[i] = make([]*version, len(c.planned))
	if c.isGone {
		return
	}
	for k, o := range c.planned {
		if !c.writes(k) && v.isPrivate(o) {
			v.of[i][k] = v.read(o)
		}
	}
	if c.kernel != nil && c.kernel.same && c.planned[0] == c.planned[1] {
		// The value already is where its copy goes. Later commands of the step change it.
		c.isGone = true
		if x := v.of[i][0]; x != nil && x.planned == c.planned[0] {
			x.step = c.recorded.Step
		} else {
			v.keep(c.planned[0])
		}
		return
	}
	for k, o := range c.planned {
		if c.writes(k) && v.isPrivate(o) {
			v.of[i][k] = v.write(c, k)
		}
	}
}

// read returns the version that contains what a command reads; nil for bytes that no command of the
// segment writes, or several.
func (v *versions) read(o vk.Operand) *version {
	for _, x := range slices.Backward(v.list) {
		if !overlaps(x.planned, o) {
			continue
		}
		if contains(x.planned, o) {
			return x
		}
		v.keep(o)
		return nil
	}
	return nil
}

// keep leaves all versions that overlap an operand in the frame's memory.
func (v *versions) keep(o vk.Operand) {
	for _, x := range v.list {
		x.stays = x.stays || overlaps(x.planned, o)
	}
}

// write returns the version that operand k of a command is. The commands of a step may write one
// value in turn.
func (v *versions) write(c *command, k int) *version {
	o := c.extent(k)
	x := &version{planned: o, step: c.recorded.Step, writers: 1, isTemp: c.recorded.Operands[k].Place == device.Temp}
	for _, y := range slices.Backward(v.list) {
		if y.step != c.recorded.Step || !overlaps(y.planned, o) {
			continue
		}
		if y.planned == o {
			y.writers++
			return y
		}
		x.stays, y.stays = true, true
	}
	v.list = append(v.list, x)
	return x
}

// extent returns operand k with all bytes of its value. A copy may move fewer.
func (c *command) extent(k int) vk.Operand {
	o := c.planned[k]
	if c.copy != nil {
		o.Bytes = max(o.Bytes, wholeWords(c.recorded.Bytes[1]))
	}
	return o
}

// settle decides which versions stay in the frame's memory: large ones, and the last ones there,
// which commands of other segments may read.
func (v *versions) settle() {
	var later covered
	total := 0
	for _, x := range slices.Backward(v.list) {
		from, to := x.planned.Offset, x.planned.Offset+x.planned.Bytes
		if !x.isTemp && !later.has(from, to) || x.planned.Bytes > mostMoved {
			x.stays = true
		}
		later.add(from, to)
		if !x.stays {
			x.moved = total
			total += alignUp(x.planned.Bytes)
		}
	}
	if total > mostMovedAll {
		for _, x := range v.list {
			x.stays = true
		}
	}
}

// share drops commands that compute what an earlier command computed from the same values.
func (v *versions) share() {
	first := map[string]int{}
	for i := range v.commands {
		c := &v.commands[i]
		key, ok := v.key(i)
		if !ok {
			continue
		}
		at, found := first[key]
		if !found {
			first[key] = i
			continue
		}
		c.drop(at)
		for k := range c.planned {
			if x := v.of[i][k]; x != nil && c.writes(k) {
				x.same = v.of[at][k].root()
			}
		}
	}
}

// key identifies the results of command i. It reports false if the command has other effects than
// to write values that move, or reads memory that changes.
func (v *versions) key(i int) (string, bool) {
	c := &v.commands[i]
	if c.isGone || c.kernel == nil {
		return "", false
	}
	key := fmt.Appendf(nil, "%s %v %v", c.kernel.key(), c.kernel.groups, c.push)
	for k, o := range c.planned {
		p, x := &c.recorded.Operands[k], v.of[i][k]
		isFault := p.Place == device.Const && p.Index == faultIndex
		isConstant := !c.writes(k) && (p.Place == device.Const || len(p.Data) > 0)
		switch {
		case o.Buffer == nil:
			key = append(key, " none"...)
		case isFault: // equal commands find equal faults
		case x != nil && x.writers == 1 && c.writes(k) && !x.stays:
			key = fmt.Appendf(key, " to %d", o.Bytes)
		case x != nil && x.writers == 1 && !c.writes(k):
			key = fmt.Appendf(key, " %p+%d:%d", x.root(), o.Offset-x.planned.Offset, o.Bytes)
		case isConstant:
			key = fmt.Appendf(key, " %p+%d:%d", o.Buffer, o.Offset, o.Bytes)
		default:
			return "", false
		}
	}
	return string(key), true
}

// move finds the operands of all commands.
func (v *versions) move() error {
	total := 0
	for _, x := range v.list {
		if !x.stays {
			total = max(total, x.moved+alignUp(x.planned.Bytes))
		}
	}
	if total > 0 && (v.moved == nil || v.moved.bytes < total) {
		if v.moved != nil {
			v.moved.Free()
			v.moved = nil
		}
		var err error
		if v.moved, err = v.acc.dev.pool.alloc(total); err != nil {
			return err
		}
	}
	for i := range v.commands {
		c := &v.commands[i]
		c.operands = slices.Clone(c.planned)
		for k, x := range v.of[i] {
			if x != nil && !x.stays {
				o := &c.operands[k]
				*o = v.moved.operand(x.root().moved+o.Offset-x.planned.Offset, o.Bytes)
			}
		}
	}
	return nil
}

// covered is ranges of bytes, in order, none touching the next.
type covered [][2]int

// has reports whether all bytes of a range are covered.
func (c covered) has(from, to int) bool {
	return slices.ContainsFunc(c, func(r [2]int) bool { return r[0] <= from && to <= r[1] })
}

// add covers a range.
func (c *covered) add(from, to int) {
	list := (*c)[:0:0]
	for _, r := range *c {
		if r[1] < from || to < r[0] {
			list = append(list, r)
			continue
		}
		from, to = min(from, r[0]), max(to, r[1])
	}
	at, _ := slices.BinarySearchFunc(list, from, func(r [2]int, from int) int { return r[0] - from })
	*c = slices.Insert(list, at, [2]int{from, to})
}
