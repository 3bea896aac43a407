package vulkan

import (
	"encoding/binary"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// limits are extents that a kernel reads from its last operand, a constant of int32. With a kernel
// that has limits, the commands of a node are the same for all lengths but for that constant, if no
// operand beside those of the limits has lengths in its extents.
type limits struct {
	extents []extent
	outputs []int // further outputs, and inputs, with such lengths
	inputs  []int
}

// extent is the extent of an operand of a node along an axis.
type extent struct {
	isOut         bool
	operand, axis int
}

// value returns the operand.
func (e extent) value(b *device.Binding) *op.Value {
	if e.isOut {
		return b.Out[e.operand]
	}
	return b.In[e.operand]
}

// limited returns the command among those of a node with lengths that has limits; -1 for none.
func (k *sized) limited(list []command) int {
	at := slices.IndexFunc(list, func(c command) bool {
		x, ok := c.recorded.Kernel.(*kernel)
		return ok && x.limits != nil
	})
	if at < 0 {
		return -1
	}
	l := list[at].recorded.Kernel.(*kernel).limits
	for isOut, values := range map[bool][]*op.Value{false: k.binding.In, true: k.binding.Out} {
		for i, v := range values {
			has := v != nil && slices.ContainsFunc(v.Dims, func(d graph.Dim) bool { return len(d.Symbols()) > 0 })
			if has && !l.names(isOut, i) {
				return -1
			}
		}
	}
	return at
}

// names reports whether an output or input belongs to the limits.
func (l *limits) names(isOut bool, i int) bool {
	others := l.inputs
	if isOut {
		others = l.outputs
	}
	return slices.Contains(others, i) ||
		slices.ContainsFunc(l.extents, func(e extent) bool { return e.isOut == isOut && e.operand == i })
}

// data returns the constant for lengths.
func (l *limits) data(b *device.Binding, length func(symbol string) (int, bool)) (data []byte, ok bool) {
	for _, e := range l.extents {
		n, known := e.value(b).Dims[e.axis].Eval(length)
		if !known {
			return nil, false
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	return data, true
}

// patch makes the recorded commands fit other lengths by changing varying constants. It reports
// false if the commands must be recorded again.
func (s *segment) patch(now map[string]int, length func(symbol string) (int, bool)) bool {
	p := patch{segment: s, data: map[int][]byte{}, users: map[int]int{}, messages: map[int]string{}}
	for i := range s.given {
		if !s.changes(i, now) {
			continue
		}
		if at := s.limited[i]; at >= 0 {
			if !p.limit(i, at, length) {
				return false
			}
			continue
		}
		list, err := s.commandsOf(i, length)
		if err != nil || len(list) != s.first[i+1]-s.first[i] {
			return false
		}
		for k := range list {
			if !p.fits(s.first[i]+k, &list[k], length) {
				return false
			}
		}
	}
	return p.apply()
}

// changes reports whether a length that a given command depends on has changed.
func (s *segment) changes(given int, now map[string]int) bool {
	for _, symbol := range s.symbols[given] {
		if s.lengths[symbol] != now[symbol] {
			return true
		}
	}
	return false
}

// patch is the varying constants of the commands that lengths change, and the messages of their
// faults.
type patch struct {
	*segment
	data     map[int][]byte // by offset
	users    map[int]int    // commands that want data there
	messages map[int]string // by fault
}

// fits notes the varying constants of r, the form of command i for other lengths. It reports whether
// all else is as recorded.
func (p *patch) fits(i int, r *device.Recorded, length func(symbol string) (int, bool)) bool {
	c := &p.commands[i]
	if c.copy != nil {
		t, err := p.transfer(r, length)
		return err == nil && t.bytes == c.copy.bytes && t.offset == c.copy.offset
	}
	k, ok := r.Kernel.(*kernel)
	if !ok || k.module != c.kernel.module || k.groups != c.kernel.groups || !slices.Equal(k.constants, c.kernel.constants) ||
		!slices.Equal(pushOf(r), c.push) || len(r.Operands) != len(c.planned) {
		return false
	}
	for n := range r.Operands {
		o := &r.Operands[n]
		if o.Place == device.Const {
			if !p.wants(p.constants.at[i][n], &c.recorded.Operands[n], o) {
				return false
			}
			continue
		}
		if now, err := p.operand(r, i, n); err != nil || now != c.planned[n] {
			return false
		}
	}
	return true
}

// limit notes the constant of command at, the one with limits of a given command.
func (p *patch) limit(given, at int, length func(symbol string) (int, bool)) bool {
	c := &p.commands[at]
	last := len(c.recorded.Operands) - 1
	was := &c.recorded.Operands[last]
	data, ok := c.kernel.limits.data(p.given[given].Kernel.(*sized).binding, length)
	return ok && p.wants(p.constants.at[at][last], was, &device.Operand{Place: was.Place, Index: was.Index, Data: data})
}

// wants notes that operand o takes the place of operand was.
func (p *patch) wants(at place, was, o *device.Operand) bool {
	switch {
	case was.Place != device.Const || was.Index != o.Index:
		return false
	case o.Index == drawIndex || isPrepared(o):
		return true
	case o.Index == faultIndex:
		p.messages[at.at] = string(o.Data)
		return true
	case !at.isVarying:
		return slices.Equal(was.Data, o.Data)
	case len(was.Data) != len(o.Data) || p.data[at.at] != nil && !slices.Equal(p.data[at.at], o.Data):
		return false
	}
	p.data[at.at] = o.Data
	p.users[at.at]++
	return true
}

// apply writes the constants to staging memory. It reports false if other commands need one of them
// as it is.
func (p *patch) apply() bool {
	staged := p.constants.staged
	for at, data := range p.data {
		if !slices.Equal(p.staging.Host()[staged+at:][:len(data)], data) && p.users[at] != p.constants.varying.users[at] {
			return false
		}
	}
	for at, data := range p.data {
		copy(p.staging.Host()[staged+at:], data)
	}
	for i, message := range p.messages {
		p.faults.list[i].message = message
	}
	return true
}
