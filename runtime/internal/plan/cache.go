package plan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxPlans bounds the plans in a cache. The least recently used plan is dropped first.
const maxPlans = 32

// planCache keeps plans under keys of types and extents. The zero value is ready to use.
type planCache struct {
	mu    sync.Mutex
	plans map[string]*cachedPlan
	clock int
}

// cachedPlan is a plan that the first caller makes. plan and err are set once made is closed.
type cachedPlan struct {
	made    chan struct{}
	plan    *Plan
	err     error
	stopped bool // the first caller's context ended before the plan was made
	used    int
}

// For returns the plan for inputs with these types and extents. The first call makes the plan, and
// later calls reuse it. If ctx ends first, For returns its error.
func (p *Program) For(ctx context.Context, inputs []tensor.Value) (*Plan, error) {
	var buf [128]byte
	key := buf[:0]
	for _, v := range inputs {
		key = appendType(key, v)
	}
	return p.plans.get(ctx, key, func() (*Plan, error) {
		types := make([]graph.Type, len(inputs))
		for i, v := range inputs {
			types[i] = op.TypeOf(v)
		}
		return p.planWith(ctx, p.declared(types), nil)
	})
}

// ForTypes is For with types in place of inputs. The extents of tensors must be numbers.
func (p *Program) ForTypes(ctx context.Context, types []graph.Type) (*Plan, error) {
	var key []byte
	for i, t := range types {
		shape, ok := t.Dims.Concrete()
		switch {
		case t.Kind != graph.TensorType:
			key = append(key, notTensor)
		case !ok:
			return nil, graph.Errorf(graph.ErrShape, "extents of input %q, %v, are not known", p.Names[p.Inputs[i]], t)
		default:
			key = appendTensor(key, t.DType, shape)
		}
	}
	return p.plans.get(ctx, key, func() (*Plan, error) {
		return p.planWith(ctx, p.declared(slices.Clone(types)), nil)
	})
}

// ForLengths is ForTypes with extents that may be expressions over the lengths of l. A new plan
// keeps l and updates its States.
func (p *Program) ForLengths(ctx context.Context, types []graph.Type, l *Lengths) (*Plan, error) {
	var key []byte
	for _, t := range types {
		key = append(key, byte(t.DType), byte(t.Kind))
		for _, d := range t.Dims {
			key = append(append(key, d.Key()...), ',')
		}
		key = append(key, ';')
	}
	for _, name := range slices.Sorted(maps.Keys(l.Bounds)) {
		key = fmt.Appendf(key, "%s<%d;", name, l.Bounds[name])
	}
	for _, s := range l.States {
		key = fmt.Appendf(key, "%d>%d:%d,%d,%t;", s.In, s.Out, s.Axis, s.Room, s.InRoom)
	}
	return p.plans.get(ctx, key, func() (*Plan, error) {
		return p.planWith(ctx, p.declared(slices.Clone(types)), l)
	})
}

// Forget drops the plans of the program and of the graphs in its nodes. Current runs keep their
// plans, and later runs make new ones.
func (p *Program) Forget() {
	p.plans.clear()
	for _, n := range p.Nodes {
		for _, b := range n.Bodies {
			b.Forget()
		}
	}
}

// Plans returns how many plans Forget would drop, without the graphs in nodes.
func (p *Program) Plans() int {
	p.plans.mu.Lock()
	defer p.plans.mu.Unlock()
	return len(p.plans.plans)
}

// declared replaces types other than tensor types by the program's own. Plans depend only on these.
func (p *Program) declared(types []graph.Type) []graph.Type {
	for i, t := range types {
		if t.Kind != graph.TensorType {
			types[i] = p.values[p.Inputs[i]].Type
		}
	}
	return types
}

// Static plans ahead of the first run if the model declares all extents of its inputs.
func (p *Program) Static(ctx context.Context) error {
	types, key := make([]graph.Type, len(p.Inputs)), []byte(nil)
	for i, id := range p.Inputs {
		types[i] = p.values[id].Type
		shape, ok := types[i].Dims.Concrete()
		if types[i].Kind != graph.TensorType || !ok {
			return nil
		}
		key = appendTensor(key, types[i].DType, shape)
	}
	_, err := p.plans.get(ctx, key, func() (*Plan, error) { return p.planWith(ctx, types, nil) })
	return err
}

// notTensor stands in keys for a value that is not a tensor.
const notTensor = 0xff

func appendType(key []byte, v tensor.Value) []byte {
	t, ok := v.(*tensor.Tensor)
	if !ok {
		return append(key, notTensor)
	}
	return appendTensor(key, t.DType(), t.Shape())
}

func appendTensor(key []byte, d tensor.DType, shape tensor.Shape) []byte {
	key = append(key, byte(d))
	key = binary.AppendUvarint(key, uint64(len(shape)))
	for _, n := range shape {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return key
}

// get returns the plan under a key. The first call makes it. If the context of that call ends, a
// waiting call makes the plan instead.
func (c *planCache) get(ctx context.Context, key []byte, make func() (*Plan, error)) (*Plan, error) {
	for {
		e, first := c.entry(key)
		if first {
			c.fill(ctx, string(key), e, make)
			return e.plan, e.err
		}
		if err := e.wait(ctx); err != nil {
			return nil, err
		}
		if !e.stopped {
			return e.plan, e.err
		}
	}
}

// fill makes the plan of an entry. If the context ended, it removes the entry.
func (c *planCache) fill(ctx context.Context, key string, e *cachedPlan, make func() (*Plan, error)) {
	defer close(e.made)
	e.err = errEarly
	begin := time.Now()
	if e.plan, e.err = make(); e.plan != nil {
		e.plan.took = time.Since(begin)
	}
	if e.err == nil || ctx.Err() == nil {
		return
	}
	e.stopped = true
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plans[key] == e {
		delete(c.plans, key)
	}
}

var errEarly = errors.New("making the plan ended early")

// wait waits until the plan is made. If the context ends first, it returns its error.
func (e *cachedPlan) wait(ctx context.Context) error {
	select {
	case <-e.made:
		return nil
	default:
	}
	select {
	case <-e.made:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *planCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.plans)
}

// entry returns the entry of a key. If first is true, the caller must fill the entry.
func (c *planCache) entry(key []byte) (e *cachedPlan, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e = c.plans[string(key)]
	if first = e == nil; first {
		e = c.add(string(key))
	}
	c.clock++
	e.used = c.clock
	return e, first
}

func (c *planCache) add(key string) *cachedPlan {
	if c.plans == nil {
		c.plans = map[string]*cachedPlan{}
	}
	if len(c.plans) == maxPlans {
		oldest := ""
		for k, e := range c.plans {
			if oldest == "" || e.used < c.plans[oldest].used {
				oldest = k
			}
		}
		delete(c.plans, oldest)
	}
	e := &cachedPlan{made: make(chan struct{})}
	c.plans[key] = e
	return e
}
