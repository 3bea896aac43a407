// Package jinja runs the chat templates of models. It supports the part of the language Jinja that
// they use, with the settings trim_blocks and lstrip_blocks. A template is a program of strangers.
// A budget counts its steps and the memory of its values, its depth and the size of a text are
// bounded, and it reaches only the values that it is given.
package jinja

import (
	"fmt"

	"github.com/nacre-ml/nacre/internal/budget"
)

// The bounds of a template and its run, beside the budget.
const (
	MaxDepth = 100
	MaxText  = 1 << 24
)

// A Template is a parsed template. It is safe for use by several goroutines.
type Template struct {
	body []statement
}

// A failure is the error of a panic that ends the parser or a run.
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

// Render runs a template within a budget. Values of variables are nil, bool, int, float64, string,
// *List, *Dict and Function. Their memory does not count.
func (t *Template) Render(b *budget.Budget, vars map[string]any) (text string, err error) {
	defer catch(&err)
	r := &run{budget: b}
	r.out = r.builder()
	r.scope = &scope{vars: globals()}
	r.scope = &scope{vars: map[string]any{}, above: r.scope}
	for name, value := range vars {
		r.scope.vars[name] = value
	}
	r.all(t.body)
	return r.out.text(), nil
}

// A run is the state of a running template.
type run struct {
	out    *builder
	scope  *scope
	budget *budget.Budget
	depth  int
}

// A scope holds variables. The variables of one turn of a loop are gone after it, unless a macro
// keeps their scope.
type scope struct {
	vars  map[string]any
	above *scope
	kept  bool
}

// get returns the value of a variable.
func (r *run) get(name string) any {
	for s := r.scope; s != nil; s = s.above {
		r.steps(1)
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefined{name}
}

// A statement is a part of a template. It returns how it leaves the loop around it.
type statement func(r *run) leave

// leave is the effect of a statement on the loop around it.
type leave int

const (
	stay leave = iota
	leaveTurn
	leaveLoop
)

// all runs statements until one leaves the loop around them.
func (r *run) all(list []statement) leave {
	for _, s := range list {
		r.steps(1)
		if l := s(r); l != stay {
			return l
		}
	}
	return stay
}

// capture runs statements and returns the text that they write.
func (r *run) capture(list []statement) string {
	before := r.out
	r.out = r.builder()
	r.all(list)
	text := r.out.text()
	r.out = before
	return text
}

// within runs f in a scope of its own.
func (r *run) within(vars map[string]any, f func()) {
	before := r.scope
	r.enter(vars, before)
	f()
	r.leave(before)
}

// enter begins a scope.
func (r *run) enter(vars map[string]any, above *scope) {
	r.steps(scopeSteps)
	r.hold(scopeBytes)
	r.scope = &scope{vars: vars, above: above}
}

// leave ends the scope and continues in another.
func (r *run) leave(before *scope) {
	if !r.scope.kept {
		r.budget.Release(scopeBytes)
	}
	r.scope = before
}
