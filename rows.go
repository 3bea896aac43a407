package nacre

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime"
)

// LastRows returns a session that computes only the last row of these outputs: [batch,1,n]
// of [batch,rows,n]. Runs skip work that only other rows need. A decoder's logits of a prompt
// are an example: only the last token's logits choose the next token.
//
// The session shares weights with s and takes the same inputs. It ends with s and needs no
// Close; later calls with the same names return it again.
//
// The error is ErrOption without names or for a name that Outputs does not list, ErrShape
// for an output that may have fewer than two axes, and ErrClosed after Close.
func (s *Session) LastRows(ctx context.Context, outputs ...string) (_ *Session, err error) {
	defer s.enter().end(&err)
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	if len(outputs) == 0 {
		return nil, markf(ErrOption, "%s: last rows are asked for of no output", s.model.source.File)
	}
	at := make([]int, len(outputs))
	for k, name := range outputs {
		if at[k], err = s.withRows(name); err != nil {
			return nil, err
		}
	}
	outputs = slices.Clone(outputs)
	return s.derived(fmt.Sprintf("%q", outputs), func() (*runtime.Program, error) {
		return s.program.engine.LastRows(ctx, at)
	}, func(ctx context.Context, s *Session) (*Session, error) { return s.LastRows(ctx, outputs...) })
}

// LastTop returns a session that computes only the k largest elements of the last row of an
// output, the largest first: [batch,1,k] of [batch,rows,n]. The last of its Outputs is one more, int64:
// the indices of these elements in the row. Of equal elements the one with the lower index comes first,
// and NaN comes before all numbers. A device then need not copy whole rows to the host, and a program
// that takes the likeliest of many classes or tokens reads few numbers.
//
// The session belongs to s as one of LastRows does. The error is as for LastRows, and ErrOption for a k
// below 1 or above n; if the model does not say n, runs give that error as ErrShape.
func (s *Session) LastTop(ctx context.Context, output string, k int) (_ *Session, err error) {
	defer s.enter().end(&err)
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	at, err := s.withRows(output)
	if err != nil {
		return nil, err
	}
	shape := s.Outputs()[at].Shape
	if n := shape[len(shape)-1]; k < 1 || !n.Open() && k > n.Size {
		return nil, markf(ErrOption, "%s: the %d largest elements of a row of output %q are asked for, which has %v",
			s.model.source.File, k, output, n)
	}
	return s.derived(fmt.Sprintf("%d of %q", k, output), func() (*runtime.Program, error) {
		return s.program.engine.LastTop(ctx, at, k)
	}, func(ctx context.Context, s *Session) (*Session, error) { return s.LastTop(ctx, output, k) })
}

// withRows returns the place of an output that has rows.
func (s *Session) withRows(output string) (int, error) {
	list := s.Outputs()
	i := slices.IndexFunc(list, func(v Info) bool { return v.Name == output })
	switch {
	case i < 0:
		return 0, markf(ErrOption, "%s: there is no output %q; the session computes %s", s.model.source.File, output,
			names(list))
	case len(list[i].Shape) < 2:
		return 0, markf(ErrShape, "%s: output %v is not known to have rows, which takes two axes", s.model.source.File,
			list[i])
	}
	return i, nil
}

// derived returns the session stored under a key, or makes it of a program. Again derives the same
// session of another one.
func (s *Session) derived(
	key string, program func() (*runtime.Program, error), again func(context.Context, *Session) (*Session, error),
) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rows[key]; r != nil && !r.closed.Load() {
		return r, nil
	}
	p, err := *s.program, error(nil)
	if p.engine, err = program(); err != nil {
		return nil, err
	}
	p.results = nil
	for _, v := range p.engine.Outputs() {
		p.results = append(p.results, v.Name)
	}
	r, err := newSession(s.model, &p, s.options)
	if err != nil {
		return nil, err
	}
	r.of, r.again = s, again
	if s.rows == nil {
		s.rows = map[string]*Session{}
	}
	s.rows[key] = r
	if s.closed.Load() {
		r.Close()
	}
	return r, nil
}

// each calls f for all sessions derived by LastRows, LastTop and taking.
func (s *Session) each(f func(*Session) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rows {
		f(r)
	}
	for _, r := range s.overriding {
		f(r)
	}
}
