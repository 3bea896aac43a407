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

// Supply is a number of units, such as places for runs or bytes of memory, that runs take and give
// back. Callers that find too few wait in the order of their calls.
type Supply struct {
	units int

	mu    sync.Mutex
	left  int // below 0 after Force
	kept  int // see Keep
	queue list.List
}

// waiter is a caller in the queue.
type waiter struct {
	n    int
	done chan struct{} // closed when the waiter has its units or err is set
	err  error
}

// NewSupply returns a supply of that many units.
func NewSupply(units int) *Supply { return &Supply{units: units, left: units} }

// Units returns the total number of units.
func (s *Supply) Units() int { return s.units }

// Left returns the number of units not taken.
func (s *Supply) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// Could reports whether Wait can ever give n units.
func (s *Supply) Could(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n <= s.units-s.kept
}

// Try takes n units and returns true. If there are too few, or a caller waits, it returns false.
func (s *Supply) Try(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.Len() > 0 || s.left < n {
		return false
	}
	s.left -= n
	return true
}

// Take takes n units and returns true, or returns false if there are too few. It precedes callers
// that wait, because they wait for its caller.
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

// Keep adds n, which may be negative, to the number of taken units that are not given back when
// runs end. Nobody then waits for these.
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

// ErrNever is the error of Wait for more units than will ever be given back.
var ErrNever = errors.New("there are too few")

// Line is the waiting runs of one session.
type Line struct {
	// Most bounds how many may wait; 0 means no bound, and a negative number means none may.
	Most int
	// Patience bounds how long a run may wait; 0 means no bound.
	Patience time.Duration
	waiting  atomic.Int64
}

// Waiting returns how many runs wait.
func (l *Line) Waiting() int { return int(l.waiting.Load()) }

// join adds a run to the line.
func (l *Line) join() error {
	if n := l.waiting.Add(1); l.Most != 0 && n > int64(max(l.Most, 0)) {
		l.waiting.Add(-1)
		return graph.Errorf(graph.ErrBusy, "%d runs wait, as many as may", n-1)
	}
	return nil
}

// Wait takes n units once earlier callers have theirs. It calls queued, unless nil, when the caller
// is in the queue. It returns the context's error if the context ends first, ErrBusy if the line is
// full or Patience ends, and ErrNever if Could(n) is false.
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

// advance gives units to the first waiters of the queue while there are enough.
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
