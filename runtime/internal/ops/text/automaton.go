package text

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/runtime/op"
)

// automaton is a deterministic automaton that decides whether a pattern matches a whole string. As
// in package regexp, a byte that is not valid UTF-8 counts as U+FFFD.
type automaton struct {
	next    []uint16 // [states, classes]; state 0 rejects, state 1 is the start
	accepts []bool   // by state
	classes int
	ascii   [utf8.RuneSelf]uint16 // classes of characters
	starts  []rune                // first characters of ranges of one class
}

// Bounds on automata: steps of a pattern, and transitions.
const (
	maxAutomatonSteps = 1 << 8
	maxTransitions    = 1 << 14
)

// newAutomaton returns the automaton of a pattern. It returns nil if the automaton would exceed the
// bounds, or if the pattern depends on characters around a position.
func newAutomaton(tree *syntax.Regexp) *automaton {
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil || len(prog.Inst) > maxAutomatonSteps {
		return nil
	}
	starts := []rune{0}
	for _, inst := range prog.Inst {
		switch inst.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
				return nil
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			starts = appendRanges(starts, inst)
		}
	}
	slices.Sort(starts)
	b := &automatonBuilder{prog: prog, seen: make([]int, len(prog.Inst)), known: map[string]uint16{}}
	b.starts = slices.Compact(starts)
	if b.classes = len(b.starts); b.classes > maxTransitions {
		return nil
	}
	for c := range b.ascii {
		b.ascii[c] = b.classOf(rune(c))
	}
	if !b.build() {
		return nil
	}
	return &b.automaton
}

// appendRanges appends the first character of each range that a step takes or refuses as a whole.
func appendRanges(starts []rune, inst syntax.Inst) []rune {
	if len(inst.Rune) != 1 {
		for i := 0; i+1 < len(inst.Rune); i += 2 {
			starts = append(starts, inst.Rune[i], inst.Rune[i+1]+1)
		}
		return starts
	}
	r := inst.Rune[0]
	starts = append(starts, r, r+1)
	if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			starts = append(starts, f, f+1)
		}
	}
	return starts
}

// classOf returns the class of a character.
func (a *automaton) classOf(r rune) uint16 {
	after, _ := slices.BinarySearch(a.starts, r+1)
	return uint16(after - 1)
}

// match reports whether the pattern matches all of s.
func (a *automaton) match(pace *op.Pace, s string) bool {
	state, classes := 1, a.classes
	for i := 0; i < len(s) && state != 0; {
		end := min(i+stretch, len(s))
		pace.Work(8 * (end - i))
		for i < end && state != 0 {
			class := a.ascii[s[i]&(utf8.RuneSelf-1)]
			size := 1
			if s[i] >= utf8.RuneSelf {
				var r rune
				r, size = utf8.DecodeRuneInString(s[i:])
				class = a.classOf(r)
			}
			state = int(a.next[state*classes+int(class)])
			i += size
		}
	}
	return a.accepts[state]
}

// automatonBuilder makes the states of an automaton. A state is a set of steps of the pattern.
type automatonBuilder struct {
	automaton
	prog   *syntax.Prog
	states [][]uint32        // the steps of each state, without jumps
	known  map[string]uint16 // states by their steps, except the start
	seen   []int             // the last set that contains each step
	sets   int
}

// build makes all states reachable from the start. It reports false if they exceed the bound.
func (b *automatonBuilder) build() bool {
	b.addState(nil, 0)
	b.known[""] = 0
	b.addState(b.reach([]uint32{uint32(b.prog.Start)}, syntax.EmptyBeginText), syntax.EmptyBeginText)
	b.next = make([]uint16, b.classes) // state 0 leads to itself
	for state := 1; state < len(b.states); state++ {
		for _, r := range b.starts {
			var after []uint32
			for _, pc := range b.states[state] {
				if inst := &b.prog.Inst[pc]; takes(inst, r) {
					after = append(after, inst.Out)
				}
			}
			to, ok := b.stateOf(b.reach(after, 0))
			if !ok {
				return false
			}
			b.next = append(b.next, to)
		}
	}
	return true
}

// takes reports whether a step takes a character.
func takes(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return inst.MatchRune(r)
	}
	return false
}

// stateOf returns the state with the given steps and creates it if needed. It reports false if the
// bound is reached.
func (b *automatonBuilder) stateOf(steps []uint32) (uint16, bool) {
	var key []byte
	for _, pc := range steps {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if s, ok := b.known[string(key)]; ok {
		return s, true
	}
	s := uint16(len(b.states))
	if (len(b.states)+1)*b.classes > maxTransitions {
		return 0, false
	}
	b.known[string(key)] = s
	b.addState(steps, 0)
	return s, true
}

// addState adds a state. The state accepts if its steps reach a match at the end of the string.
func (b *automatonBuilder) addState(steps []uint32, at syntax.EmptyOp) {
	b.states = append(b.states, steps)
	matches := func(pc uint32) bool { return b.prog.Inst[pc].Op == syntax.InstMatch }
	b.accepts = append(b.accepts, slices.ContainsFunc(b.reach(steps, at|syntax.EmptyEndText), matches))
}

// reach returns, in ascending order, the steps reachable by jumps: steps that take a character,
// match, or wait for the end of the string. at is the position of the jumps in the string.
func (b *automatonBuilder) reach(from []uint32, at syntax.EmptyOp) []uint32 {
	b.sets++
	var list []uint32
	todo := slices.Clone(from)
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if b.seen[pc] == b.sets {
			continue
		}
		b.seen[pc] = b.sets
		switch inst := b.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstEmptyWidth:
			switch need := syntax.EmptyOp(inst.Arg); {
			case need&^at == 0:
				todo = append(todo, inst.Out)
			case need&^at == syntax.EmptyEndText:
				list = append(list, pc)
			}
		case syntax.InstFail:
		default:
			list = append(list, pc)
		}
	}
	slices.Sort(list)
	return list
}
