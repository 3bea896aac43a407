package exec

import (
	"context"
	"sync"

	"github.com/nacre-ml/nacre/runtime/device"
)

// watch has the flag of the run set when its context is done. A flag that already follows
// the same context stays.
func (r *run) watch() error {
	done := r.ctx.Done()
	if done != nil && r.watched != nil && r.watched.done == done {
		return nil
	}
	r.unwatch()
	if done == nil {
		return nil
	}
	flag, err := r.device.NewFlag()
	if err != nil {
		return err
	}
	w := &watched{done: done, flag: flag}
	w.stop = context.AfterFunc(r.ctx, w.set)
	r.watched, r.stop = w, flag
	return nil
}

// unwatch gives back the flag. No step may be under way.
func (r *run) unwatch() {
	if r.watched == nil {
		return
	}
	r.watched.end()
	r.watched, r.stop = nil, nil
}

// watched is a flag that follows a context. The function that sets it may begin late,
// when the run has ended: whichever of the two comes last frees the flag.
type watched struct {
	done <-chan struct{}
	stop func() bool // takes back the call of set

	mu   sync.Mutex
	flag device.Flag
	left bool // by the run, or by set
}

// set sets the flag. It is called once, when the context is done.
func (w *watched) set() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flag.Set()
	w.leave()
}

// end is called once, when no run looks at the flag any more.
func (w *watched) end() {
	never := w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = w.left || never
	w.leave()
}

// leave frees the flag when both have left it.
func (w *watched) leave() {
	if w.left {
		w.flag.Free()
	}
	w.left = true
}
