package exec

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Comparison is a step and the ways in which its device can compute it, including the plan's.
type Comparison struct {
	Node, Op string
	Inputs   string
	Ways     []Way
}

// Way is one way to compute a step.
type Way struct {
	How   string
	Taken bool          // by the plan
	Time  time.Duration // median
	Err   error         // of the kernels, which may reject random inputs
}

// Compare times, for every step of the plan that has commands, all ways to compute it, in turns,
// rounds times each. All ways of a step share operands: constants of the plan, and random elements
// for other inputs. Steps of an accelerator are timed by its own clock; copies to and from it are
// left out. If node is not empty, only steps of the node with this label are timed.
func (e *Executor) Compare(ctx context.Context, pl *plan.Plan, node string, rounds int) ([]Comparison, error) {
	var list []Comparison
	for i := range pl.Steps {
		s := &pl.Steps[i]
		if s.OnHost() || isCopy(s) || len(s.Commands) == 0 || node != "" && s.Label() != node {
			continue
		}
		c, err := e.compare(ctx, pl, i, rounds)
		if err != nil {
			return nil, pl.Program.Fail("compare", s.Node.Node, err)
		}
		list = append(list, *c)
	}
	return list, nil
}

func (e *Executor) compare(ctx context.Context, pl *plan.Plan, at, rounds int) (*Comparison, error) {
	s, b := &pl.Steps[at], pl.Binding(at)
	if s.Offloaded() {
		return e.compareOffloaded(ctx, pl, at, rounds)
	}
	steps, err := e.device.Alternatives(b)
	if err != nil {
		return nil, err
	}
	t := &trials{device: e.device}
	defer t.free()
	if err := t.operands(b); err != nil {
		return nil, err
	}
	c := &Comparison{Node: s.Label(), Op: s.OpName(), Inputs: describeTypes(b)}
	for _, x := range steps {
		if err := t.record(x); err != nil {
			return nil, err
		}
		c.Ways = append(c.Ways, Way{How: e.device.Name() + " " + x.String(), Taken: x.String() == s.Step.String()})
	}
	return c, t.measure(ctx, c.Ways, rounds)
}

func describeTypes(b *device.Binding) string {
	parts := make([]string, len(b.In))
	for i, v := range b.In {
		parts[i] = "none"
		if v != nil {
			parts[i] = v.Type.String()
		}
		if l := b.InLayout(i); l != device.Plain {
			parts[i] += " " + l.String()
		}
	}
	return strings.Join(parts, ", ")
}

// trials are recorded steps that share their operands. Base 1 is scratch; the inputs and outputs
// follow.
type trials struct {
	device   device.Device
	in, out  []*tensor.Tensor
	memory   [][]byte
	pinned   device.Pinner
	segments []device.Segment
}

// operands makes the inputs and outputs of a node.
func (t *trials) operands(b *device.Binding) error {
	r := rand.New(rand.NewPCG(1, 2))
	for i, v := range b.In {
		x, err := t.operand(v, b.InLayout(i))
		if err != nil {
			return err
		}
		if x != nil && v.Const == nil {
			randomize(r, x)
		}
		t.in = append(t.in, x)
	}
	for i, v := range b.Out {
		x, err := t.operand(v, b.OutLayout(i))
		if err != nil {
			return err
		}
		t.out = append(t.out, x)
	}
	return nil
}

// operand returns a constant, or zeros in memory of the device with the extents of the layout. It
// returns nil for an absent value.
func (t *trials) operand(v *op.Value, l device.Layout) (*tensor.Tensor, error) {
	if v == nil {
		return nil, nil
	}
	if v.Const != nil {
		return t.device.Aligned(v.Const)
	}
	shape, ok := v.Dims.Concrete()
	if !ok {
		return nil, graph.Errorf(graph.ErrShape, "extents of %v are not known", v.Type)
	}
	shape = l.Extents(shape)
	b, err := t.alloc(v.DType.Bytes(shape.Len()))
	if err != nil {
		return nil, err
	}
	clear(b)
	return tensor.FromBytes(v.DType, shape, b)
}

func (t *trials) alloc(n int) ([]byte, error) {
	b := t.device.Alloc(max(n, 1))
	if b == nil {
		return nil, graph.ErrMemory
	}
	t.memory = append(t.memory, b)
	return b[:n], nil
}

// record prepares a step to run on the operands.
func (t *trials) record(step *device.Step) error {
	list := make([]device.Recorded, len(step.Commands))
	for i := range step.Commands {
		list[i] = device.Record(&step.Commands[i], func(o device.Operand) int {
			if o.Place == device.In {
				return 2 + o.Index
			}
			return 2 + len(t.in) + o.Index
		}, 1, device.AlignUp(step.Temp))
	}
	scratch, err := t.alloc(step.Scratch())
	if err != nil {
		return err
	}
	s, err := t.device.Record(list)
	if err != nil {
		return err
	}
	t.segments = append(t.segments, s)
	s.Rebase(1, scratch)
	for i, x := range slices.Concat(t.in, t.out) {
		if x != nil {
			t.pinned.Pin(x.Pointer())
			s.Rebase(2+i, x.Bytes())
		}
	}
	return nil
}

// sample is the shortest time of one measurement. Shorter steps are repeated.
const sample = 200 * time.Microsecond

// measure times the ways in turns.
func (t *trials) measure(ctx context.Context, ways []Way, rounds int) error {
	times, repeat := make([][]time.Duration, len(ways)), make([]int, len(ways))
	for i := range ways {
		for range 2 { // the first run warms up
			begin := time.Now()
			_, ways[i].Err = t.segments[i].Run(nil, false)
			repeat[i] = 1 + int(sample/max(time.Since(begin), 1))
		}
	}
	for range rounds {
		for i, s := range t.segments {
			if err := ctx.Err(); err != nil {
				return err
			}
			if ways[i].Err != nil {
				continue
			}
			begin := time.Now()
			for range repeat[i] {
				if _, ways[i].Err = s.Run(nil, false); ways[i].Err != nil {
					break
				}
			}
			times[i] = append(times[i], time.Since(begin)/time.Duration(repeat[i]))
		}
	}
	setMedians(ways, times)
	return nil
}

// setMedians sets the time of each way to the median of its times, if there are any. It sorts them.
func setMedians(ways []Way, times [][]time.Duration) {
	for i, list := range times {
		if len(list) > 0 {
			slices.Sort(list)
			ways[i].Time = list[len(list)/2]
		}
	}
}

func (t *trials) free() {
	for _, s := range t.segments {
		s.Free()
	}
	t.pinned.Unpin()
	for _, b := range t.memory {
		t.device.Free(b)
	}
}
