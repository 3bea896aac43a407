package vulkan

import (
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// mostVarying is the most bytes of a constant that each run copies to the device.
const mostVarying = 4096

// constants is the numbers that steps bring with them, in the device's memory. Varying ones come
// first: the runs of a segment copy them from staging memory. The others are copied once.
type constants struct {
	memory  *Memory
	varying lined
	fixed   lined
	at      [][]place // by command and operand
	keys    []int     // offsets of keys among the varying constants
	staged  int       // offset of the varying constants in staging memory
}

// place is the place of a constant.
type place struct {
	isVarying bool
	at        int // among the varying or the fixed ones
}

// lined is constants side by side, each at a multiple of align.
type lined struct {
	data  []byte
	seen  map[string]int // offsets of constants that are shared
	users map[int]int    // by offset
}

// add appends a constant and returns its offset. Shared constants are stored once.
func (p *lined) add(data []byte, shared bool) int {
	if at, ok := p.seen[string(data)]; ok && shared {
		p.users[at]++
		return at
	}
	at := len(p.data)
	p.data = append(p.data, data...)
	p.data = append(p.data, make([]byte, alignUp(len(data))-len(data))...)
	if shared {
		if p.seen == nil {
			p.seen, p.users = map[string]int{}, map[int]int{}
		}
		p.seen[string(data)], p.users[at] = at, 1
	}
	return at
}

// placeConstants finds places for the constants and the faults of all commands, and copies the
// fixed constants to the device.
func (s *segment) placeConstants() error {
	old := s.constants
	c := constants{memory: old.memory, at: make([][]place, len(s.commands))}
	s.faults.list = nil
	for i := range s.commands {
		list := s.commands[i].recorded.Operands
		c.at[i] = make([]place, len(list))
		for k := range list {
			if o := &list[k]; o.Place == device.Const {
				c.at[i][k] = s.placeConstant(&c, i, k)
			}
		}
	}
	s.constants = c
	if err := s.makeFaults(); err != nil {
		return err
	}
	varying, fixed := len(c.varying.data), len(c.fixed.data)
	if varying+fixed == 0 {
		return nil
	}
	isNew := c.memory == nil || c.memory.bytes < varying+fixed
	if isNew {
		if c.memory != nil {
			c.memory.Free()
		}
		var err error
		if s.constants.memory, err = s.acc.dev.pool.alloc(varying + fixed); err != nil {
			return err
		}
	}
	if fixed == 0 || !isNew && varying == len(old.varying.data) && slices.Equal(c.fixed.data, old.fixed.data) {
		return nil
	}
	return s.constants.memory.Write(varying, c.fixed.data)
}

// placeConstant finds the place of the constant that is operand k of command i.
func (s *segment) placeConstant(c *constants, i, k int) place {
	x := &s.commands[i]
	o := &x.recorded.Operands[k]
	shared := len(o.Data) <= mostVarying && !x.writes(k)
	switch {
	case o.Index == faultIndex:
		s.faults.list = append(s.faults.list, fault{i, string(o.Data)})
		return place{at: len(s.faults.list) - 1}
	case o.Index == drawIndex:
		at := c.varying.add(o.Data, false)
		c.keys = append(c.keys, at)
		return place{true, at}
	case shared && len(s.symbols[x.owner]) > 0:
		return place{true, c.varying.add(o.Data, true)}
	}
	return place{false, c.fixed.add(o.Data, shared)}
}

// operand returns operand k of command i, n bytes.
func (c *constants) operand(i, k, n int) vk.Operand {
	at := c.at[i][k].at
	if !c.at[i][k].isVarying {
		at += len(c.varying.data)
	}
	return c.memory.operand(at, wholeWords(n))
}

// copyConstants records the copy of the varying constants.
func (s *segment) copyConstants(r *vk.Recorder) {
	if n := len(s.constants.varying.data); n > 0 {
		o := s.constants.memory.operand(0, n)
		r.Copy(o.Buffer, o.Offset, s.staging, s.constants.staged, n)
		r.Barrier()
	}
}

// patch makes the recorded commands fit other lengths by changing varying constants. It reports
// false if the commands must be recorded again.
func (s *segment) patch(now map[string]int, length func(symbol string) (int, bool)) bool {
	p := patch{segment: s, data: map[int][]byte{}, users: map[int]int{}}
	for i := range s.given {
		if !s.changes(i, now) {
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

// patch is the varying constants of the commands that lengths change.
type patch struct {
	*segment
	data  map[int][]byte // by offset
	users map[int]int    // commands that want data there
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

// wants notes that operand o takes the place of operand was.
func (p *patch) wants(at place, was, o *device.Operand) bool {
	switch {
	case was.Place != device.Const || was.Index != o.Index:
		return false
	case o.Index == drawIndex:
		return true
	case o.Index == faultIndex || !at.isVarying:
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
	return true
}
