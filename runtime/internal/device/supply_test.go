package device_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// queued asks for n units and returns when the caller is in the queue. The channel then receives
// the result of Wait.
func queued(ctx context.Context, s *device.Supply, l *device.Line, n int) <-chan error {
	there, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- s.Wait(ctx, n, l, func() { close(there) }) }()
	<-there
	return done
}

// waits reports whether a call of queued still waits.
func waits(c <-chan error) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// TestSupplyIsFair checks that callers are served in order, even after one that wants more than
// there is.
func TestSupplyIsFair(t *testing.T) {
	s, l := device.NewSupply(10), &device.Line{}
	ctx := context.Background()
	if !s.Try(8) || s.Try(3) {
		t.Fatal("of 10 units 8 are there to be taken, and 2 after that")
	}
	large, small := queued(ctx, s, l, 9), queued(ctx, s, l, 1)
	gone, cancel := context.WithCancel(ctx)
	left := queued(gone, s, l, 1)
	if s.Try(1) || !s.Take(1) || l.Waiting() != 3 {
		t.Error("a new caller goes ahead of those that wait, or a run under way does not")
	}
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	s.Give(2)
	if !waits(large) || !waits(small) {
		t.Error("3 units are given to one that wants 9, or to one behind it")
	}
	s.Give(7)
	if err := <-large; err != nil || s.Left() != 0 {
		t.Errorf("%v; %d units are left", err, s.Left())
	}
	if err := <-small; err != nil {
		t.Error(err)
	}
	s.Give(10)
	if s.Left() != s.Units() || l.Waiting() != 0 {
		t.Errorf("in the end %d units are left of %d", s.Left(), s.Units())
	}
}

// TestSupplyRefuses checks that callers are refused.
func TestSupplyRefuses(t *testing.T) {
	ctx := context.Background()
	s := device.NewSupply(4)
	if !s.Try(4) {
		t.Fatal("a supply is empty")
	}
	none := &device.Line{Most: -1}
	if err := s.Wait(ctx, 1, none, nil); !errors.Is(err, graph.ErrBusy) || none.Waiting() != 0 {
		t.Errorf("nobody may wait: got %v", err)
	}
	one := &device.Line{Most: 1}
	first := queued(ctx, s, one, 3)
	if err := s.Wait(ctx, 1, one, nil); !errors.Is(err, graph.ErrBusy) || one.Waiting() != 1 {
		t.Errorf("one may wait: got %v", err)
	}
	if err := s.Wait(ctx, 1, &device.Line{Patience: time.Nanosecond}, nil); !errors.Is(err, graph.ErrBusy) {
		t.Errorf("no patience: got %v", err)
	}
	if err := s.Wait(ctx, 5, &device.Line{}, nil); !errors.Is(err, device.ErrNever) {
		t.Errorf("5 units of 4: got %v", err)
	}
	s.Keep(2) // of the units taken
	if err := <-first; !errors.Is(err, device.ErrNever) {
		t.Errorf("3 units where 2 are kept: got %v", err)
	}
	if s.Could(3) || !s.Could(2) {
		t.Error("2 of 4 units are kept")
	}
	s.Force(1)
	s.Give(5)
	s.Keep(-2)
	if s.Left() != 4 {
		t.Errorf("%d units are left", s.Left())
	}
}

// TestSupplyLosesNothing takes, waits, cancels and gives back at random.
func TestSupplyLosesNothing(t *testing.T) {
	s, l := device.NewSupply(5), &device.Line{}
	var all sync.WaitGroup
	for seed := range uint64(20) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 300 {
				n := 1 + r.IntN(5)
				ctx, cancel := context.WithCancel(context.Background())
				if r.IntN(3) == 0 {
					go cancel()
				}
				if s.Try(n) || s.Wait(ctx, n, l, nil) == nil {
					if s.Left() < 0 {
						t.Error("more units are taken than there are")
					}
					s.Give(n)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s.Left() != s.Units() || l.Waiting() != 0 {
		t.Errorf("%d units are left of %d, and %d wait", s.Left(), s.Units(), l.Waiting())
	}
}
