package nacre

import "context"

// Warm makes a plan, and memory for a run, for each of sizes, so that the first run with such
// inputs takes no longer than later ones. A size gives extents to the names that the model
// leaves open, as for ZeroInputs. Without sizes Warm takes the extents that the model declares.
//
// Plans of few sizes all stay ready. The error is as for ZeroInputs and Plan, ErrMemory if
// a run would exceed Options.MemoryLimit, or the error of ctx when it is done.
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
		s, types, err := s.types(ctx, inputs)
		if err != nil {
			return err
		}
		if err := s.engine.Warm(ctx, types); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Trim frees the memory that the session keeps for later runs, and drops its plans, also for
// other sessions with the same options. Runs under way go on. The next run makes its plan
// again. Weights and packed weights stay with the model. The error is ErrClosed after Close.
func (s *Session) Trim() (err error) {
	defer s.enter().end(&err)
	if s.closed.Load() {
		return s.closedError()
	}
	s.each((*Session).Trim)
	return s.engine.Trim()
}
