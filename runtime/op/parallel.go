package op

import (
	"errors"
	"sync"

	"github.com/nacre-ml/nacre/internal/guard"
)

// Parallel calls f for ranges that make up 0 to n, in as many goroutines as the run may
// use. Ranges begin at multiples of grain; work that is smaller than two grains is one
// range. The calls must not use Mem. The error is that of the first range that fails.
func (c *Run) Parallel(n, grain int, f func(from, to int) error) error {
	grains := (n + grain - 1) / grain
	parts := max(min(c.Threads, grains), 1)
	if parts == 1 {
		return f(0, n)
	}
	errs := make([]error, parts)
	var wait sync.WaitGroup
	for i := range parts {
		wait.Go(func() {
			from, to := i*grains/parts*grain, min((i+1)*grains/parts*grain, n)
			errs[i] = guard.Call(func() error { return f(from, to) })
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
