// Package exec walks the steps of a plan on the CPU.
package exec

import (
	"context"
	"fmt"
	"slices"
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
	half  bindings.Kernel
	limit int // bytes that one run may take; 0 for no limit
	idle  frames
}

// New returns an executor that starts threads-1 threads beside its callers', and
// converts 16-bit floats with kernels of the levels in isa. Limit bounds the
// memory of one run in bytes; 0 is no limit.
func New(threads, limit int, isa bindings.ISA) (*Executor, error) {
	half, err := bindings.Select("half", isa)
	if err != nil {
		return nil, err
	}
	pool, err := bindings.NewPool(threads)
	if err != nil {
		return nil, err
	}
	return &Executor{pool: pool, half: half, limit: limit}, nil
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
func (e *Executor) Run(ctx context.Context, pl *plan.Plan, inputs []tensor.Value, prof *Profile) ([]tensor.Value, error) {
	f, err := e.run(ctx, pl, inputs, prof)
	if err != nil {
		return nil, err
	}
	defer e.idle.put(f)
	return f.results(), nil
}

// run walks the steps and returns the frame with the values, to be put back.
func (e *Executor) run(ctx context.Context, pl *plan.Plan, inputs []tensor.Value, prof *Profile) (*frame, error) {
	if e.limit > 0 && pl.PeakBytes() > e.limit {
		return nil, fail(pl, nil, fmt.Errorf("a run takes %d bytes and the memory limit is %d; the option MemoryLimit sets it", pl.PeakBytes(), e.limit))
	}
	f, err := e.idle.get(pl)
	if err != nil {
		return nil, fail(pl, nil, err)
	}
	done := false
	defer func() {
		if !done {
			e.idle.put(f)
		}
	}()
	for i, id := range pl.Program.Inputs {
		f.values[id] = aligned(inputs[i])
	}
	f.limit, f.budget = e.limit, e.limit-pl.ArenaBytes
	for i := range pl.Steps {
		if err := ctx.Err(); err != nil {
			return nil, fail(pl, &pl.Steps[i], err)
		}
		var start time.Time
		if prof != nil {
			start = time.Now()
		}
		if err := e.step(ctx, f, &pl.Steps[i]); err != nil {
			return nil, fail(pl, &pl.Steps[i], fmt.Errorf("%w; inputs %s", err, f.describe(&pl.Steps[i])))
		}
		if prof != nil {
			prof.add(pl, i, f, start, time.Since(start))
		}
		for _, id := range pl.Steps[i].Dead {
			f.values[id] = nil
		}
	}
	done = true
	return f, nil
}

// aligned returns v with every tensor as kernels need it.
func aligned(v tensor.Value) tensor.Value {
	if t, ok := v.(*tensor.Tensor); ok {
		return t.Aligned()
	}
	return tensor.Replace(v, (*tensor.Tensor).Aligned)
}

// fail says where a run ended.
func fail(pl *plan.Plan, s *plan.Step, err error) error {
	var n *graph.Node
	if s != nil {
		n = s.Node.Node
	}
	return pl.Program.Fail("run", n, err)
}

// step sets up the operands of one step and runs its operator.
func (e *Executor) step(ctx context.Context, f *frame, s *plan.Step) error {
	c := &f.run
	c.Node, c.Pool, c.Half, c.Mem = s.Node.Node, e.pool, e.half, f
	c.In, c.Values, c.Out, c.Made = c.In[:0], c.Values[:0], c.Out[:0], c.Made[:0]
	for _, id := range s.In[:len(s.Inputs)] {
		var v tensor.Value
		if id >= 0 {
			v = f.values[id]
		}
		t, _ := v.(*tensor.Tensor)
		c.In, c.Values = append(c.In, t), append(c.Values, v)
	}
	c.Body, c.BodyType = nil, nil
	if s.Bodies != nil {
		c.BodyType = func(attr string, i int) graph.Type { return s.Bodies[attr].Type(s.Bodies[attr].Outputs[i]) }
		c.Body = func(attr string, in []tensor.Value) ([]tensor.Value, error) { return e.body(ctx, f, s, attr, in) }
	}
	if s.Row.View && c.In[0] == nil {
		f.values[s.Out[0]], f.shared[s.Out[0]] = c.Values[0], true
		return nil
	}
	if err := f.outputs(s); err != nil {
		return err
	}
	if s.Row.View && len(s.Out) == 1 {
		return nil
	}
	err := op.Execute(s.Op, c)
	f.scratch.rewind()
	if err != nil {
		return err
	}
	for i, id := range s.Out {
		switch {
		case id < 0:
		case c.Made[i] != nil:
			f.values[id], f.shared[id] = f.keep(c.Made[i]), true
		case c.Out[i] != nil:
			f.values[id] = c.Out[i]
		default:
			return fmt.Errorf("output %d was not computed", i)
		}
	}
	return nil
}

// body runs a graph that the step's node holds, in a frame of its own.
func (e *Executor) body(ctx context.Context, f *frame, s *plan.Step, attr string, in []tensor.Value) ([]tensor.Value, error) {
	b := s.Bodies[attr]
	if b == nil {
		return nil, graph.Mark(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
	}
	if len(in) != len(b.Decl) {
		return nil, graph.Mark(graph.ErrFormat, "graph %q takes %d inputs and is given %d", attr, len(b.Decl), len(in))
	}
	for i, v := range in {
		want := b.Decl[i].Type
		if !takes(want, op.TypeOf(v)) {
			return nil, graph.Mark(graph.ErrShape, "graph %q takes %v as %q and is given %v", attr, want, b.Decl[i].Name, v)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	in = slices.Clone(in)
	for _, id := range b.Captures {
		in = append(in, f.values[id])
	}
	pl, err := b.Program.For(in)
	if err != nil {
		return nil, err
	}
	sub, err := e.run(ctx, pl, in, nil)
	if err != nil {
		return nil, err
	}
	defer e.idle.put(sub)
	out := make([]tensor.Value, len(b.Outputs))
	for i, id := range b.Outputs {
		out[i] = sub.keep(sub.values[id])
	}
	return out, nil
}

// takes reports whether a body that declares one type can be given another. A
// value stands for an optional that holds it.
func takes(want, have graph.Type) bool {
	if want.Kind == graph.OptionalType && have.Kind != graph.OptionalType && want.Elem != nil {
		return takes(*want.Elem, have)
	}
	return want.Kind == have.Kind && (want.Kind != graph.TensorType || want.DType == have.DType)
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
	parts := make([]string, len(s.Inputs))
	for i, id := range s.In[:len(s.Inputs)] {
		parts[i] = "none"
		if id >= 0 {
			parts[i] = fmt.Sprint(f.values[id])
		}
	}
	return strings.Join(parts, ", ")
}

var _ op.Memory = (*frame)(nil)
