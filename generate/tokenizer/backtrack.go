package tokenizer

import (
	"fmt"
	"regexp/syntax"
	"unicode/utf8"
)

// maxProgram bounds the instructions of a regular expression.
const maxProgram = 1 << 14

// A program is a compiled regular expression. It finds matches by the rules of Perl: the leftmost,
// and of several the one that the order of alternatives and repetitions prefers.
type program struct {
	code  *syntax.Prog
	words int // 64-bit numbers with a bit for each instruction
	begin [256]bool
	empty bool // a match may be empty
}

// newProgram compiles a pattern of Go. It counts the memory of large classes and repetitions.
func newProgram(w *work, pattern string) (*program, *syntax.Regexp, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, nil, fmt.Errorf("pattern %.80q: %w", pattern, err)
	}
	size, runes := extent(tree)
	if size > maxProgram {
		return nil, nil, fmt.Errorf("pattern %.80q has more than %d parts, repetitions written out", pattern, maxProgram)
	}
	w.hold(64*size + 16*runes)
	code, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, nil, fmt.Errorf("pattern %.80q: %w", pattern, err)
	}
	p := &program{code: code, words: (len(code.Inst) + 63) / 64}
	p.begins(uint32(code.Start), make([]bool, len(code.Inst)))
	return p, tree, nil
}

// begins collects the bytes that a match from instruction pc on can begin with.
func (p *program) begins(pc uint32, seen []bool) {
	for !seen[pc] {
		seen[pc] = true
		inst := &p.code.Inst[pc]
		switch inst.Op {
		case syntax.InstFail:
			return
		case syntax.InstMatch, syntax.InstEmptyWidth:
			p.empty = true
			return
		case syntax.InstAlt, syntax.InstAltMatch:
			p.begins(inst.Arg, seen)
		case syntax.InstCapture, syntax.InstNop:
		default:
			for b := range p.begin {
				p.begin[b] = p.begin[b] || b >= utf8.RuneSelf || matches(inst, rune(b))
			}
			return
		}
		pc = inst.Out
	}
}

// extent returns an upper bound of a pattern's instructions, cut off above maxProgram, and the
// numbers in its classes.
func extent(t *syntax.Regexp) (size, runes int) {
	for _, sub := range t.Sub {
		n, m := extent(sub)
		size, runes = min(size+n, maxProgram+1), runes+m
	}
	runes += len(t.Rune)
	switch t.Op {
	case syntax.OpLiteral:
		size += len(t.Rune)
	case syntax.OpRepeat:
		size = (size + 2) * max(t.Min+1, t.Max+1, 1)
	default:
		size += 2
	}
	return min(size, maxProgram+1), runes
}

// marksShift is the binary logarithm of the number of places whose marks share a page.
const marksShift = 8

// A search finds matches in one text, from left to right. At each place it marks the alternatives
// that reach no match, and never tries them again. The steps of all matches together are linear in
// the text.
type search struct {
	*program
	work  *work
	text  string
	pages [][]uint64 // of marks, by place
	free  [][]uint64 // pages without a place
	first int        // no page before it is in use
	stack []attempt
}

// An attempt is a place of the text and a place of the program, left to try. Spaced is true if the
// way there leads through the first group.
type attempt struct {
	at     int
	pc     uint32
	spaced bool
}

// search returns the search of a text. It is valid until the next search of the same program.
func (p *program) search(w *work, text string) *search {
	s := w.searches[p]
	if s == nil {
		s = &search{program: p, work: w}
		if w.searches == nil {
			w.searches = map[*program]*search{}
		}
		w.searches[p] = s
	}
	s.forget(len(s.pages))
	n := len(text)>>marksShift + 1
	if n > cap(s.pages) {
		w.hold(24 * n)
		s.pages = make([][]uint64, n)
	}
	s.text, s.pages, s.first = text, s.pages[:n], 0
	return s
}

// forget frees the pages before page below.
func (s *search) forget(below int) {
	for ; s.first < below; s.first++ {
		if page := s.pages[s.first]; page != nil {
			s.free, s.pages[s.first] = append(s.free, page), nil
		}
	}
}

// marks returns the marks of a place.
func (s *search) marks(at int) []uint64 {
	i := at >> marksShift
	page := s.pages[i]
	if page == nil {
		if n := len(s.free); n > 0 {
			page, s.free = s.free[n-1], s.free[:n-1]
			clear(page)
		} else {
			s.work.hold(8 * s.words << marksShift)
			page = make([]uint64, s.words<<marksShift)
		}
		s.work.steps(len(page) / 16)
		s.pages[i] = page
	}
	k := (at & (1<<marksShift - 1)) * s.words
	return page[k : k+s.words]
}

// match returns the end of the match that begins at a place, and whether it leads through the first
// group. If none begins there, ok is false. Places must ascend from call to call, and must not be
// within a match unless again was called.
func (s *search) match(at int) (end int, spaced, ok bool) {
	if !s.empty && (at == len(s.text) || !s.begin[s.text[at]]) {
		s.work.steps(1)
		return 0, false, false
	}
	s.forget(at >> marksShift)
	s.stack = append(s.stack[:0], attempt{at: at, pc: uint32(s.code.Start)})
	for n := 1; n > 0; n = len(s.stack) {
		a := s.stack[n-1]
		s.stack = s.stack[:n-1]
		if s.try(&a) {
			s.again(a.at)
			return a.at, a.spaced, true
		}
	}
	return 0, false, false
}

// again clears the marks of a match's end: they may belong to ways to the match.
func (s *search) again(at int) { clear(s.marks(at)) }

// try follows an attempt until it fails or is a match.
func (s *search) try(a *attempt) bool {
	for {
		s.work.steps(1)
		inst := &s.code.Inst[a.pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			bits, bit := &s.marks(a.at)[a.pc/64], uint64(1)<<(a.pc%64)
			if *bits&bit != 0 {
				return false
			}
			*bits |= bit
			s.stack = append(s.stack, attempt{a.at, inst.Arg, a.spaced})
		case syntax.InstMatch:
			return true
		case syntax.InstFail:
			return false
		case syntax.InstCapture:
			a.spaced = a.spaced || inst.Arg == 2
		case syntax.InstNop:
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^s.around(a.at) != 0 {
				return false
			}
		default:
			r, size := utf8.DecodeRuneInString(s.text[a.at:])
			if size == 0 || !matches(inst, r) {
				return false
			}
			a.at += size
		}
		a.pc = inst.Out
	}
}

func matches(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return inst.MatchRune(r)
}

// around returns the conditions that hold at a place.
func (s *search) around(at int) syntax.EmptyOp {
	before, after := rune(-1), rune(-1)
	if at > 0 {
		before, _ = utf8.DecodeLastRuneInString(s.text[:at])
	}
	if at < len(s.text) {
		after, _ = utf8.DecodeRuneInString(s.text[at:])
	}
	return syntax.EmptyOpContext(before, after)
}

// replace returns text with every match replaced.
func (p *program) replace(w *work, text, to string) string {
	b, done := w.builder(len(text)), 0
	p.each(w, text, func(from, end int) {
		b.WriteString(text[done:from])
		b.WriteString(to)
		done = end
	})
	b.WriteString(text[done:])
	return b.String()
}

// each calls f for every match, as ReplaceAllLiteralString of package regexp finds them: no empty
// match follows a match.
func (p *program) each(w *work, text string, f func(from, end int)) {
	s, done := p.search(w, text), 0
	for at := 0; at <= len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		end, _, ok := s.match(at)
		if !ok || end == at && at == done && at > 0 {
			at += max(size, 1)
			continue
		}
		f(at, end)
		if done = end; end == at {
			at += max(size, 1)
		} else {
			at = end
		}
	}
}
