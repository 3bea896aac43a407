package nacre

import (
	"sync"
	"time"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/exec"
)

// MemoryBudget is a number of bytes that sessions share. Runs under way take of it what
// Plan.PeakBytes says, and more where elements decide how much they need; streams take their
// states, and Bounds their inputs and what lies between them and the outputs. What sessions
// keep for later runs makes room when a run needs it. Weights, and tensors that belong to the
// caller, do not count.
//
// A run that finds too few bytes waits until other runs have given them back, in the order in
// which the runs came. It fails with ErrMemory if streams and Bounds leave too few, and a run
// that needs more after it has begun fails as well.
//
// Its methods may be called from many goroutines at once.
type MemoryBudget struct{ memory *exec.Memory }

// NewMemoryBudget returns a budget for Options.MemoryBudget of any number of sessions. The
// error is ErrOption if bytes is not positive.
func NewMemoryBudget(bytes int) (*MemoryBudget, error) {
	if bytes <= 0 {
		return nil, markf(ErrOption, "a memory budget of %d bytes; it must be positive", bytes)
	}
	return &MemoryBudget{exec.NewMemory(bytes)}, nil
}

// Limit returns the bytes of the budget.
func (b *MemoryBudget) Limit() int {
	if !b.made() {
		return 0
	}
	return b.memory.Limit()
}

// Used returns the bytes that sessions have taken, those that they keep for later runs among
// them.
func (b *MemoryBudget) Used() int {
	if !b.made() {
		return 0
	}
	return b.memory.Used()
}

// DefaultMemoryBudget returns the budget of sessions that name none: three quarters of the
// memory that the process may use, as Options.MemoryLimit has them. It is nil where the system
// does not say how much that is.
func DefaultMemoryBudget() *MemoryBudget { return defaultMemoryBudget() }

var defaultMemoryBudget = sync.OnceValue(func() *MemoryBudget {
	n := runtime.DefaultMemoryLimit()
	if n <= 0 {
		return nil
	}
	return &MemoryBudget{exec.NewMemory(n)}
})

// memory returns what sessions with these options take bytes from; nil for no limit.
func (o Options) memory() *exec.Memory {
	b := o.MemoryBudget
	if b == nil {
		if b = DefaultMemoryBudget(); b == nil || o.MemoryLimit > b.Limit() {
			return nil
		}
	}
	return b.memory
}

// Stats is what a session does at a moment, and what it has done since it was made. Runs of
// its streams, of its Bounds and of the sessions of LastRows are counted in. A run counts from
// the moment at which its inputs were accepted.
type Stats struct {
	// Waiting and Running are the runs that wait to begin, and that are under way.
	Waiting, Running int
	// Runs is how many runs have ended, and Failed how many of these with an error. Refused is
	// how many never began: there was no memory, too many waited, or their context ended.
	Runs, Failed, Refused int
	// WaitTime is the time that runs have waited, and RunTime the time that they took from
	// then on, all together.
	WaitTime, RunTime time.Duration
	// Plans is how many plans are kept, also for other sessions of the same options.
	Plans int
	// RunBytes is the memory of the runs under way, StreamBytes that of streams and Bounds,
	// and IdleBytes what is kept for later runs, which Trim gives back. All are outside the
	// weights of the model.
	RunBytes, StreamBytes, IdleBytes int
}

// Stats returns what the session does and has done. It takes well below a microsecond, and may
// be called at any time, also after Close. The numbers are read one after the other while runs
// go on.
//
// A service that is about to be overloaded shows a Waiting that grows, or a WaitTime that grows
// faster than RunTime.
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
