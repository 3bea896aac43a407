package vulkan

import vk "github.com/nacre-ml/nacre/bindings/vulkan"

// hazards is the memory that commands have read and written since the last barrier.
type hazards struct{ reads, writes []vk.Operand }

func (h *hazards) clear() { h.reads, h.writes = h.reads[:0], h.writes[:0] }

// conflicts reports whether command i must wait for the commands before it.
func (h *hazards) conflicts(s *segment, i int) bool {
	reads, writes := s.touches(i)
	return overlap(reads, h.writes) || overlap(writes, h.writes) || overlap(writes, h.reads)
}

// add notes the reads and writes of command i.
func (h *hazards) add(s *segment, i int) {
	reads, writes := s.touches(i)
	h.reads, h.writes = append(h.reads, reads...), append(h.writes, writes...)
}

// touches lists the device memory that command i reads and writes.
func (s *segment) touches(i int) (reads, writes []vk.Operand) {
	if t := &s.copies[i]; t.isCopy {
		if t.bytes == 0 {
			return nil, nil
		}
		o := []vk.Operand{s.memory.operand(s.deviceAt(i), t.bytes)}
		if t.up {
			return nil, o
		}
		return o, nil
	}
	k := s.list[i].Kernel.(*kernel)
	for n, o := range s.operands[i] {
		if o.Buffer == nil {
			continue
		}
		if k.module.Kernel.Writes>>n&1 != 0 {
			writes = append(writes, o)
		} else {
			reads = append(reads, o)
		}
	}
	return reads, writes
}

func overlap(a, b []vk.Operand) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Buffer == y.Buffer && x.Offset < y.Offset+y.Bytes && y.Offset < x.Offset+x.Bytes {
				return true
			}
		}
	}
	return false
}
