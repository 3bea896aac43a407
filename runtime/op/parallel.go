package op

import (
	"errors"
	"sync"
	"time"

	"github.com/nacre-ml/nacre/internal/guard"
)

// pieceTime is the longest time that a range of Parallel takes, unless one grain takes longer.
const pieceTime = time.Millisecond

// Parallel calls f for ranges that cover 0 to n, in as many goroutines as the run may use. Ranges
// begin at multiples of grain and last about pieceTime. Between two ranges, each goroutine checks
// whether the run must end. If one grain may take long, f must check too (Pace). The calls must not
// use Mem. If several goroutines fail, the error is the first in the order of their ranges; it is
// ErrStopped only if nothing else failed.
func (c *Run) Parallel(n, grain int, f func(from, to int) error) error {
	grains := (n + grain - 1) / grain
	parts := max(min(c.Threads, grains), 1)
	if parts == 1 {
		return c.inPieces(0, n, grain, f)
	}
	errs := make([]error, parts)
	var wait sync.WaitGroup
	for i := range parts {
		wait.Go(func() {
			from, to := i*grains/parts*grain, min((i+1)*grains/parts*grain, n)
			errs[i] = guard.Call(func() error { return c.inPieces(from, to, grain, f) })
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrStopped) {
			return err
		}
	}
	return errors.Join(errs...)
}

// inPieces calls f for consecutive ranges that cover from to to. The first range is one grain;
// later ranges double as long as they end soon.
func (c *Run) inPieces(from, to, grain int, f func(from, to int) error) error {
	for grains := 1; from < to; {
		if c.Stopped() {
			return ErrStopped
		}
		n := to - from
		if grains < n/grain {
			n = grains * grain
		}
		begin := time.Now()
		if err := f(from, from+n); err != nil {
			return err
		}
		if from += n; from < to && time.Since(begin) < pieceTime/2 {
			grains *= 2
		}
	}
	return nil
}
