package vulkan

import (
	"fmt"
	"unsafe"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// prepare finds the operands of all commands and makes staging memory.
func (s *segment) prepare(length func(symbol string) (int, bool)) error {
	for i := range s.commands {
		c := &s.commands[i]
		if k, ok := c.recorded.Kernel.(*kernel); ok {
			c.kernel, c.push = k, pushOf(c.recorded)
		}
	}
	if err := s.placeConstants(); err != nil {
		return err
	}
	if err := s.acc.weights.hold(s.weights()); err != nil {
		return err
	}
	staged := 0
	for i := range s.commands {
		c := &s.commands[i]
		if c.kernel == nil {
			t, err := s.transfer(c.recorded, length)
			if err != nil {
				return err
			}
			t.staging, c.copy = staged, &t
			staged += alignUp(t.bytes)
			c.planned = []vk.Operand{s.memory.operand(deviceAt(c.recorded, t.up), t.bytes)}
			c.isGone = t.bytes == 0
			continue
		}
		for k := range c.recorded.Operands {
			o, err := s.operand(c.recorded, i, k)
			if err != nil {
				return err
			}
			c.planned = append(c.planned, o)
		}
	}
	s.faults.staged = staged
	s.constants.staged = staged + alignUp(s.faults.bytes())
	staged = s.constants.staged + len(s.constants.varying.data)
	if staged == 0 {
		return nil
	}
	if s.staging == nil || s.staging.Bytes() < staged {
		s.freeStaging()
		var err error
		if s.staging, err = s.acc.dev.dev.NewBuffer(staged, vk.Staging); err != nil {
			return err
		}
	}
	copy(s.staging.Host()[s.constants.staged:], s.constants.varying.data)
	return nil
}

// pushOf returns the push constants of a dispatch.
func pushOf(r *device.Recorded) []uint32 {
	list := make([]uint32, len(r.Words))
	for i, w := range r.Words {
		n, _ := w.Value()
		list[i] = uint32(n)
	}
	return list
}

// weights lists the constants of the model that the commands read, in groups for merge: those of a
// command, and of commands behind each other with the same first operand.
func (s *segment) weights() (groups [][][]byte) {
	type place struct{ base, at int }
	var last place
	for i := range s.commands {
		r := s.commands[i].recorded
		var list [][]byte
		for _, o := range r.Operands {
			if o.Place != device.Const && len(o.Data) > 0 {
				list = append(list, o.Data)
			}
		}
		if len(list) == 0 {
			continue
		}
		var first place
		if at, ok := r.Offsets[0].Value(); ok && len(r.Operands[0].Data) == 0 {
			first = place{r.Bases[0], at}
		}
		if first != (place{}) && first == last {
			n := len(groups) - 1
			groups[n] = append(groups[n], list...)
		} else {
			groups = append(groups, list)
		}
		last = first
	}
	return groups
}

// transfer returns the copy of an upload or a download. The command's operands are the value and
// its copy.
func (s *segment) transfer(r *device.Recorded, length func(symbol string) (int, bool)) (transfer, error) {
	up, host := r.Kernel == upload, 0
	if !up {
		host = 1
	}
	at, _ := r.Offsets[host].Value()
	n, ok := r.Words[0].Eval(length)
	if !ok || n > r.Bytes[1-host] {
		return transfer{}, fmt.Errorf("%v bytes of a copy are %d, and its memory has %d", r.Words[0], n, r.Bytes[1-host])
	}
	from := s.hosts[r.Bases[host]]
	if data := r.Operands[host].Data; data != nil {
		from = unsafe.Pointer(unsafe.SliceData(data)) // of a constant
	}
	return transfer{base: r.Bases[host], host: from, offset: at, bytes: n, up: up}, nil
}

// deviceAt returns the offset of a transfer's device side in the frame's memory.
func deviceAt(r *device.Recorded, up bool) int {
	side := 1
	if !up {
		side = 0
	}
	at, _ := r.Offsets[side].Value()
	return at
}

// operand returns operand k of a dispatch, command i.
func (s *segment) operand(r *device.Recorded, i, k int) (vk.Operand, error) {
	o := &r.Operands[k]
	at, ok := r.Offsets[k].Value()
	if !ok {
		return vk.Operand{}, fmt.Errorf("offset %v of an operand of %s is not known", r.Offsets[k], r.Kernel.Op())
	}
	switch {
	case o.Place == device.None:
		return vk.Operand{}, nil
	case o.Place == device.Const && o.Index == faultIndex:
		return s.faults.operand(s.constants.at[i][k].at), nil
	case isPrepared(o):
		m, err := s.acc.weights.prepared(o)
		if err != nil {
			return vk.Operand{}, err
		}
		return m.operand(0, wholeWords(o.Bytes)), nil
	case o.Place == device.Const:
		return s.constants.operand(i, k, len(o.Data)), nil
	case len(o.Data) > 0:
		m, err := s.acc.weights.get(o.Data)
		if err != nil {
			return vk.Operand{}, err
		}
		n := len(o.Data) - at
		if o.Bytes > 0 {
			n = o.Bytes
		}
		return m.operand(at, wholeWords(n)), nil
	}
	memory := s.memory
	if r.Bases[k] != device.BaseDevice {
		if memory = s.attached[r.Bases[k]]; memory == nil {
			return vk.Operand{}, fmt.Errorf("operand %d of %s is not in the device's memory", k, r.Kernel.Op())
		}
	}
	n := r.Bytes[k]
	if o.Bytes > 0 {
		n = o.Bytes
	} else if inner, _ := o.Offset.Value(); inner > 0 {
		n -= inner
	}
	n = min(wholeWords(n), memory.bytes-at, s.acc.dev.info.Caps.MaxRange)
	return memory.operand(at, n), nil
}
