package cpu

import (
	"strconv"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var foldRows = []row{rowFor("fold", bindCol2Im).Reading()}

// bindCol2Im reads the image's extents and a block's when it binds, so both must be constant.
func bindCol2Im(o *nn.Col2Im, b *binder) error {
	var lists [3][]int
	for i := 1; i < len(lists); i++ {
		t := b.Const(i)
		if t == nil {
			return &device.NeedValue{Input: i}
		}
		var err error
		if lists[i], err = op.Ints(t); err != nil {
			return err
		}
	}
	f, err := o.Extents(b.Shape(0), lists[1], lists[2])
	if err != nil || b.isEmpty() {
		return err
	}
	d := b.DType(0)
	if n := len(f.Image); n == 0 || n > maxAxes {
		return device.Refuse("an image of %d axes", n)
	}
	half := b.halfOf(d)
	return b.runWith(foldOp(d), []bindings.Kernel{half}, foldWords(f, d, half), b.in(0), b.out(0))
}

// foldOp returns the op of csrc/copy that adds elements of type d. Integer sums that wrap have the
// same bits signed and unsigned.
func foldOp(d tensor.DType) string {
	if d.IsFloat() {
		return wide(d).Short() + "_fold"
	}
	return "u" + strconv.Itoa(d.Bits()) + "_fold"
}

// foldWords is nacre_fold_words of csrc/copy/copy.h.
func foldWords(f *nn.Folding, d tensor.DType, half bindings.Kernel) (w words) {
	w.int(f.Batch*f.Channels, d.Bits()/8, typeWord(d))
	w.part(half)
	w.int(len(f.Image))
	for a := range f.Image {
		w.int(f.Image[a], f.Block[a], f.Blocks[a], f.Stride[a], f.Dilation[a], f.Pad[a])
	}
	return w
}
