// Package jinja runs the templates that models bring along for their chats: the part of
// the language Jinja that those use, with the settings trim_blocks and lstrip_blocks. A
// template is a program of strangers, so its steps, its depth and the size of its texts
// are bounded, and it reaches nothing but the values that it is given.
package jinja

import (
	"fmt"
	"strings"
)

// The bounds of a template and its run.
const (
	maxDepth  = 100
	maxText   = 1 << 24
	maxBudget = 1 << 22 // of steps; a text counts a step for each 16 bytes
)

// A Template is a parsed template. It is safe for use by several goroutines.
type Template struct {
	body []statement
}

// A failure is an error on its way out of the parser or of a run.
type failure struct{ error }

func fail(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

// catch turns a failure into an error.
func catch(err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.error
	default:
		panic(f)
	}
}

// Parse reads a template.
func Parse(source string) (t *Template, err error) {
	defer catch(&err)
	p := &parser{segments: segments(source)}
	body, end := p.body()
	if end != "" {
		fail("line %d: %s without a beginning", p.line, end)
	}
	return &Template{body}, nil
}

// Render runs a template. Values of variables are nil, bool, int, float64, string, *List,
// *Dict and Function.
func (t *Template) Render(vars map[string]any) (text string, err error) {
	defer catch(&err)
	r := &run{out: &strings.Builder{}, budget: maxBudget}
	r.scope = &scope{vars: globals()}
	r.scope = &scope{vars: map[string]any{}, above: r.scope}
	for name, value := range vars {
		r.scope.vars[name] = value
	}
	r.all(t.body)
	return r.out.String(), nil
}

// A run is the state of a template that runs.
type run struct {
	out    *strings.Builder
	scope  *scope
	budget int
	depth  int
}

// A scope holds variables. Those of a loop's turn are gone after it.
type scope struct {
	vars  map[string]any
	above *scope
}

func (s *scope) get(name string) any {
	for ; s != nil; s = s.above {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefined{name}
}

// A statement is a part of a template. It returns how it leaves the loop around it.
type statement func(r *run) leave

// leave says what a statement does to the loop around it.
type leave int

const (
	stay leave = iota
	leaveTurn
	leaveLoop
)

// all runs statements until one leaves the loop around them.
func (r *run) all(list []statement) leave {
	for _, s := range list {
		r.charge(0)
		if l := s(r); l != stay {
			return l
		}
	}
	return stay
}

// charge counts a step, and more for the bytes of a text.
func (r *run) charge(bytes int) {
	r.budget -= 1 + bytes/16
	if r.budget < 0 || bytes > maxText {
		fail("the template takes more than %d steps, or makes a text of more than %d bytes", maxBudget, maxText)
	}
}

// write appends to the output.
func (r *run) write(text string) {
	r.charge(len(text))
	if r.out.Len()+len(text) > maxText {
		fail("the template writes more than %d bytes", maxText)
	}
	r.out.WriteString(text)
}

// capture returns what statements write.
func (r *run) capture(list []statement) string {
	before := r.out
	r.out = &strings.Builder{}
	r.all(list)
	text := r.out.String()
	r.out = before
	return text
}

// within runs f in a scope of its own.
func (r *run) within(vars map[string]any, f func()) {
	before := r.scope
	r.scope = &scope{vars: vars, above: before}
	f()
	r.scope = before
}
