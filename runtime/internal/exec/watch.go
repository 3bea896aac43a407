package exec

import "github.com/nacre-ml/nacre/runtime/internal/device"

// watch has the run's flag set when its context is done. A flag that follows the same context
// already is kept.
func (r *run) watch() (err error) {
	if r.watched.Follows(r.ctx) {
		return nil
	}
	r.unwatch()
	r.watched, err = device.Watch(r.ctx, r.device)
	r.stop = r.watched.Flag()
	return err
}

// unwatch gives back the flag. No step may be under way.
func (r *run) unwatch() {
	r.watched.End()
	r.watched, r.stop = nil, nil
}

// ended returns the error of the run's context. It polls the flag before, which lets the context end in
// builds for one thread.
func (r *run) ended() error {
	if r.stop != nil {
		r.stop.IsSet()
	}
	return r.ctx.Err()
}
