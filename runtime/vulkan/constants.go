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
			if o := &list[k]; o.Place == device.Const && !isPrepared(o) {
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
		s.faults.list = append(s.faults.list, fault{i, x.owner, string(o.Data)})
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
