package op

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nacre-ml/nacre/internal/guard"
)

// TestParallel counts how often each number is in a range.
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
