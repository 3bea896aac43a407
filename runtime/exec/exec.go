// Package exec walks the steps of a plan on the CPU.
package exec

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Executor runs plans of one program. Run may be called from many goroutines;
// each call has a frame of its own, and frames are kept for the next calls.
type Executor struct {
	pool  *bindings.Pool
	limit int // bytes that one run may take; 0 for no limit
	idle  frames
}

// New returns an executor that starts threads-1 threads beside its callers'.
// Limit bounds the memory of one run in bytes; 0 is no limit.
func New(threads, limit int) (*Executor, error) {
	pool, err := bindings.NewPool(threads)
	if err != nil {
		return nil, err
	}
	return &Executor{pool: pool, limit: limit}, nil
}

// Close ends the threads and frees the idle frames. No run may be under way.
func (e *Executor) Close() {
	e.idle.close()
	e.pool.Close()
}

// Run computes the results of the plan, in the order of the program's outputs.
// Inputs are as the plan was made for, in the order of the program's inputs;
// they are not written, and results do not share their memory. A cancelled
// context ends the run between two steps. With a profile, the time of every
// step is added to it.
func (e *Executor) Run(ctx context.Context, pl *plan.Plan, inputs []*tensor.Tensor, prof *Profile) ([]*tensor.Tensor, error) {
	if e.limit > 0 && pl.PeakBytes() > e.limit {
		return nil, e.fail(pl, nil, fmt.Errorf("a run takes %d bytes and the memory limit is %d", pl.PeakBytes(), e.limit))
	}
	f, err := e.idle.get(pl)
	if err != nil {
		return nil, e.fail(pl, nil, err)
	}
	defer e.idle.put(f)
	for i, id := range pl.Program.Inputs {
		f.values[id] = inputs[i].Aligned()
	}
	f.limited, f.budget = e.limit > 0, e.limit-pl.ArenaBytes
	for i := range pl.Steps {
		if err := ctx.Err(); err != nil {
			return nil, e.fail(pl, &pl.Steps[i], err)
		}
		var start time.Time
		if prof != nil {
			start = time.Now()
		}
		if err := e.step(f, &pl.Steps[i]); err != nil {
			return nil, e.fail(pl, &pl.Steps[i], fmt.Errorf("%w; inputs %s", err, f.describe(&pl.Steps[i])))
		}
		if prof != nil {
			prof.add(pl, i, f, start, time.Since(start))
		}
		for _, id := range pl.Steps[i].Dead {
			f.values[id] = nil
		}
	}
	return f.results(), nil
}

// fail says where a run ended.
func (e *Executor) fail(pl *plan.Plan, s *plan.Step, err error) error {
	g := &graph.Error{Stage: "run", File: pl.Program.File, Offset: -1, Err: err}
	if s != nil {
		g.Node, g.Op = s.Label(), s.OpName()
	}
	return g
}

// step sets up the operands of one step and runs its operator.
func (e *Executor) step(f *frame, s *plan.Step) error {
	c := &f.run
	c.Node, c.Pool, c.Mem = s.Node.Node, e.pool, f
	c.In, c.Out = c.In[:0], c.Out[:0]
	f.scratch.rewind()
	for _, id := range s.In {
		if id < 0 {
			c.In = append(c.In, nil)
			continue
		}
		c.In = append(c.In, f.values[id])
	}
	if err := f.outputs(s); err != nil {
		return err
	}
	if s.Row.View && len(s.Out) == 1 {
		return nil
	}
	if err := op.Execute(s.Op, c); err != nil {
		return err
	}
	for i, id := range s.Out {
		if id < 0 {
			continue
		}
		if c.Out[i] == nil {
			return fmt.Errorf("output %d was not computed", i)
		}
		f.values[id] = c.Out[i]
	}
	return nil
}

// frames is a free list: memory of runs that have ended.
type frames struct {
	mu   sync.Mutex
	list []*frame
}

// maxIdle bounds the frames kept for later runs.
const maxIdle = 16

// get returns a frame for the plan: one that was set up for it, else one with a
// large enough arena, else a new one.
func (fs *frames) get(pl *plan.Plan) (*frame, error) {
	fs.mu.Lock()
	best := -1
	for i, f := range fs.list {
		if f.plan == pl {
			best = i
			break
		}
		if best < 0 || len(f.arena) > len(fs.list[best].arena) {
			best = i
		}
	}
	var f *frame
	if best >= 0 {
		f = fs.list[best]
		fs.list[best] = fs.list[len(fs.list)-1]
		fs.list = fs.list[:len(fs.list)-1]
	}
	fs.mu.Unlock()
	if f == nil {
		f = &frame{}
	}
	if f.plan == pl {
		return f, nil
	}
	if err := f.setUp(pl); err != nil {
		f.free()
		return nil, err
	}
	return f, nil
}

func (fs *frames) put(f *frame) {
	f.reset()
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if len(fs.list) == maxIdle {
		f.free()
		return
	}
	fs.list = append(fs.list, f)
}

func (fs *frames) close() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.list {
		f.free()
	}
	fs.list = nil
}

// describe lists the operands of a step for messages.
func (f *frame) describe(s *plan.Step) string {
	parts := make([]string, len(s.In))
	for i, id := range s.In {
		parts[i] = "none"
		if id >= 0 {
			parts[i] = f.values[id].String()
		}
	}
	return strings.Join(parts, ", ")
}

var _ op.Memory = (*frame)(nil)
