package nacre

import "sync"

// taking is held while a stream takes the states of another, so that two streams may take each other's.
var taking sync.Mutex

// Take moves the states of another stream to s, without a copy; the other stream is then as after Reset.
// Both sessions are of one model and its options: one is the other's, or both are another's, by
// LastRows or LastTop. So some runs of a sequence compute other results than the rest. The error is
// ErrOption if from is nil, ErrState for streams with other states, and ErrClosed after Close of one.
func (s *Stream) Take(from *Stream) (err error) {
	defer s.enter().end(&err)
	switch {
	case from == s:
		return nil
	case !from.made():
		return markf(ErrOption, "%s: the stream to take states of is nil", s.session.model.source.File)
	}
	taking.Lock()
	defer taking.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	from.mu.Lock()
	defer from.mu.Unlock()
	for _, st := range []*Stream{s, from} {
		if err := st.open(); err != nil {
			return err
		}
	}
	if err := s.engine.Take(from.engine); err != nil {
		return err
	}
	return from.start()
}
