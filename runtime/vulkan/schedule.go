package vulkan

import (
	"slices"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

func overlaps(x, y vk.Operand) bool {
	return x.Buffer == y.Buffer && x.Offset < y.Offset+y.Bytes && y.Offset < x.Offset+x.Bytes
}

// contains reports whether all bytes of inner are in outer.
func contains(outer, inner vk.Operand) bool {
	return inner.Buffer == outer.Buffer && inner.Offset >= outer.Offset &&
		inner.Offset+inner.Bytes <= outer.Offset+outer.Bytes
}

// schedule finds the operands of all commands and puts the commands in order: by level, so that
// there are barriers between levels alone.
func (s *segment) schedule() error {
	if err := s.rename(); err != nil {
		return err
	}
	t := timelines{}
	s.order, s.levels = make([]int, len(s.commands)), make([]int, len(s.commands))
	for i := range s.commands {
		s.order[i] = i
		if !s.commands[i].isGone {
			s.levels[i] = t.level(&s.commands[i])
		}
	}
	s.order = slices.DeleteFunc(s.order, func(i int) bool { return s.commands[i].isGone })
	slices.SortStableFunc(s.order, func(i, j int) int { return s.levels[i] - s.levels[j] })
	s.joinUploads()
	barriers := 0
	for n := 1; n < len(s.order); n++ {
		barriers += kit.Btoi(s.levels[s.order[n]] != s.levels[s.order[n-1]])
	}
	s.acc.dev.commands.Store(int64(len(s.order)))
	s.acc.dev.barriers.Store(int64(barriers))
	return nil
}

// joinUploads makes the first upload of each level to a buffer copy all of them.
func (s *segment) joinUploads() {
	type place struct {
		buffer *vk.Buffer
		level  int
	}
	first := map[place]*command{}
	s.order = slices.DeleteFunc(s.order, func(i int) bool {
		c := &s.commands[i]
		if c.copy == nil || !c.copy.up {
			return false
		}
		p := place{c.operands[0].Buffer, s.levels[i]}
		if first[p] == nil {
			first[p] = c
			return false
		}
		first[p].with = append(first[p].with, i)
		return true
	})
}

// timelines has the levels of the last reads and writes of memory, by buffer.
type timelines map[*vk.Buffer][]span

// span is bytes with equal levels. Spans of a buffer are in order and do not overlap.
type span struct{ from, to, read, written int }

// level returns the level of a command, the first after all that it waits for, and notes its reads
// and writes. Levels start at 1.
func (t timelines) level(c *command) int {
	level := 1
	for k, o := range c.operands {
		if o.Buffer == nil {
			continue
		}
		for _, s := range t.cut(o) {
			level = max(level, s.written+1)
			if c.writes(k) {
				level = max(level, s.read+1)
			}
		}
	}
	for k, o := range c.operands {
		if o.Buffer == nil {
			continue
		}
		list := t.cut(o)
		for i := range list {
			if c.writes(k) {
				list[i].written = level
			} else {
				list[i].read = max(list[i].read, level)
			}
		}
	}
	return level
}

// cut returns the spans of an operand's bytes. It makes spans without reads and writes where there
// are none, and divides spans that the operand begins or ends in.
func (t timelines) cut(o vk.Operand) []span {
	list, from, to := t[o.Buffer], o.Offset, o.Offset+o.Bytes
	first, _ := slices.BinarySearchFunc(list, from, func(s span, from int) int {
		if s.to <= from {
			return -1
		}
		return 1
	})
	var parts []span
	last := first
	at := from
	for ; last < len(list) && list[last].from < to; last++ {
		s := list[last]
		if s.from < from {
			parts = append(parts, span{s.from, from, s.read, s.written})
			s.from = from
		}
		if at < s.from {
			parts = append(parts, span{at, s.from, 0, 0})
		}
		end := min(s.to, to)
		parts = append(parts, span{s.from, end, s.read, s.written})
		if s.to > to {
			parts = append(parts, span{to, s.to, s.read, s.written})
		}
		at = end
	}
	if at < to {
		parts = append(parts, span{at, to, 0, 0})
	}
	list = slices.Replace(list, first, last, parts...)
	t[o.Buffer] = list
	begin := first
	for list[begin].to <= from {
		begin++
	}
	end := begin
	for end < len(list) && list[end].from < to {
		end++
	}
	return list[begin:end]
}
