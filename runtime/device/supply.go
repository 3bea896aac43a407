package device

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// Supply is a number of units, such as places for runs or bytes of memory, that runs take
// and give back. Takers that find too few wait in the order in which they came.
type Supply struct {
	units int

	mu    sync.Mutex
	left  int // below 0 after Force
	kept  int // see Keep
	queue list.List
}

// waiter is a taker in the queue.
type waiter struct {
	n    int
	done chan struct{} // closed when the waiter has its units, or err is set
	err  error
}

// NewSupply returns a supply of so many units.
func NewSupply(units int) *Supply { return &Supply{units: units, left: units} }

// Units is the number of units in all.
func (s *Supply) Units() int { return s.units }

// Left is the number of units that nobody has.
func (s *Supply) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// Could reports whether Wait may give n units at some time.
func (s *Supply) Could(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n <= s.units-s.kept
}

// Try takes n units and reports true, unless there are too few or somebody waits.
func (s *Supply) Try(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.Len() > 0 || s.left < n {
		return false
	}
	s.left -= n
	return true
}

// Take takes n units and reports true, unless there are too few. It goes ahead of those that
// wait: they wait for the caller.
func (s *Supply) Take(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left < n {
		return false
	}
	s.left -= n
	return true
}

// Force takes n units even if there are too few.
func (s *Supply) Force(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left -= n
}

// Keep says that n of the units that were taken, or if n is negative that many fewer, are
// not given back when runs end, so that nobody waits for them.
func (s *Supply) Keep(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept += n
	s.advance()
}

// Give gives back n units.
func (s *Supply) Give(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left += n
	s.advance()
}

// ErrNever is the error of Wait for more units than runs will give back.
var ErrNever = errors.New("there are too few")

// Line is the runs of one session that wait.
type Line struct {
	// Most is how many may wait; 0 is no bound, and a negative number is none.
	Most int
	// Patience is how long one may wait; 0 is no bound.
	Patience time.Duration
	waiting  atomic.Int64
}

// Waiting is how many runs wait.
func (l *Line) Waiting() int { return int(l.waiting.Load()) }

// join adds a run to the line.
func (l *Line) join() error {
	if n := l.waiting.Add(1); l.Most != 0 && n > int64(max(l.Most, 0)) {
		l.waiting.Add(-1)
		return graph.Errorf(graph.ErrBusy, "%d runs wait, as many as may", n-1)
	}
	return nil
}

// Wait takes n units when those that came before have theirs. It calls queued, unless that is
// nil, once others know of the caller. The error is that of the context if it ends first,
// ErrBusy if the line is full or its patience ends, and ErrNever if Could(n) is not true.
func (s *Supply) Wait(ctx context.Context, n int, l *Line, queued func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !s.Could(n) {
		return ErrNever
	}
	if err := l.join(); err != nil {
		return err
	}
	defer l.waiting.Add(-1)
	w := &waiter{n: n, done: make(chan struct{})}
	s.mu.Lock()
	at := s.queue.PushBack(w)
	s.advance()
	s.mu.Unlock()
	if queued != nil {
		queued()
	}
	var late <-chan time.Time
	if l.Patience > 0 {
		timer := time.NewTimer(l.Patience)
		defer timer.Stop()
		late = timer.C
	}
	var err error
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-late:
		err = graph.Errorf(graph.ErrBusy, "nothing was free for %v", l.Patience)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.done:
		if w.err == nil {
			s.left += n
		}
	default:
		s.queue.Remove(at)
	}
	s.advance()
	return err
}

// advance gives those in front of the queue their units while there are enough.
func (s *Supply) advance() {
	for at := s.queue.Front(); at != nil; at = s.queue.Front() {
		w := at.Value.(*waiter)
		switch {
		case w.n > s.units-s.kept:
			w.err = ErrNever
		case w.n > s.left:
			return
		default:
			s.left -= w.n
		}
		s.queue.Remove(at)
		close(w.done)
	}
}
