package nacre

import (
	"sync"
	"time"

	"github.com/nacre-ml/nacre/runtime"
)

// MemoryBudget is a number of bytes that sessions share. A run takes Plan.PeakBytes of it
// before it begins, and more if elements decide how much it needs. A stream takes the memory
// of its states, and a Bound the memory of its inputs and intermediate values. Memory kept for
// later runs counts, and is freed when a run needs its bytes. Weights, and tensors of the
// caller, do not count.
//
// If too few bytes are left, a run waits until earlier runs give theirs back, first come,
// first served. It fails with ErrMemory if streams and Bounds leave too few bytes, or if it
// needs more after it has begun.
//
// The methods of a MemoryBudget may be called from many goroutines at once.
type MemoryBudget struct{ memory *runtime.Memory }

// NewMemoryBudget returns a budget for Options.MemoryBudget of any number of sessions. The
// error is ErrOption if bytes is not positive.
func NewMemoryBudget(bytes int) (*MemoryBudget, error) {
	if bytes <= 0 {
		return nil, markf(ErrOption, "a memory budget of %d bytes; it must be positive", bytes)
	}
	return &MemoryBudget{runtime.NewMemory(bytes)}, nil
}

// Limit returns the bytes of the budget.
func (b *MemoryBudget) Limit() int {
	if !b.made() {
		return 0
	}
	return b.memory.Limit()
}

// Used returns the bytes that sessions have taken, with the memory kept for later runs.
func (b *MemoryBudget) Used() int {
	if !b.made() {
		return 0
	}
	return b.memory.Used()
}

// DefaultMemoryBudget returns the budget of sessions with Options.MemoryBudget nil: three
// quarters of the memory that the process may use, as for Options.MemoryLimit. It is nil if
// the system does not tell how much memory that is.
func DefaultMemoryBudget() *MemoryBudget { return defaultMemoryBudget() }

var defaultMemoryBudget = sync.OnceValue(func() *MemoryBudget {
	n := runtime.DefaultMemoryLimit()
	if n <= 0 {
		return nil
	}
	return &MemoryBudget{runtime.NewMemory(n)}
})

// memory returns the budget of sessions with these options; nil for no limit.
func (o Options) memory() *runtime.Memory {
	b := o.MemoryBudget
	if b == nil {
		if b = DefaultMemoryBudget(); b == nil || o.MemoryLimit > b.Limit() {
			return nil
		}
	}
	return b.memory
}

// Stats is the work of a session at a moment, and in all since it was made. Runs of its
// streams, of its Bounds and of its LastRows sessions count. A run counts once its inputs are
// accepted.
type Stats struct {
	// Waiting counts runs that wait to begin, and Running counts runs under way.
	Waiting, Running int
	// Runs counts runs that ended, and Failed the ones among them with an error. Refused counts
	// runs that never began, for want of memory, because too many waited, or because their
	// context ended.
	Runs, Failed, Refused int
	// WaitTime is the total time that runs waited, and RunTime the total time that they ran.
	WaitTime, RunTime time.Duration
	// Plans counts the plans that are kept. Sessions with the same options share them.
	Plans int
	// RunBytes is the memory of runs under way, StreamBytes the memory of streams and Bounds,
	// and IdleBytes the memory kept for later runs, which Trim frees. Weights do not count.
	RunBytes, StreamBytes, IdleBytes int
}

// Stats returns the statistics of the session. It may be called at any time, also after Close.
// It reads one number after the other while runs go on.
//
// Before a service is overloaded, Waiting grows, or WaitTime grows faster than RunTime.
func (s *Session) Stats() Stats {
	if !s.made() {
		return Stats{}
	}
	e := s.engine.Stats()
	st := Stats{
		Waiting: e.Waiting, Running: e.Running, Runs: e.Runs, Failed: e.Failed, Refused: e.Refused,
		WaitTime: e.Waited, RunTime: e.Ran, Plans: s.engine.Plans(),
		RunBytes: e.RunBytes, StreamBytes: e.StreamBytes, IdleBytes: e.IdleBytes,
	}
	s.each(func(r *Session) error {
		of := r.Stats()
		st.Waiting, st.Running = st.Waiting+of.Waiting, st.Running+of.Running
		st.Runs, st.Failed, st.Refused = st.Runs+of.Runs, st.Failed+of.Failed, st.Refused+of.Refused
		st.WaitTime, st.RunTime, st.Plans = st.WaitTime+of.WaitTime, st.RunTime+of.RunTime, st.Plans+of.Plans
		st.RunBytes, st.StreamBytes = st.RunBytes+of.RunBytes, st.StreamBytes+of.StreamBytes
		st.IdleBytes += of.IdleBytes
		return nil
	})
	return st
}
