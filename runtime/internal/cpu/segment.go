package cpu

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// segment holds commands in memory that C runs in one call.
type segment struct {
	dev    *Device
	code   *bindings.Code
	slots  [][]slot // by base: the places with an address relative to it
	bases  []bindings.Span
	sized  []sized // words and offsets that depend on lengths
	pinned device.Pinner
	copies [][]byte // of constants that commands cannot read in their place
}

// slot is a place in the code that holds the address of a base plus an offset.
type slot struct {
	place  int
	offset int
}

// sized is an expression over lengths: a word, or the offset of slot index of base.
type sized struct {
	expr  graph.Dim
	place int // place of the word; -1 for an offset
	base  int
	index int
}

func (s *segment) add(r device.Recorded) error {
	list := make([]int64, len(r.Words))
	for i, w := range r.Words {
		n, _ := w.Value()
		list[i] = int64(n)
	}
	operand, word := s.code.Append(r.Kernel.(bindings.Kernel), list, len(r.Operands))
	for i, w := range r.Words {
		if !w.IsKnown() {
			s.sized = append(s.sized, sized{expr: w, place: word + i})
		}
	}
	for i, o := range r.Operands {
		base, offset := r.Bases[i], r.Offsets[i]
		at, known := offset.Value()
		if base == 0 {
			if len(o.Data) > 0 {
				data, err := s.constant(o.Data)
				if err != nil {
					return err
				}
				s.code.Point(operand+i, bindings.SpanOf(data), at)
			}
			continue
		}
		if !known {
			s.sized = append(s.sized, sized{offset, -1, base, len(s.of(base))})
		}
		s.slots[base] = append(s.of(base), slot{operand + i, at})
	}
	if r.Scratch.Base > 0 && r.Command.Scratch > 0 {
		s.slots[r.Scratch.Base] = append(s.of(r.Scratch.Base), slot{bindings.ScratchOf(operand), r.Scratch.Offset})
	}
	return nil
}

// constant returns data, or a copy that lasts as long as the segment, as memory that commands can
// read in its place.
func (s *segment) constant(data []byte) ([]byte, error) {
	if bindings.Reaches(data) {
		s.pinned.Pin(unsafe.Pointer(unsafe.SliceData(data)))
		return data, nil
	}
	b, err := allocPack(len(data))
	if err != nil {
		return nil, err
	}
	copy(b, data)
	s.copies = append(s.copies, b)
	return b, nil
}

func (s *segment) of(base int) []slot {
	if base >= len(s.slots) {
		s.slots = slices.Grow(s.slots, base+1-len(s.slots))[:base+1]
		s.bases = slices.Grow(s.bases, base+1-len(s.bases))[:base+1]
	}
	return s.slots[base]
}

// Rebase sets the memory of a base, in all places that hold an address relative to it.
func (s *segment) Rebase(base int, memory []byte) {
	at := bindings.SpanOf(memory)
	if base >= len(s.slots) || s.bases[base] == at {
		return
	}
	s.bases[base] = at
	for _, x := range s.slots[base] {
		s.set(base, x)
	}
}

func (s *segment) set(base int, x slot) { s.code.Point(x.place, s.bases[base], x.offset) }

// Resize evaluates the words and offsets that depend on lengths.
func (s *segment) Resize(length func(symbol string) (int, bool)) error {
	for _, x := range s.sized {
		n, ok := x.expr.Eval(length)
		if !ok {
			return fmt.Errorf("length %v is not known or too large", x.expr)
		}
		if x.place >= 0 {
			s.code.Set(x.place, uint64(n))
			continue
		}
		slot := &s.slots[x.base][x.index]
		slot.offset = n
		s.set(x.base, *slot)
	}
	return nil
}

func foreignFlag(stop op.Flag) error {
	return graph.Errorf(guard.ErrInternal, "a flag of type %T cannot end commands of the CPU", stop)
}

// Run runs the commands on the device's threads. A flag that Device.NewFlag did not make is an
// error, because commands cannot read it.
func (s *segment) Run(stop device.Flag, timed bool) (int, error) {
	flag, ok := stop.(*bindings.Flag)
	if stop != nil && !ok {
		return 0, foreignFlag(stop)
	}
	done, f, failed := s.code.Run(s.dev.pool, s.dev.threads, flag, timed)
	if failed {
		return done, failure(f)
	}
	return done, nil
}

// Times returns when each command of a timed run began, and when the last one ended.
func (s *segment) Times() []int64 { return s.code.Times() }

// Bytes returns the memory of the commands.
func (s *segment) Bytes() int { return s.code.Bytes() }

// Free releases the memory.
func (s *segment) Free() {
	s.code.Free()
	for _, b := range s.copies {
		bindings.Free(b)
	}
	s.copies = nil
	s.pinned.Unpin()
}
