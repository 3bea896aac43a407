package testenv

import (
	"context"
	"sync"
)

// Ending is a context that is over when somebody has asked it for its error a number of
// times, so that tests end work at every place where it looks, without a clock.
type Ending struct {
	context.Context
	mutex sync.Mutex
	left  int
	asked int
	done  chan struct{}
}

// EndingAfter returns a context whose error is nil so many times and
// context.DeadlineExceeded from then on.
func EndingAfter(times int) *Ending {
	return &Ending{Context: context.Background(), left: times, done: make(chan struct{})}
}

// Err counts.
func (e *Ending) Err() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.asked++
	switch {
	case e.asked <= e.left:
		return nil
	case e.asked == e.left+1:
		close(e.done)
	}
	return context.DeadlineExceeded
}

// Done returns the channel that closes with the first error.
func (e *Ending) Done() <-chan struct{} { return e.done }

// Asked returns how often the error was asked for.
func (e *Ending) Asked() int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.asked
}

// Over reports whether an error was returned.
func (e *Ending) Over() bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return e.asked > e.left
}
