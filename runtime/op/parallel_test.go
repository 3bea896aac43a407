package op

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/guard"
)

// TestParallel checks that each number is in one range.
func TestParallel(t *testing.T) {
	for _, threads := range []int{0, 1, 2, 7} {
		for _, n := range []int{0, 1, 15, 16, 17, 100, 1024} {
			seen := make([]atomic.Int32, n)
			c := &Run{Threads: threads}
			err := c.Parallel(n, 16, func(from, to int) error {
				if from%16 != 0 {
					return fmt.Errorf("a range begins at %d", from)
				}
				for i := from; i < to; i++ {
					seen[i].Add(1)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d of %d: %v", threads, n, err)
			}
			for i := range seen {
				if seen[i].Load() != 1 {
					t.Errorf("%d of %d: %d is in %d ranges", threads, n, i, seen[i].Load())
				}
			}
		}
	}
}

// set is a flag that is set after the given number of looks.
type set struct {
	looks atomic.Int64
	after int64
}

func (s *set) IsSet() bool { return s.looks.Add(1) > s.after }

// TestParallelStops checks that a run ends between ranges, however long the work is.
func TestParallelStops(t *testing.T) {
	for _, threads := range []int{1, 3} {
		c, done := &Run{Threads: threads, Stop: &set{after: 4}}, atomic.Int64{}
		err := c.Parallel(1<<40, 16, func(from, to int) error {
			done.Add(int64(to - from))
			time.Sleep(pieceTime / 2)
			return nil
		})
		if !errors.Is(err, ErrStopped) || done.Load() == 0 || done.Load() > 4*16 {
			t.Errorf("%d threads: %v after %d", threads, err, done.Load())
		}
	}
}

// TestPieces checks that ranges grow if they end at once.
func TestPieces(t *testing.T) {
	calls := 0
	if err := new(Run).Parallel(1<<40, 16, func(_, _ int) error { calls++; return nil }); err != nil || calls > 1000 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

// TestPace ends a run in the middle of work that returns no error.
func TestPace(t *testing.T) {
	for after := range int64(4) {
		c, done := &Run{Stop: &set{after: after}}, int64(0)
		err := guard.Call(func() error {
			for pace := c.Pace(); ; done++ {
				pace.Work(paceUnits / 4)
			}
		})
		if err != ErrStopped || done < 4*after || done > 8*(after+1) {
			t.Errorf("%d looks: %v after %d", after, err, done)
		}
	}
	pace := new(Run).Pace()
	for range 4 {
		pace.Work(1 << 40)
	}
}

// TestParallelFails ends ranges by errors and by a panic.
func TestParallelFails(t *testing.T) {
	c, wrong := &Run{Threads: 4}, errors.New("wrong")
	for want, f := range map[error]func(from int) error{
		wrong: func(from int) error {
			if from > 0 {
				return ErrStopped
			}
			return wrong
		},
		ErrStopped:        func(int) error { return ErrStopped },
		guard.ErrInternal: func(int) error { panic("defect") },
	} {
		if err := c.Parallel(64, 1, func(from, _ int) error { return f(from) }); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
