package device

import (
	"context"
	"sync"
)

// Watched is a flag that follows a context. The function that sets it may start late, after the
// work has ended. The last of the two frees the flag.
type Watched struct {
	done <-chan struct{}
	stop func() bool // cancels the call of set

	mu   sync.Mutex
	flag Flag
	left bool // one of the work and set is done with the flag
}

// Watch returns a flag of the device that is set when the context is done. It returns nil for a
// context that cannot end.
func Watch(ctx context.Context, d Device) (*Watched, error) {
	if ctx.Done() == nil {
		return nil, nil
	}
	flag, err := d.NewFlag()
	if err != nil {
		return nil, err
	}
	w := &Watched{done: ctx.Done(), flag: flag}
	w.stop = context.AfterFunc(ctx, w.set)
	return w, nil
}

// Flag returns the flag, nil if w is nil.
func (w *Watched) Flag() Flag {
	if w == nil {
		return nil
	}
	return w.flag
}

// Follows reports whether the flag follows ctx.
func (w *Watched) Follows(ctx context.Context) bool {
	return w != nil && ctx.Done() != nil && w.done == ctx.Done()
}

// set sets the flag. It runs once, when the context is done.
func (w *Watched) set() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flag.Set()
	w.leave()
}

// End ends the watch. It must be called once, when nothing reads the flag any more.
func (w *Watched) End() {
	if w == nil {
		return
	}
	never := w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = w.left || never
	w.leave()
}

// leave frees the flag when both are done with it.
func (w *Watched) leave() {
	if w.left {
		w.flag.Free()
	}
	w.left = true
}
