package runtime

import (
	"encoding/binary"
	"sync"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxPlans bounds the plans that a session keeps; the one unused for longest
// goes first.
const maxPlans = 32

// planCache keeps plans by the extents of the inputs. The zero value is ready.
type planCache struct {
	mu    sync.Mutex
	plans map[string]*cachedPlan
	clock int
}

type cachedPlan struct {
	once sync.Once
	plan *plan.Plan
	err  error
	used int
}

// get returns the plan for the inputs, made by the first call that needs it.
func (c *planCache) get(p *plan.Program, inputs []*tensor.Tensor) (*plan.Plan, error) {
	var buf [128]byte
	key := buf[:0]
	for _, t := range inputs {
		key = binary.AppendUvarint(key, uint64(len(t.Shape())))
		for _, d := range t.Shape() {
			key = binary.AppendUvarint(key, uint64(d))
		}
	}
	c.mu.Lock()
	e := c.plans[string(key)]
	if e == nil {
		e = c.add(string(key))
	}
	c.clock++
	e.used = c.clock
	c.mu.Unlock()
	e.once.Do(func() {
		types := make([]graph.Type, len(inputs))
		for i, t := range inputs {
			types[i] = graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))
		}
		e.plan, e.err = p.Plan(types)
	})
	return e.plan, e.err
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
	e := &cachedPlan{}
	c.plans[key] = e
	return e
}
