package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/internal/ops/ml"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var gatherRows = []row{
	rowFor("gather", bindGather),
	rowFor("gather", bindGatherND),
	rowFor("gather", bindExtractor),
	rowFor("gather_elements", bindGatherElements),
	rowFor("scatter", bindScatter),
	rowFor("one_hot", bindOneHot),
}

// indexBytes returns the bytes of an index of input i.
func (b *binder) indexBytes(i int) int { return b.DType(i).Bits() / 8 }

func bindGather(o *array.Gather, b *binder) error {
	d := b.In[0].Dims
	axis := axisOf(o.Axis, len(d))
	row := b.rowBytes(b.DType(0), d[axis+1:].Len())
	var w words
	w.int(b.indexBytes(1))
	w.dim(d[:axis].Len(), b.In[1].Dims.Len())
	w.bool(true, false)
	w.dim(row)
	w.int(1)
	w.dim(d[axis])
	if axis == 0 {
		b.step.Scattered |= 1
	}
	return b.run("gather", w, b.in(0), b.in(1), b.out(0))
}

// rowBytes returns the bytes of n elements of type d. It refuses rows of elements narrower than a
// byte that do not fill bytes.
func (b *binder) rowBytes(d tensor.DType, n graph.Dim) graph.Dim {
	if d.Blocks() != nil || d.Layout() != nil {
		known, ok := n.Value()
		switch {
		case !ok:
			b.Note(device.Refuse("the length of rows of %v is not known", d))
		case d.Layout() != nil && known*d.Bits()%8 != 0:
			b.Note(device.Refuse("rows of %v %v do not fill bytes", known, d))
		}
		return graph.Known(d.Bytes(known))
	}
	return n.Mul(graph.Known(b.width(d)))
}

// bindExtractor gathers single elements along the last axis. The operator has no negative indices.
func bindExtractor(_ ml.Extractor, b *binder) error {
	size := b.width(b.DType(0))
	if b.isEmpty() {
		return device.Refuse("indices into no rows are checked in Go")
	}
	d := b.In[0].Dims
	var w words
	w.int(b.indexBytes(1))
	w.dim(d[:len(d)-1].Len(), b.In[1].Dims.Len())
	w.bool(true, true)
	w.int(size, 1)
	w.dim(d[len(d)-1])
	return b.run("gather", w, b.in(0), b.in(1), b.out(0))
}

// tupleOf returns the length of the index tuples in input 1.
func (b *binder) tupleOf() (int, error) {
	index := b.In[1].Dims
	n, ok := index[len(index)-1].Value()
	if !ok {
		return 0, device.Refuse("the length of tuples is not known")
	}
	return n, nil
}

func bindGatherND(o *array.GatherND, b *binder) error {
	size := b.width(b.DType(0))
	tuple, err := b.tupleOf()
	if err != nil {
		return err
	}
	d, index := b.In[0].Dims, b.In[1].Dims
	var w words
	w.int(b.indexBytes(1))
	w.dim(index[:o.Batch].Len(), index[o.Batch:len(index)-1].Len())
	w.bool(false, false)
	w.dim(d[o.Batch+tuple:].Len().Mul(graph.Known(size)))
	w.int(tuple)
	w.dim(d[o.Batch : o.Batch+tuple]...)
	return b.run("gather", w, b.in(0), b.in(1), b.out(0))
}

// elementWords returns the words of gather_elements and scatter_elements.
func elementWords(b *binder, axis, size int, reduce bindings.Kernel) (w words, err error) {
	data, index := b.In[0].Dims, b.In[1].Dims
	if len(data) > maxAxes {
		return nil, device.Refuse("indices have %d axes", len(data))
	}
	axis = axisOf(axis, len(data))
	steps := make(graph.Dims, len(data))
	step := graph.Known(1)
	for a := len(data) - 1; a >= 0; a-- {
		steps[a] = step
		step = step.Mul(data[a])
	}
	w.int(b.indexBytes(1))
	w.part(reduce)
	w.int(size)
	w.dim(data[axis], steps[axis])
	w.int(len(index))
	for a, n := range index {
		if a == axis {
			w.dim(n, graph.Dim{})
		} else {
			w.dim(n, steps[a])
		}
	}
	return w, nil
}

func bindGatherElements(o *array.GatherElements, b *binder) error {
	size := b.width(b.DType(0))
	w, err := elementWords(b, o.Axis, size, bindings.Kernel{})
	if err != nil {
		return err
	}
	return b.run("gather_elements", w, b.in(0), b.in(1), b.out(0))
}

// wholeCopy copies input i to output o. It does nothing if both are the same memory.
func (b *binder) wholeCopy(i, o int) error {
	one := graph.Known(1)
	return b.copy(b.DType(i), []array.Copy{{Axes: []array.CopyAxis{{N: b.In[i].Dims.Len(), From: one, To: one}}}},
		b.in(i), b.out(o))
}

// bindScatter copies the data and then writes the updates.
func bindScatter(o *array.Scatter, b *binder) error {
	size := b.width(b.DType(0))
	var reduce bindings.Kernel
	if o.Reduce != "none" {
		d := b.DType(0)
		if d == tensor.F16 || d == tensor.BF16 {
			return device.Refuse("elements of type %v are reduced in Go", d)
		}
		reduce = b.kernel(d.Short() + "_scatter_" + o.Reduce)
	}
	if err := b.wholeCopy(0, 0); err != nil {
		return err
	}
	if !o.Tuples {
		w, err := elementWords(b, o.Axis, size, reduce)
		if err != nil {
			return err
		}
		return b.runWith("scatter_elements", []bindings.Kernel{reduce}, w, b.in(1), b.in(2), b.out(0))
	}
	tuple, err := b.tupleOf()
	if err != nil {
		return err
	}
	data, index := b.In[0].Dims, b.In[1].Dims
	var w words
	w.int(b.indexBytes(1))
	w.part(reduce)
	w.int(size)
	w.dim(index[:len(index)-1].Len(), data[tuple:].Len())
	w.int(tuple)
	w.dim(data[:tuple]...)
	return b.runWith("scatter", []bindings.Kernel{reduce}, w, b.in(1), b.in(2), b.out(0))
}

// runWith is run for a command that names parts.
func (b *binder) runWith(name string, parts []bindings.Kernel, w words, operands ...device.Operand) error {
	k, err := b.choose(name, w)
	if err != nil {
		return err
	}
	return b.add(k, parts, w, operands...)
}

// bindOneHot fills the output with the first value and then writes the second.
func bindOneHot(o *array.OneHot, b *binder) error {
	size := b.width(b.DType(2))
	if d := b.DType(0); d != tensor.I64 && d != tensor.I32 {
		return device.Refuse("indices of type %v are read in Go", d)
	}
	out := b.Out[0].Dims
	axis := axisOf(o.Axis, len(out))
	fill := array.Copy{Axes: []array.CopyAxis{{N: out.Len(), To: graph.Known(1)}}}
	if err := b.copy(b.DType(2), []array.Copy{fill}, b.in(2), b.out(0)); err != nil {
		return err
	}
	var w words
	w.int(b.indexBytes(0), size)
	w.dim(out[:axis].Len(), out[axis], out[axis+1:].Len())
	w.bool(o.FromEnd)
	return b.run("one_hot", w, b.in(0), b.in(2), b.out(0))
}
