package nacre

import "context"

// Warm makes plans for runs with inputs of those sizes, and memory for a run of each, so
// that the first run with such inputs takes no longer than later ones. Sizes gives the
// extents that the model leaves open, as for ZeroInputs; without sizes Warm is for inputs
// of the extents that the model declares.
//
// Of few sizes all stay ready. The errors are those of ZeroInputs and Plan, ErrMemory if
// a run would exceed Options.MemoryLimit, and that of ctx if it is done.
func (s *Session) Warm(ctx context.Context, sizes ...map[string]int) (err error) {
	defer s.enter().end(&err)
	if err := s.usable(ctx); err != nil {
		return err
	}
	if len(sizes) == 0 {
		sizes = []map[string]int{nil}
	}
	for _, list := range sizes {
		if err := ctx.Err(); err != nil {
			return err
		}
		inputs, err := s.sized(list)
		if err != nil {
			return err
		}
		s, types, err := s.types(inputs)
		if err != nil {
			return err
		}
		if err := s.engine.Warm(types); err != nil {
			return public(err)
		}
	}
	return ctx.Err()
}

// Trim gives back the memory that the session keeps for later runs, and forgets its
// plans, which sessions of the same options share. Runs under way go on. The next run
// with inputs of any shapes makes a plan again. Weights, and what was rearranged of them,
// stay with the model. The error is ErrClosed after Close.
func (s *Session) Trim() (err error) {
	defer s.enter().end(&err)
	if s.closed.Load() {
		return s.closedError()
	}
	s.each((*Session).Trim)
	return public(s.engine.Trim())
}
