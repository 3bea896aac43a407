package text

import (
	"regexp/syntax"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/runtime/op"
)

// machine finds matches of a pattern by following all of its steps together, as package regexp
// does. Its run can be stopped. It finds the leftmost match, and the longest of these.
type machine struct {
	prog        *syntax.Prog
	pace        *op.Pace
	now, next   threads
	place       int      // counts positions, in all strings
	todo        []uint32 // steps to follow
	anchored    bool     // matches must start at the first position
	start, stop int      // the match; start is -1 if there is none
}

// threads is a list of steps that wait for a character, with the starts of their matches.
type threads struct {
	steps  []uint32
	starts []int
	seen   []int // by step: the last position at which it was listed
}

// newMachine returns a machine for a compiled pattern.
func newMachine(prog *syntax.Prog, pace *op.Pace) *machine {
	m := &machine{prog: prog, pace: pace}
	for _, t := range []*threads{&m.now, &m.next} {
		t.seen = make([]int, len(prog.Inst))
	}
	return m
}

// find looks for a match in s that starts at from or later. If the machine is anchored, the match
// must start at from.
func (m *machine) find(s string, from int) (start, stop int, ok bool) {
	m.start, m.stop = -1, -1
	m.place++
	m.now.steps, m.now.starts = m.now.steps[:0], m.now.starts[:0]
	before := rune(-1)
	if from > 0 {
		before, _ = utf8.DecodeLastRuneInString(s[:from])
	}
	for at := from; ; {
		r, size := rune(-1), 0
		if at < len(s) {
			r, size = utf8.DecodeRuneInString(s[at:])
		}
		around := syntax.EmptyOpContext(before, r)
		if m.start < 0 && (at == from || !m.anchored) {
			m.follow(&m.now, uint32(m.prog.Start), at, at, around)
		}
		if size == 0 || len(m.now.steps) == 0 && (m.start >= 0 || m.anchored) {
			break
		}
		m.pace.Work(16 + 8*len(m.now.steps))
		m.place++
		m.next.steps, m.next.starts = m.next.steps[:0], m.next.starts[:0]
		after := rune(-1)
		if at+size < len(s) {
			after, _ = utf8.DecodeRuneInString(s[at+size:])
		}
		around = syntax.EmptyOpContext(r, after)
		for i, pc := range m.now.steps {
			if m.start >= 0 && m.now.starts[i] > m.start {
				break
			}
			if inst := &m.prog.Inst[pc]; takes(inst, r) {
				m.follow(&m.next, inst.Out, m.now.starts[i], at+size, around)
			}
		}
		m.now, m.next = m.next, m.now
		before, at = r, at+size
	}
	return m.start, m.stop, m.start >= 0
}

// each yields the matches that do not overlap, as FindAllStringIndex of package regexp lists them.
func (m *machine) each(s string, yield func(start, stop int)) {
	last := -1 // the end of the previous match
	for from := 0; from <= len(s); {
		start, stop, ok := m.find(s, from)
		if !ok {
			return
		}
		again := stop == from && start == last // an empty match directly after another
		switch last = stop; {
		case stop > from:
			from = stop
		case from == len(s):
			from++
		default:
			_, size := utf8.DecodeRuneInString(s[from:])
			from += size
		}
		if !again {
			yield(start, stop)
		}
	}
}

// follow lists the steps that step pc leads to at a position. It records a match that ends there.
func (m *machine) follow(t *threads, pc uint32, start, at int, around syntax.EmptyOp) {
	m.todo = append(m.todo[:0], pc)
	for len(m.todo) > 0 {
		pc := m.todo[len(m.todo)-1]
		m.todo = m.todo[:len(m.todo)-1]
		if t.seen[pc] == m.place {
			continue
		}
		t.seen[pc] = m.place
		m.pace.Work(8)
		switch inst := &m.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			m.todo = append(m.todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			m.todo = append(m.todo, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^around == 0 {
				m.todo = append(m.todo, inst.Out)
			}
		case syntax.InstMatch:
			if m.start < 0 || start < m.start || start == m.start && at > m.stop {
				m.start, m.stop = start, at
			}
		case syntax.InstFail:
		default:
			t.steps, t.starts = append(t.steps, pc), append(t.starts, start)
		}
	}
}
