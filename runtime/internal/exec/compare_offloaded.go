package exec

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// isCopy reports whether a step copies a value to an accelerator or back.
func isCopy(s *plan.Step) bool {
	_, ok := s.Op.(device.Reorder)
	return ok && s.Binder == "transfer"
}

// compareOffloaded is compare for a step of an accelerator.
func (e *Executor) compareOffloaded(ctx context.Context, pl *plan.Plan, at, rounds int) (*Comparison, error) {
	s, b, a := &pl.Steps[at], pl.Binding(at), e.device.Accelerator()
	steps, err := a.Alternatives(b)
	if err != nil {
		return nil, err
	}
	t := &offloadedTrials{accelerator: a, binding: b}
	defer t.free()
	if err := t.operands(steps); err != nil {
		return nil, err
	}
	c := &Comparison{Node: s.Label(), Op: s.OpName(), Inputs: describeTypes(b)}
	for _, x := range steps {
		if err := t.record(x); err != nil {
			return nil, err
		}
		c.Ways = append(c.Ways, Way{How: a.Name() + " " + x.String(), Taken: x.String() == s.Step.String()})
	}
	return c, t.measure(ctx, c.Ways, rounds)
}

// offloadedTrials are recorded steps of an accelerator that share their operands in its memory.
type offloadedTrials struct {
	accelerator device.Accelerator
	binding     *device.Binding
	memory      device.Memory
	in, out     []int // offsets of operands
	scratch     int   // offset
	segments    []device.AcceleratorSegment
}

// operands makes memory for the operands of a node and for scratch, and fills the inputs.
func (t *offloadedTrials) operands(steps []*device.Step) error {
	total, align := 0, t.accelerator.Align()
	place := func(n int) int {
		at := total
		total += (n + align - 1) / align * align
		return at
	}
	for _, v := range t.binding.In {
		t.in = append(t.in, place(valueBytes(v)))
	}
	for _, v := range t.binding.Out {
		t.out = append(t.out, place(valueBytes(v)))
	}
	most := 0
	for _, s := range steps {
		most = max(most, s.Temp)
	}
	t.scratch = place(most)
	var err error
	if t.memory, err = t.accelerator.NewMemory(max(total, 1)); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i, v := range t.binding.In {
		if v == nil || v.Const != nil || valueBytes(v) == 0 {
			continue
		}
		shape, _ := v.Dims.Concrete()
		x := tensor.New(v.DType, shape...)
		randomize(r, x)
		if err := t.memory.Write(t.in[i], x.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// valueBytes returns the bytes of a value that is no constant.
func valueBytes(v *op.Value) int {
	if v == nil || v.Const != nil {
		return 0
	}
	shape, ok := v.Dims.Concrete()
	if !ok {
		return 0
	}
	return v.DType.Bytes(shape.Len())
}

// record prepares a step to run on the operands.
func (t *offloadedTrials) record(step *device.Step) error {
	list := make([]device.Recorded, len(step.Commands))
	for i := range step.Commands {
		list[i] = t.resolve(&step.Commands[i])
	}
	s, err := t.accelerator.Record(list, t.memory)
	if err == nil {
		t.segments = append(t.segments, s)
	}
	return err
}

// resolve finds the memory of a command's operands.
func (t *offloadedTrials) resolve(c *device.Command) device.Recorded {
	own := *c
	own.Operands = slices.Clone(c.Operands)
	n := len(own.Operands)
	r := device.Recorded{Command: &own, Bases: make([]int, n), Offsets: make([]graph.Dim, n), Bytes: make([]int, n)}
	for i := range own.Operands {
		o := &own.Operands[i]
		r.Offsets[i] = o.Offset
		at := -1
		switch o.Place {
		case device.In:
			if v := t.binding.In[o.Index]; v.Const != nil {
				o.Data = v.Const.Bytes()
				continue
			}
			at, r.Bytes[i] = t.in[o.Index], valueBytes(t.binding.In[o.Index])
		case device.Out:
			at, r.Bytes[i] = t.out[o.Index], valueBytes(t.binding.Out[o.Index])
		case device.Temp:
			at = t.scratch
		default:
			continue
		}
		r.Bases[i], r.Offsets[i] = device.BaseDevice, o.Offset.Add(graph.Known(at))
	}
	return r
}

// measure times the ways in turns, by the accelerator's clock.
func (t *offloadedTrials) measure(ctx context.Context, ways []Way, rounds int) error {
	times := make([][]time.Duration, len(ways))
	for round := range rounds + 1 { // the first run warms up
		for i, s := range t.segments {
			if err := ctx.Err(); err != nil {
				return err
			}
			if ways[i].Err != nil {
				continue
			}
			if _, ways[i].Err = s.Run(nil, true); ways[i].Err == nil && round > 0 {
				list := s.Times()
				times[i] = append(times[i], time.Duration(list[len(list)-1]-list[0]))
			}
		}
	}
	setMedians(ways, times)
	return nil
}

func (t *offloadedTrials) free() {
	for _, s := range t.segments {
		s.Free()
	}
	if t.memory != nil {
		t.memory.Free()
	}
}
