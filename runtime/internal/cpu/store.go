package cpu

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var storeRows = []row{
	rowFor("store", func(_ *array.Shape, b *binder) error { return bindStore(b) }).InRoom(),
	rowFor("store", func(_ array.Size, b *binder) error { return bindStore(b) }).InRoom(),
	rowFor("range", bindRange),
}

// bindStore writes output 0, a scalar or vector of integers known as expressions over lengths.
func bindStore(b *binder) error {
	v := b.Out[0]
	list, ok := v.IntVec()
	n, known := v.Dims.Len().Value()
	if !ok || !known || n != len(list) {
		return device.Refuse("the elements are not known")
	}
	var w words
	w.int(n)
	w.dim(list...)
	switch v.DType {
	case tensor.I64:
		return b.run("store_i64", w, b.out(0))
	case tensor.I32:
		return b.run("store_i32", w, b.out(0))
	}
	return device.Refuse("the elements have type %v", v.DType)
}

// rangeInGo is the length from which a command writes a range. Below it, Go writes the range in
// less time than it takes to make the command.
const rangeInGo = 4096

// rangeWords is nacre_range_words of csrc/copy/copy.h.
func rangeWords(n int, d tensor.DType) (w words) {
	w.int(n, d.Bytes(1))
	return w
}

// bindRange makes a command in each run, because the run's inputs determine the length of a range.
func bindRange(o array.Range, b *binder) error {
	d := b.DType(0)
	if d == tensor.F16 || d == tensor.BF16 {
		return device.Refuse("ranges of %v are written in Go", d)
	}
	k := b.kernel(d.Short() + "_range")
	dev := b.dev
	b.step.Call = func(c *op.Run) error {
		n := c.Out[0].Len()
		if n < rangeInGo {
			return o.Run(c)
		}
		start, delta, err := o.Terms(c)
		if err != nil {
			return err
		}
		calls := dev.calls(c)
		from, by, to := calls.of(start), calls.of(delta), calls.of(c.Out[0])
		if err := calls.add(k, nil, rangeWords(n, d), from, by, to); err != nil {
			return err
		}
		return calls.runAll()
	}
	return nil
}
