package nacre

import (
	"context"
	"fmt"
	"slices"
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
	list := s.Outputs()
	at := make([]int, len(outputs))
	for k, name := range outputs {
		i := slices.IndexFunc(list, func(v Info) bool { return v.Name == name })
		switch {
		case i < 0:
			return nil, markf(ErrOption, "%s: there is no output %q; the session computes %s", s.model.source.File, name,
				names(list))
		case len(list[i].Shape) < 2:
			return nil, markf(ErrShape, "%s: output %v is not known to have rows, which takes two axes", s.model.source.File,
				list[i])
		}
		at[k] = i
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%q", outputs)
	if r := s.rows[key]; r != nil && !r.closed.Load() {
		return r, nil
	}
	p := *s.program
	if p.engine, err = s.program.engine.LastRows(ctx, at); err != nil {
		return nil, err
	}
	r, err := newSession(s.model, &p, s.options)
	if err != nil {
		return nil, err
	}
	r.of, r.last = s, slices.Clone(outputs)
	if s.rows == nil {
		s.rows = map[string]*Session{}
	}
	s.rows[key] = r
	if s.closed.Load() {
		r.Close()
	}
	return r, nil
}

// each calls f for all sessions derived by LastRows and taking.
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
