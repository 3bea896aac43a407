package control

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scan runs a graph once per index along an axis of its scan inputs and carries state values on
// (https://onnx.ai/onnx/operators/onnx__Scan.html). Version 8 does so for every member of a batch,
// the first axis of all operands.
type scan struct {
	inputs           int // scan inputs
	inAxes, outAxes  []int
	inRev, outRev    []bool
	batched          bool
	nodeIn, nodeOut  int
	states, scanOuts int
}

func newScan(n *op.Node) (op.Op, error) {
	if err := n.Graph(body); err != nil {
		return nil, err
	}
	o := &scan{inputs: n.Int("num_scan_inputs", 0), nodeIn: len(n.Inputs), nodeOut: len(n.Outputs), batched: n.Since < 9}
	o.states = o.nodeIn - o.inputs
	if o.batched {
		o.states--
	}
	o.scanOuts = o.nodeOut - o.states
	if o.inputs < 1 || o.states < 0 || o.scanOuts < 0 {
		return nil, graph.Errorf(graph.ErrFormat, "has %d inputs and %d outputs, and num_scan_inputs is %d", o.nodeIn,
			o.nodeOut, o.inputs)
	}
	inName := "scan_input_directions"
	if o.batched {
		inName = "directions"
	}
	var err error
	if o.inRev, err = directions(n, inName, o.inputs); err != nil {
		return nil, err
	}
	o.outRev = make([]bool, o.scanOuts)
	o.inAxes, o.outAxes = make([]int, o.inputs), make([]int, o.scanOuts)
	if o.batched {
		return o, nil
	}
	if o.outRev, err = directions(n, "scan_output_directions", o.scanOuts); err != nil {
		return nil, err
	}
	if o.inAxes, err = axesOf(n, "scan_input_axes", o.inputs); err != nil {
		return nil, err
	}
	o.outAxes, err = axesOf(n, "scan_output_axes", o.scanOuts)
	return o, err
}

func directions(n *op.Node, name string, count int) ([]bool, error) {
	list := n.Ints(name)
	rev := make([]bool, count)
	if list == nil {
		return rev, nil
	}
	if len(list) != count {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q has %d entries, not %d", name, len(list), count)
	}
	for i, d := range list {
		rev[i] = d != 0
	}
	return rev, nil
}

func axesOf(n *op.Node, name string, count int) ([]int, error) {
	list := n.Ints(name)
	if list == nil {
		return make([]int, count), nil
	}
	if len(list) != count {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q has %d entries, not %d", name, len(list), count)
	}
	return list, nil
}

// operands returns the state values and scan inputs.
func operands[T any](o *scan, in []T) []T {
	if o.batched {
		return in[1:]
	}
	return in
}

func (o *scan) BodyTypes(_ string, in []*op.Value) ([]graph.Type, bool) {
	return carriedTypes(operands(o, in)), true
}

// FirstTypes returns the types of the states, and of the scan inputs without their scanned axis.
func (o *scan) FirstTypes(_ string, in []*op.Value) []graph.Type {
	types, _ := o.BodyTypes(body, in)
	for i, v := range operands(o, in) {
		if v == nil || v.Dims == nil || i >= len(types) {
			continue
		}
		dims := v.Dims
		if o.batched {
			dims = withoutAxis(dims, 0)
		}
		if i >= o.states {
			dims = withoutAxis(dims, o.inAxes[i-o.states])
		}
		types[i].Dims = dims
	}
	return types
}

// withoutAxis returns the extents of all axes but one, or nil if there is no such axis. A negative
// axis counts from the end.
func withoutAxis(d graph.Dims, axis int) graph.Dims {
	if axis < 0 {
		axis += len(d)
	}
	if axis < 0 || axis >= len(d) {
		return nil
	}
	return slices.Concat(graph.Dims{}, d[:axis], d[axis+1:])
}

func (o *scan) Infer(c *op.Infer) error {
	types, _ := o.BodyTypes(body, c.In)
	out, err := inferBody(c, types)
	if err != nil {
		return err
	}
	if len(out) != o.nodeOut {
		return graph.Errorf(graph.ErrFormat, "the body has %d outputs and the node %d", len(out), o.nodeOut)
	}
	for i, v := range out {
		t := v.Type
		if i < o.states {
			t.Dims = nil
		} else {
			axis := o.outAxes[i-o.states]
			if axis < 0 && t.Dims != nil {
				axis += len(t.Dims) + 1
			}
			t = stacked(t, max(axis, 0))
		}
		if o.batched {
			t = stacked(t, 0)
		}
		c.SetType(i, t)
	}
	return nil
}

func (o *scan) Run(c *op.Run) error {
	list := make([]*tensor.Tensor, 0, o.nodeIn)
	for i, t := range operands(o, c.In) {
		if t == nil {
			return graph.Errorf(graph.ErrShape, "operand %d is not a tensor", i)
		}
		list = append(list, t)
	}
	if o.batched {
		return o.batch(c, list)
	}
	runs, err := c.Repeat(body)
	if err != nil {
		return err
	}
	state, whole, err := o.one(c, runs, list, -1)
	for i, t := range state {
		c.Set(i, t)
	}
	for k, t := range whole {
		c.SetSole(o.states+k, t)
	}
	return err
}

// batch runs every member of the batch and stacks the results.
func (o *scan) batch(c *op.Run, list []*tensor.Tensor) error {
	n := -1
	for _, t := range list {
		if len(t.Shape()) == 0 || n >= 0 && t.Shape()[0] != n {
			return graph.Errorf(graph.ErrShape, "%v does not have the batch as its first axis", t)
		}
		n = t.Shape()[0]
	}
	var lengths []int
	if c.Has(0) {
		var err error
		if lengths, err = op.Ints(c.In[0]); err != nil || len(lengths) != n {
			return graph.Errorf(graph.ErrShape, "sequence_lens is %v for a batch of %d", c.In[0], n)
		}
	}
	runs, err := c.Repeat(body)
	if err != nil {
		return err
	}
	results := make([][]*tensor.Tensor, o.nodeOut)
	for b := range n {
		member := make([]*tensor.Tensor, len(list))
		for i, t := range list {
			var err error
			if member[i], err = indexed(c, t, 0, b); err != nil {
				return err
			}
		}
		length := -1
		if lengths != nil {
			length = lengths[b]
		}
		state, whole, err := o.one(c, runs, member, length)
		if err != nil {
			return fmt.Errorf("batch %d: %w", b, err)
		}
		for _, t := range member[o.states:] {
			c.Release(t)
		}
		for i, t := range state {
			if err := c.Mem.Reserve(tensor.Borrowed(t)); err != nil {
				return err
			}
			results[i] = append(results[i], tensor.Own(t).(*tensor.Tensor))
		}
		for k, t := range whole {
			results[o.states+k] = append(results[o.states+k], t)
		}
	}
	for i, r := range results {
		t, err := stack(c, r, 0, c.BodyType(body, i))
		if err != nil {
			return err
		}
		c.SetSole(i, t)
	}
	return nil
}

// lengthOf returns the extent of the scan inputs along their axes, and the axes.
func (o *scan) lengthOf(list []*tensor.Tensor) (steps int, axes []int, err error) {
	steps, axes = -1, make([]int, o.inputs)
	for i, t := range list {
		if axes[i], err = op.NormAxis(o.inAxes[i], len(t.Shape())); err != nil {
			return 0, nil, err
		}
		n := t.Shape()[axes[i]]
		if steps >= 0 && n != steps {
			return 0, nil, graph.Errorf(graph.ErrShape, "scan inputs have %d and %d indices", steps, n)
		}
		steps = n
	}
	return steps, axes, nil
}

// one runs the body over the first length indices of the scan inputs, or over all if length is
// negative. It returns the last states, which the next run of the body may overwrite, and the scan
// outputs, padded with zeros to the extent of the inputs.
func (o *scan) one(
	c *op.Run, runs op.Repeat, list []*tensor.Tensor, length int,
) (state, whole []*tensor.Tensor, err error) {
	steps, axes, err := o.lengthOf(list[o.states:])
	if err != nil {
		return nil, nil, err
	}
	if length > steps {
		return nil, nil, graph.Errorf(graph.ErrShape, "sequence length %d of %d indices", length, steps)
	}
	count := steps
	if length >= 0 {
		count = length
	}
	in := make([]tensor.Value, len(list))
	for i, t := range list {
		in[i] = t
	}
	inputs := make([]slicer, o.inputs)
	for i, t := range list[o.states:] {
		if inputs[i], err = newSlicer(c, t, axes[i]); err != nil {
			return nil, nil, err
		}
	}
	whole = make([]*tensor.Tensor, o.scanOuts)
	for k := range count {
		for i := range inputs {
			at := k
			if o.inRev[i] {
				at = steps - 1 - k
			}
			if in[o.states+i], err = inputs[i].index(c, at); err != nil {
				return nil, nil, fmt.Errorf("iteration %d: %w", k, err)
			}
		}
		out, err := runs.Run(in)
		if err == nil {
			err = o.store(c, whole, out[o.states:], k, steps, count)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("iteration %d: %w", k, err)
		}
		copy(in[:o.states], out)
	}
	return o.results(c, in[:o.states], whole)
}

// store copies the scan outputs of iteration k of count into whole. Iteration 0 allocates the
// tensors, each with steps indices.
func (o *scan) store(c *op.Run, whole []*tensor.Tensor, out []tensor.Value, k, steps, count int) error {
	for i, v := range out {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return graph.Errorf(graph.ErrShape, "%v cannot be stacked", v)
		}
		axis, err := op.NormAxis(o.outAxes[i], len(t.Shape())+1)
		if err != nil {
			return fmt.Errorf("output %d: %w", o.states+i, err)
		}
		if whole[i] == nil {
			full := slices.Insert(t.Shape().Clone(), axis, steps)
			if err := full.Check(); err != nil {
				return graph.Errorf(graph.ErrShape, "%w", err)
			}
			if whole[i], err = newTensor(c, t.DType(), full); err != nil {
				return err
			}
			if count < steps {
				clear(whole[i].Bytes())
			}
		}
		at := k
		if o.outRev[i] {
			at = steps - 1 - k
		}
		s := slab{whole[i], axis, at, 1}
		if t.DType() != whole[i].DType() || !s.takes(t) {
			return graph.Errorf(graph.ErrShape, "%v beside %v along axis %d", t, whole[i], axis)
		}
		s.copy(t, true)
	}
	return nil
}

// results returns the last states and the scan outputs.
func (o *scan) results(c *op.Run, last []tensor.Value, whole []*tensor.Tensor) (state, _ []*tensor.Tensor, err error) {
	for i, v := range last {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return nil, nil, graph.Errorf(graph.ErrShape, "state %d is %v, no tensor", i, v)
		}
		state = append(state, t)
	}
	for k, t := range whole {
		if t == nil {
			if whole[k], err = stack(c, nil, o.outAxes[k], c.BodyType(body, o.states+k)); err != nil {
				return nil, nil, fmt.Errorf("output %d: %w", o.states+k, err)
			}
		}
	}
	return state, whole, nil
}

// slicer returns the indices along an axis of a tensor, without that axis.
type slicer struct {
	whole *tensor.Tensor
	axis  int
	shape tensor.Shape
	part  *tensor.Tensor // receives a copy of each index; nil if indices are viewed or allocated
}

// smallSlice is the largest size in bytes of an index that is copied to reused memory. Copying then
// takes less time than pinning the index in place.
const smallSlice = 16 << 10

func newSlicer(c *op.Run, t *tensor.Tensor, axis int) (slicer, error) {
	s := slicer{whole: t, axis: axis, shape: slices.Delete(t.Shape().Clone(), axis, axis+1)}
	if t.DType() == tensor.String || s.views() && t.DType().Bytes(s.shape.Len()) > smallSlice {
		return s, nil
	}
	var err error
	s.part, err = spare(c, t.DType(), s.shape)
	return s, err
}

// views reports whether the elements of each index are contiguous and of whole bytes.
func (s *slicer) views() bool {
	return s.whole.Shape()[:s.axis].Len() == 1 && kit.Width(s.whole.DType()) > 0
}

// index returns index i. It is borrowed until the next call.
func (s *slicer) index(c *op.Run, i int) (*tensor.Tensor, error) {
	switch {
	case s.part != nil:
		slab{s.whole, s.axis, i, 1}.copy(s.part, false)
		return s.part, nil
	case s.views():
		n := s.whole.DType().Bytes(s.shape.Len())
		return tensor.Borrow(s.whole.DType(), s.shape, s.whole.Bytes()[i*n:(i+1)*n:(i+1)*n])
	}
	return indexed(c, s.whole, s.axis, i)
}
