package operators

import (
	"runtime"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// counter is memory of an operator that counts the bytes it is asked for.
type counter struct {
	run     *op.Run
	counted int // at its most
	held    int
}

func (c *counter) Reserve(n int) error {
	c.held += n
	c.counted = max(c.counted, c.held)
	return nil
}

func (c *counter) Scratch(n int) ([]byte, error) {
	c.Reserve(n)
	return tensor.New(tensor.U8, n).Bytes(), nil
}

func (c *counter) Tensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	c.Reserve(tensor.SizeOf(d, shape))
	return tensor.New(d, shape...), nil
}

func (c *counter) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	t, err := c.Tensor(d, shape)
	c.run.Out[i] = t
	return t, err
}

// taken is the memory of a node's run.
type taken struct {
	extra    int // bytes of Go's heap beside the bytes that Mem counts
	elements int // of the operands
	heap     int // Row.Heap
}

// within reports whether the row allows that much, apart from memory that does not grow with
// operands.
func (t taken) within() bool { return t.extra <= t.heap*t.elements+t.elements/2+256<<10 }

// uncounted runs a node in Go. If Go does not run it on such operands, ok is false.
func uncounted(n *graph.Node, values map[string]*tensor.Tensor) (t taken, ok bool) {
	o, row, err := standard.Registry().New(n)
	if err != nil {
		return t, false
	}
	t.heap = row.Heap
	runner, isRunner := o.(op.Runner)
	if !isRunner || row.View || slices.ContainsFunc(n.Attrs, func(a *graph.Attr) bool { return a.Graph != nil }) {
		return t, false
	}
	c := &op.Run{Node: n, Threads: 1}
	var in []*op.Value
	for _, name := range n.Inputs {
		x := values[name]
		if x == nil && name != "" {
			return t, false
		}
		c.In = append(c.In, x)
		if x == nil {
			c.Values, in = append(c.Values, nil), append(in, nil)
			continue
		}
		c.Values, in = append(c.Values, x), append(in, op.Known(x))
		t.elements += x.Len()
	}
	mem := &counter{run: c}
	c.Mem, c.Out = mem, make([]*tensor.Tensor, len(n.Outputs))
	c.Made, c.Sole = make([]tensor.Value, len(n.Outputs)), make([]bool, len(n.Outputs))
	if row.CheckTypes(in) != nil {
		return t, false
	}
	rule := &op.Infer{In: in}
	for range n.Outputs {
		rule.Out = append(rule.Out, &op.Value{})
	}
	if guard.Call(func() error { return o.Infer(rule) }) != nil {
		return t, false
	}
	for i, v := range rule.Out {
		shape, concrete := v.Dims.Concrete()
		if n.Outputs[i] != "" && concrete && v.Kind == graph.TensorType && !row.DynamicOutputs {
			c.Out[i] = tensor.New(v.DType, shape...)
			t.elements += shape.Len()
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = guard.Call(func() error { return runner.Run(c) })
	runtime.ReadMemStats(&after)
	t.extra = int(after.TotalAlloc-before.TotalAlloc) - mem.counted
	return t, err == nil
}

// variant returns t with elements of type to, if its own are of type from.
func variant(t *tensor.Tensor, from, to tensor.DType) *tensor.Tensor {
	if t == nil || t.DType() != from {
		return t
	}
	v, at := tensor.New(to, t.Shape()...), tensor.Numbers(t)
	for i := range t.Len() {
		switch to {
		case tensor.F16:
			tensor.View[packed.F16](v)[i] = packed.ToF16(float32(at(i)))
		case tensor.F64:
			tensor.View[float64](v)[i] = at(i)
		case tensor.I32:
			tensor.View[int32](v)[i] = int32(at(i))
		case tensor.I64:
			tensor.View[int64](v)[i] = int64(at(i))
		}
	}
	return v
}

// TestMemory runs the operators in Go, on elements of several types. Each takes the memory that Mem
// counts and Row.Heap allows.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("fills hundreds of megabytes: not in short runs")
	}
	list, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	changes := [][2]tensor.DType{
		{}, {tensor.F32, tensor.F16}, {tensor.F32, tensor.F64}, {tensor.I64, tensor.I32}, {tensor.I32, tensor.I64},
	}
	for _, r := range list {
		m, err := r.Build()
		if err != nil {
			t.Error(err)
			continue
		}
		for _, change := range changes {
			values, changed := changed(m, change[0], change[1])
			if !changed && change != changes[0] {
				continue
			}
			most, ok := uncounted(m.Graph.Nodes[0], values)
			for range 2 { // other work of the process counts too
				if !ok || most.within() {
					break
				}
				if again, _ := uncounted(m.Graph.Nodes[0], values); again.extra < most.extra {
					most = again
				}
			}
			if ok && !most.within() {
				t.Errorf("%s of %v for %v: %d bytes beside those that count, for %d elements; Row.Heap is %d",
					r.Name, change[1], change[0], most.extra, most.elements, most.heap)
			}
		}
	}
}

// changed returns the values of a model by name, with elements of type from converted to type to.
// It reports whether any changed.
func changed(m *Model, from, to tensor.DType) (values map[string]*tensor.Tensor, changed bool) {
	values = map[string]*tensor.Tensor{}
	for i, v := range m.Graph.Inputs {
		values[v.Name] = variant(m.Feeds[i], from, to)
		changed = changed || values[v.Name] != m.Feeds[i]
	}
	for _, init := range m.Graph.Initializers {
		values[init.Name] = variant(init.Tensor, from, to)
		changed = changed || values[init.Name] != init.Tensor
	}
	return values, changed
}
