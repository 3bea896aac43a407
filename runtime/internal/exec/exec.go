// Package exec runs plans: segments of commands on their device, in one call each, and the steps in
// Go between them.
package exec

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Executor runs plans of one program. Run may be called from many goroutines. Each call has frames
// of its own, and frames are kept for later calls.
type Executor struct {
	device device.Device
	limit  int     // bytes that one run may take; 0 for no limit
	shared *Memory // budget shared with other executors; nil for no limit
	idle   frames
	memory *recycler // of results
	line   device.Line
	counts counters
	log    *slog.Logger // nil for none
}

// Limits bound the runs of an executor. The zero value is no limit.
type Limits struct {
	// Run is the number of bytes that one run may take; 0 for no limit.
	Run int
	// Memory is the budget that all runs take their bytes from; nil for no limit.
	Memory *Memory
	// Waiting is the number of runs that may wait to begin, negative for none. Patience is how long
	// one waits.
	Waiting  int
	Patience time.Duration
	// Log is told of plans, waits and refusals; nil for none.
	Log *slog.Logger
}

// New returns an executor that runs steps on the device.
func New(d device.Device, l Limits) *Executor {
	e := &Executor{device: d, limit: l.Run, shared: l.Memory, log: l.Log}
	e.line.Most, e.line.Patience = l.Waiting, l.Patience
	e.idle.places, e.idle.shared = d.Places().Units(), l.Memory
	e.memory = newRecycler(l.Run, l.Memory)
	l.Memory.join(e)
	return e
}

// Close frees the idle frames and the returned memory of results. No run may be under way.
func (e *Executor) Close() {
	e.Trim()
	e.shared.part(e)
}

// Trim frees the idle frames and the returned memory of results. Frames of runs under way are freed
// when these end.
func (e *Executor) Trim() {
	e.idle.trim()
	e.memory.trim()
}

// Warm prepares memory for a run of the plan.
func (e *Executor) Warm(pl *plan.Plan) error {
	r := &run{Executor: e, limited: e.limit > 0, budget: e.limit}
	f, err := r.frame(pl)
	if err != nil {
		return err
	}
	e.idle.put(f)
	r.unclaim()
	return nil
}

// Run computes the results of the plan, in the order of the program's outputs. Inputs are in the
// order of the program's inputs, with the types and extents that the plan was made for. They are
// not written, and results do not share their memory. Cancelling the context ends the run, also
// within a step. If prof is not nil, the time of every step is added to it.
func (e *Executor) Run(
	ctx context.Context, pl *plan.Plan, inputs []tensor.Value, prof *Profile,
) ([]tensor.Value, error) {
	return e.start(ctx, pl, inputs, nil, prof)
}

// start runs the plan, as a run of the stream st unless st is nil.
func (e *Executor) start(
	ctx context.Context, pl *plan.Plan, inputs []tensor.Value, st *Stream, prof *Profile,
) (results []tensor.Value, err error) {
	r := &run{Executor: e, ctx: ctx, prof: prof, limited: e.limit > 0, budget: e.limit}
	if err := r.enter(pl, pl.PeakBytes()); err != nil {
		return nil, err
	}
	defer func() { r.leave(err) }()
	if err := r.watch(); err != nil {
		return nil, err
	}
	defer r.unwatch()
	results, err = r.program(pl, alignedAll(inputs), st)
	if ended := ctx.Err(); err == nil && ended != nil {
		results, err = nil, r.fail(pl, nil, ended)
	}
	if err != nil && st != nil {
		st.failed(pl)
	}
	if prof != nil {
		prof.Memory = max(prof.Memory, r.most)
	}
	return results, err
}

// run is one run of a program, including the bodies of its control flow.
type run struct {
	*Executor
	ctx     context.Context
	prof    *Profile
	stop    device.Flag // set when ctx is done; nil if ctx cannot end
	watched *device.Watched
	limited bool
	budget  int    // bytes left, if limited
	garbage int    // bytes of Go's heap that the run took and no longer needs
	taken   int    // bytes of arenas, scratch and results that frames hold
	most    int    // the highest value of taken
	within  string // path of the bodies that run, as in StepTime.Within

	bound   bool          // the run is of a Bound, which keeps its memory
	claimed int           // bytes of the shared memory that the run has taken
	placed  bool          // the run has a place
	begun   time.Duration // when it began, after it waited
}

// take counts n bytes of memory of a frame.
func (r *run) take(f *frame, n int) {
	f.taken += n
	r.taken += n
	r.most = max(r.most, r.taken)
}

// program runs all stages of a program and returns its results. If st is not nil it provides the
// lengths and the memory of states.
func (r *run) program(pl *plan.Plan, inputs []tensor.Value, st *Stream) (results []tensor.Value, err error) {
	var list []*frame
	defer func() {
		for _, f := range list {
			r.release(f)
			r.idle.put(f)
		}
	}()
	for {
		f, err := r.frame(pl)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
		if st != nil {
			if err := st.attach(f); err != nil {
				return nil, r.fail(pl, nil, err)
			}
		}
		if len(list) == 1 {
			for i, id := range pl.Program.Inputs {
				if pl.Slots[id].Place != plan.InState {
					f.set(id, inputs[i])
				}
			}
		} else {
			f.inherit(list[len(list)-2])
		}
		if err := r.stage(f); err != nil {
			return nil, err
		}
		if pl.Done() {
			results, err := collect(list, st)
			if err != nil {
				return nil, r.fail(pl, nil, err)
			}
			return results, nil
		}
		for _, id := range pl.Live() {
			f.value(id)
		}
		if pl, err = pl.Next(r.ctx, f.values); err != nil {
			return nil, err
		}
	}
}

// frame returns a frame for the plan. Its memory counts for the run.
func (r *run) frame(pl *plan.Plan) (*frame, error) {
	n := pl.PeakBytes()
	if r.limited && n > r.budget {
		return nil, r.fail(pl, nil, r.exceeds(n, r.budget))
	}
	r.budget -= n
	err := r.claim()
	var f *frame
	if err == nil {
		f, err = r.idle.get(pl, r.device)
	}
	if err != nil {
		r.budget += n
		return nil, r.fail(pl, nil, err)
	}
	f.run, f.counted = r, n
	r.take(f, len(f.arena)+len(f.scratch))
	return f, nil
}

// release gives the bytes of a frame back to the run's limit.
func (r *run) release(f *frame) {
	r.budget += f.counted + f.reserved
	r.taken -= f.taken
	r.garbage += f.plan.ResultBytes + f.reserved
}

// count takes n bytes of the run's limit.
func (r *run) count(n int) error {
	if !r.limited {
		return nil
	}
	left := r.budget
	if r.budget -= n; r.budget < 0 && n > 0 {
		return r.exceeds(n, left)
	}
	if n <= 0 {
		return nil
	}
	r.collect()
	return r.claim()
}

// leastGarbage is the least memory in bytes that a run drops before it collects Go's heap.
const leastGarbage = 32 << 20

// collect collects Go's heap if the run's garbage is larger than a quarter of the limit, than
// leastGarbage, and than the bytes left of the limit.
func (r *run) collect() {
	if r.limited && r.garbage > max(r.limit/4, leastGarbage) && r.garbage > r.budget {
		r.garbage = 0
		goruntime.GC()
	}
}

// waited returns the error of a run that did not begin.
func (r *run) waited(pl *plan.Plan, err error) error {
	switch {
	case errors.Is(err, graph.ErrMemory):
	case errors.Is(err, graph.ErrBusy):
		err = fmt.Errorf("the process is busy: %w", err)
	default:
		err = fmt.Errorf("it waited for other runs to end: %w", err)
	}
	return r.fail(pl, nil, err)
}

// exceeds returns the error of n bytes beyond the limit, with left bytes free.
func (r *run) exceeds(n, left int) error {
	return fmt.Errorf("%w: it takes %d bytes, and %d bytes are left of the memory limit of %d bytes; the option MemoryLimit sets it",
		graph.ErrMemory, n, max(left, 0), r.limit)
}

// stage runs the segments of a frame.
func (r *run) stage(f *frame) error {
	pl := f.plan
	for i := range pl.Segments {
		seg := &pl.Segments[i]
		if err := r.ended(); err != nil {
			return r.fail(pl, &pl.Steps[seg.First], err)
		}
		at, err := r.segment(f, i)
		if err != nil {
			return r.fail(pl, &pl.Steps[at], fmt.Errorf("%w; inputs %s", err, f.describe(&pl.Steps[at])))
		}
	}
	return nil
}

// segment runs segment i while its constants are held in memory. With an error it returns the step
// that failed.
func (r *run) segment(f *frame, i int) (at int, err error) {
	seg := &f.plan.Segments[i]
	if len(seg.Weights)+len(seg.Scattered) > 0 {
		w := r.device.Weights()
		if err := w.Hold(seg.Weights); err != nil {
			return seg.First, err
		}
		defer func() {
			w.Drop(seg.Weights)
			for _, data := range seg.Scattered {
				w.Forget(data)
			}
		}()
	}
	if f.plan.Steps[seg.First].OnHost() {
		return seg.First, r.host(f, seg.First)
	}
	if f.plan.Steps[seg.First].Fetches() {
		return seg.First, r.fetch(f, seg.First)
	}
	return r.commands(f, i)
}

// commands runs a segment in one call of the device. With an error it returns the step that failed.
func (r *run) commands(f *frame, i int) (int, error) {
	seg := &f.plan.Segments[i]
	s, err := f.segment(i)
	if err != nil {
		return seg.First, err
	}
	begin := r.prof.now()
	if s == nil {
		if r.prof != nil {
			r.prof.segment(f, seg, nil, nil, begin)
		}
		return 0, nil
	}
	if a, ok := s.(device.AcceleratorSegment); ok {
		a.Draw(r.ctx)
	}
	done, err := s.Run(r.stop, r.prof != nil)
	if err == nil && done < len(seg.Recorded) {
		err = r.ctx.Err()
	}
	if err != nil {
		return seg.Owner[min(done, len(seg.Owner)-1)], err
	}
	if r.prof != nil {
		var ran []device.Ran
		if a, ok := s.(device.AcceleratorSegment); ok {
			begin = r.prof.wait(seg, begin, a.Began())
			ran = a.Ran()
		}
		r.prof.segment(f, seg, s.Times(), ran, begin)
	}
	for at := seg.First; at < seg.End; at++ {
		f.bury(at)
	}
	return 0, nil
}

// alignedAll returns the values with the tensors of sequences, optionals and maps aligned as
// kernels need them.
func alignedAll(values []tensor.Value) []tensor.Value {
	list := values
	for i, v := range values {
		if _, ok := v.(*tensor.Tensor); ok || isAligned(v) {
			continue
		}
		if &list[0] == &values[0] {
			list = slices.Clone(values)
		}
		list[i] = tensor.Replace(v, (*tensor.Tensor).Aligned)
	}
	return list
}

func isAligned(v tensor.Value) bool {
	all := true
	tensor.Walk(v, func(t *tensor.Tensor) { all = all && t.IsAligned() })
	return all
}

// fail returns err with the place in the model where a run ended.
func (r *run) fail(pl *plan.Plan, s *plan.Step, err error) error {
	var n *graph.Node
	if s != nil {
		n = s.Node.Node
	}
	return pl.Program.Fail("run", n, err)
}

// describe lists the operands of a step for messages.
func (f *frame) describe(s *plan.Step) string {
	parts := make([]string, len(s.Inputs))
	for i, id := range s.In[:len(s.Inputs)] {
		parts[i] = "none"
		if id < 0 {
			continue
		}
		if shape := f.shape(id); shape != nil {
			parts[i] = fmt.Sprintf("%v%v", f.plan.Slots[id].Type.DType, shape)
		} else {
			parts[i] = fmt.Sprint(f.value(id))
		}
	}
	return strings.Join(parts, ", ")
}
