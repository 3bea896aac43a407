package exec

import (
	"reflect"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Stats is the current load of an executor, and its counts since it was made.
type Stats struct {
	Waiting, Running      int           // runs that wait to begin, and runs under way
	Runs, Failed, Refused int           // ended, ended with an error, and never began
	Waited, Ran           time.Duration // of all runs together
	RunBytes, StreamBytes int           // taken by runs under way, and by streams and Bounds
	IdleBytes             int           // kept for later runs
}

// counters are the numbers of Stats that change from run to run.
type counters struct {
	begun, runs, failed, refused, waited, ran, runBytes, streamBytes atomic.Int64
}

// Stats returns the current load of the executor, and its counts since it was made.
func (e *Executor) Stats() Stats {
	c := &e.counts
	runs := int(c.runs.Load()) // before begun, so that none ends in between
	return Stats{
		Waiting: e.line.Waiting(), Running: int(c.begun.Load()) - runs,
		Runs: runs, Failed: int(c.failed.Load()), Refused: int(c.refused.Load()),
		Waited: time.Duration(c.waited.Load()), Ran: time.Duration(c.ran.Load()),
		RunBytes: int(c.runBytes.Load()), StreamBytes: int(c.streamBytes.Load()),
		IdleBytes: e.idle.idleBytes() + e.memory.idle(),
	}
}

// enter waits for a place, and for n bytes of the shared memory. If an operator of another run
// started this one, enter does not wait, because the other run waits for this one.
func (r *run) enter(pl *plan.Plan, n int) error {
	r.TellPlan(r.ctx, pl)
	nested := op.Within(r.ctx)
	var err error
	switch {
	case r.limited && n > r.budget:
		err = r.exceeds(n, r.budget)
	case r.shared != nil && !r.shared.bytes.Could(n):
		err = r.shared.short(n)
	case nested:
	case r.device.Places().Try(1):
		r.placed = true
	case inOperator():
		nested = true
	default:
		begin := time.Now()
		err = r.device.Places().Wait(r.ctx, 1, &r.line, nil)
		r.placed = err == nil
		r.tellWait("a turn", begin)
	}
	if err == nil && n > 0 {
		err = r.enterMemory(n, nested)
	}
	if err != nil {
		r.leavePlace()
		r.counts.refused.Add(1)
		err = r.waited(pl, err)
		r.tellRefusal(err)
		return err
	}
	r.counts.begun.Add(1)
	r.begun = now()
	return nil
}

// enterMemory takes n bytes of the shared memory.
func (r *run) enterMemory(n int, nested bool) error {
	if r.shared != nil && !r.shared.bytes.Try(n) {
		begin := time.Now()
		defer r.tellWait("memory", begin)
		if err := r.waitMemory(n, nested); err != nil {
			return err
		}
	}
	r.claimed = n
	r.counts.runBytes.Add(int64(n))
	return nil
}

func (r *run) waitMemory(n int, nested bool) error {
	if nested || inOperator() {
		return r.shared.take(n)
	}
	if r.shared.reclaim(); r.shared.bytes.Try(n) {
		return nil
	}
	return r.shared.wait(r.ctx, n, &r.line)
}

// leave ends a run that enter admitted.
func (r *run) leave(err error) {
	c := &r.counts
	c.ran.Add(int64(now() - r.begun))
	if c.runs.Add(1); err != nil {
		c.failed.Add(1)
	}
	if !r.bound {
		r.unclaim()
	}
	r.leavePlace()
}

// epoch is an arbitrary moment. Reading the time since it is faster than reading the clock.
var epoch = time.Now()

func now() time.Duration { return time.Since(epoch) }

func (r *run) leavePlace() {
	if r.placed {
		r.device.Places().Give(1)
		r.placed = false
	}
}

// leastClaim is the least number of bytes that claim takes of the shared memory for a run, if as
// many are left.
const leastClaim = 64 << 10

// claim takes the bytes that the run holds beyond its earlier claims from the shared memory.
func (r *run) claim() error {
	need := r.limit - r.budget - r.claimed
	if need <= 0 {
		return nil
	}
	if r.bound {
		err := r.keep(need)
		if err == nil {
			r.claimed += need
		}
		return err
	}
	n := max(need, leastClaim)
	if r.shared != nil && !r.shared.bytes.Take(n) {
		n = need
		if err := r.shared.take(n); err != nil {
			return err
		}
	}
	r.claimed += n
	r.counts.runBytes.Add(int64(n))
	return nil
}

// unclaim gives the run's bytes back to the shared memory.
func (r *run) unclaim() {
	if r.bound {
		r.move(-r.claimed)
	} else {
		r.shared.give(r.claimed)
		r.counts.runBytes.Add(-int64(r.claimed))
	}
	r.claimed = 0
}

// keep takes n bytes of the shared memory for a stream or a Bound.
func (e *Executor) keep(n int) error {
	if err := e.shared.keep(n); err != nil {
		return err
	}
	e.counts.streamBytes.Add(int64(n))
	return nil
}

// move counts n bytes that are in use already, as keep does. If n is negative it gives them back.
func (e *Executor) move(n int) {
	e.shared.move(n)
	e.counts.streamBytes.Add(int64(n))
}

// callOperator runs an operator in Go. inOperator finds it on the stack.
//
//go:noinline
func callOperator(s *plan.Step, c *op.Run) error { return s.Call(c) }

// operatorFrame is the return address on the stack of the one call in callOperator.
var operatorFrame = sync.OnceValue(func() (pc uintptr) {
	probe := func(*op.Run) error {
		name := goruntime.FuncForPC(reflect.ValueOf(callOperator).Pointer()).Name()
		for _, at := range stack() {
			frame, _ := goruntime.CallersFrames([]uintptr{at}).Next()
			if frame.Function == name {
				pc = at
			}
		}
		return nil
	}
	_ = callOperator(&plan.Step{Step: &device.Step{Call: probe}}, nil)
	return pc
})

// stack returns the program counters of its caller's callers.
func stack() []uintptr {
	pcs := make([]uintptr, 64)
	for {
		n := goruntime.Callers(3, pcs)
		if n < len(pcs) {
			return pcs[:n]
		}
		pcs = make([]uintptr, 4*len(pcs))
	}
}

// inOperator reports whether an operator of a run has called the caller, on the goroutine of that
// run. Such an operator may start a run with a context of its own.
func inOperator() bool { return slices.Contains(stack(), operatorFrame()) }
