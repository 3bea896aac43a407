package op

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Prepare chooses the kernels and packs constant weights.
func (o *recurrent) Prepare(c *Prepare) (err error) {
	if !isNarrow(c.DType(0)) {
		return nil
	}
	if o.gemm, err = c.Kernel("f32_gemm"); err != nil {
		return err
	}
	if o.cell, err = c.Kernel("f32_rnn_cell"); err != nil {
		return err
	}
	half, err := c.Kernel("half")
	if err != nil {
		return err
	}
	r := c.Const(2)
	if r == nil || len(r.Shape()) != 3 || r.Shape()[0] != o.directions || r.Shape()[1] != o.gates*r.Shape()[2] {
		return nil
	}
	hidden := r.Shape()[2]
	if o.r, err = o.packAhead(c, half, 2, o.directions*o.gates, hidden, hidden); err != nil {
		return err
	}
	w := c.Const(1)
	if w == nil || len(w.Shape()) != 3 || w.Shape()[0] != o.directions || w.Shape()[1] != o.gates*hidden {
		return nil
	}
	o.w, err = o.packAhead(c, half, 1, o.directions, o.gates*hidden, w.Shape()[2])
	return err
}

// packAhead packs constant input i, count matrices of [n,k] one after the other.
// It returns nil for those that Run packs: of another type than X, or so narrow
// that the padding would be most of it.
func (o *recurrent) packAhead(c *Prepare, half bindings.Kernel, i, count, n, k int) ([]float32, error) {
	const most, small = 4, 1 << 16
	w, size := c.Const(i), o.gemm.PackedB(n, k)
	if w.DType() != c.DType(0) || w.Len() == 0 || size > most*n*k && size > small {
		return nil, nil
	}
	kind := fmt.Sprintf("%s %s recurrent %d %dx%d", o.gemm.Op(), o.gemm.Variant(), count, k, n)
	bytes, err := c.Packs.Get(w, kind, 4*count*size, func(dst []byte) {
		w, list := w.Aligned(), []float32(nil)
		if w.DType() == tensor.F32 {
			list = tensor.View[float32](w)
		} else {
			list = make([]float32, w.Len())
			half.Widen(nil, floatTypes[w.DType()], w.Pointer(), list)
		}
		o.pack(list, count, n, k, dst)
	})
	if err != nil {
		return nil, err
	}
	c.Drop(i)
	return asFloats(bytes), nil
}

// pack packs transposed right operands.
func (o *recurrent) pack(list []float32, count, n, k int, dst []byte) {
	size := 4 * o.gemm.PackedB(n, k)
	for i := range count {
		o.gemm.PackB(n, k, bindings.Operand{Row: 1, Col: k}, unsafe.Pointer(&list[i*n*k]), dst[i*size:][:size])
	}
}

// packed returns what Prepare packed, or packs input i into scratch.
func (o *recurrent) packed(c *Run, ready []float32, i, count, n, k int) ([]float32, error) {
	if ready != nil {
		return ready, nil
	}
	list, err := c.floats(c.In[i])
	if err != nil {
		return nil, err
	}
	dst, err := c.Mem.Scratch(4 * count * o.gemm.PackedB(n, k))
	if err != nil {
		return nil, err
	}
	o.pack(list, count, n, k, dst)
	return asFloats(dst), nil
}

// Describe names the kernels.
func (o *recurrent) Describe() string {
	if !o.cell.Valid() {
		return ""
	}
	return describe(o.gemm, o.cell)
}

// Run computes the outputs.
func (o *recurrent) Run(c *Run) error {
	n, err := o.network(c)
	if err != nil {
		return err
	}
	d := c.In[0].DType()
	y, state := [...]int{n.Steps, n.Directions, n.Batch, n.Hidden}, [...]int{n.Directions, n.Batch, n.Hidden}
	if o.batchFirst {
		y, state = [...]int{n.Batch, n.Steps, n.Directions, n.Hidden}, [...]int{n.Batch, n.Directions, n.Hidden}
	}
	var out [3]*tensor.Tensor
	for i := range out {
		if !c.Wants(i) {
			continue
		}
		shape := state[:]
		if i == 0 {
			shape = y[:]
		}
		if out[i] = c.Out[i]; out[i] == nil {
			if out[i], err = c.Alloc(i, d, slices.Clone(shape)); err != nil {
				return err
			}
		}
		if !out[i].Shape().Equal(shape) {
			return wantShape(out[i], slices.Clone(shape))
		}
	}
	switch {
	case n.Batch == 0 || n.Hidden == 0:
		return nil
	case d == tensor.F64:
		return o.runDoubles(c, n, out)
	}
	return o.runFloats(c, n, out)
}

// network checks the operands against each other.
func (o *recurrent) network(c *Run) (n bindings.RNN, err error) {
	x, r := c.In[0].Shape(), c.In[2].Shape()
	if len(x) != 3 || len(r) != 3 {
		return n, graph.Mark(graph.ErrShape, "X %v or R %v has not three axes", x, r)
	}
	n = bindings.RNN{
		Gates: o.gates, Steps: x[0], Batch: x[1], Input: x[2], Hidden: r[2], Directions: o.directions,
		Reverse: o.reverse, BatchFirst: o.batchFirst, Linear: o.linear, Cells: kernelCells(o.Cells),
	}
	if o.batchFirst {
		n.Steps, n.Batch = x[1], x[0]
	}
	if n.Input == 0 {
		return n, graph.Mark(graph.ErrUnsupported, "X %v has no elements for a step; it needs one", x)
	}
	if o.hidden > 0 && n.Hidden != o.hidden {
		return n, graph.Mark(graph.ErrShape, "R %v is not of hidden_size %d", r, o.hidden)
	}
	// What is computed with these extents is counted in int.
	total := [...]int{n.Steps + 1, n.Batch, n.Hidden, n.Directions, 8 * (o.gates + 2)}
	if err := tensor.Shape(total[:]).Check(); err != nil {
		return n, graph.Mark(graph.ErrShape, "%d steps of %d sequences with %d states are too many", n.Steps, n.Batch, n.Hidden)
	}
	state := [3]int{o.directions, n.Batch, n.Hidden}
	if o.batchFirst {
		state = [3]int{n.Batch, o.directions, n.Hidden}
	}
	rows := o.gates * n.Hidden
	wanted := [...][3]int{
		1: {o.directions, rows, n.Input}, 2: {o.directions, rows, n.Hidden}, 3: {o.directions, 2 * rows}, 4: {n.Batch},
		5: state, 6: state, 7: {o.directions, 3 * n.Hidden},
	}
	ranks := [...]int{1: 3, 2: 3, 3: 2, 4: 1, 5: 3, 6: 3, 7: 2}
	for i, t := range c.In {
		if t == nil || i == 0 {
			continue
		}
		if !t.Shape().Equal(wanted[i][:ranks[i]]) {
			return n, graph.Mark(graph.ErrShape, "input %d is %v, not of shape %v", i, t, slices.Clone(wanted[i][:ranks[i]]))
		}
		if d := c.In[0].DType(); i != 4 && t.DType() != d {
			return n, graph.Mark(graph.ErrShape, "inputs 0 and %d have element types %v and %v", i, d, t.DType())
		}
	}
	n.Lengths, err = lengths(c, n.Steps)
	return n, err
}

// lengths returns the steps of each sequence, nil if they have all of them.
func lengths(c *Run, steps int) ([]int32, error) {
	if !c.Has(4) {
		return nil, nil
	}
	if c.In[4].DType() != tensor.I32 {
		return nil, graph.Mark(graph.ErrUnsupported, "sequence lengths are %v; they take i32", c.In[4])
	}
	list := tensor.View[int32](c.In[4].Aligned())
	for b, n := range list {
		if n < 0 || int(n) > steps {
			return nil, graph.Mark(graph.ErrShape, "sequence %d has length %d of %d steps", b, n, steps)
		}
	}
	return list, nil
}

func (o *recurrent) runFloats(c *Run, network bindings.RNN, out [3]*tensor.Tensor) (err error) {
	n := bindings.RNNF32{RNN: network, Gemm: o.gemm, Cell: o.cell, X: c.In[0].Pointer(), XType: floatTypes[c.In[0].DType()]}
	if n.W, err = o.packed(c, o.w, 1, n.Directions, n.Gates*n.Hidden, n.Input); err != nil {
		return err
	}
	if n.R, err = o.packed(c, o.r, 2, n.Directions*n.Gates, n.Hidden, n.Hidden); err != nil {
		return err
	}
	for i, to := range [...]*[]float32{3: &n.Bias, 5: &n.H0, 6: &n.C0, 7: &n.Peepholes} {
		if to != nil && c.Has(i) {
			if *to, err = c.floats(c.In[i]); err != nil {
				return err
			}
		}
	}
	outs := [...]*[]float32{&n.Y, &n.YH, &n.YC}
	for i, to := range outs {
		if *to, err = c.floatsFor(out[i]); err != nil {
			return err
		}
	}
	scratch, err := c.scratchFloats(n.Scratch(c.Pool))
	if err != nil {
		return err
	}
	n.Run(c.Pool, scratch)
	for i, from := range outs {
		c.putFloats(out[i], *from)
	}
	return nil
}

func (o *recurrent) runDoubles(c *Run, network bindings.RNN, out [3]*tensor.Tensor) error {
	get := func(i int) []float64 {
		if c.Has(i) {
			return doubles(c.In[i])
		}
		return nil
	}
	n := bindings.RNNF64{
		RNN: network, X: get(0), W: get(1), R: get(2), Bias: get(3), H0: get(5), C0: get(6), Peepholes: get(7),
		Y: doubles(out[0]), YH: doubles(out[1]), YC: doubles(out[2]),
	}
	b, err := c.Mem.Scratch(tensor.F64.Bytes(n.Scratch(c.Pool)))
	if err != nil {
		return err
	}
	t, err := tensor.FromBytes(tensor.F64, tensor.Shape{len(b) / 8}, b)
	if err != nil {
		return err
	}
	n.Run(c.Pool, tensor.View[float64](t))
	return nil
}
