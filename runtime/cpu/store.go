package cpu

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var storeRows = []row{
	inRoom(rowFor("store", func(_ *array.Shape, b *binder) error { return bindStore(b) })),
	inRoom(rowFor("store", func(_ array.Size, b *binder) error { return bindStore(b) })),
}

// bindStore writes output 0, a scalar or vector of integers that are known as
// expressions over lengths.
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
