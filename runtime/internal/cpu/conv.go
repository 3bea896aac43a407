package cpu

import (
	"strings"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var convRows = []row{
	rowFor("short", func(o *nn.Conv, b *binder) error { return bindShortConv(o, kit.Epilogue{}, b) }),
	rowFor("depthwise", func(o *nn.Conv, b *binder) error { return bindConv(o, "f32_conv_depthwise", kit.Epilogue{}, b) }),
	rowFor("gemm", func(o *nn.Conv, b *binder) error { return bindConv(o, "f32_conv_gemm", kit.Epilogue{}, b) }),
	rowFor("formula", func(o *nn.Conv, b *binder) error { return bindConv(o, "f64_conv", kit.Epilogue{}, b) }),
	rowFor("short", func(o *nn.FusedConv, b *binder) error { return bindShortConv(&o.Conv, o.Epilogue, b) }),
	rowFor("depthwise", func(o *nn.FusedConv, b *binder) error { return bindFusedConv(o, "f32_conv_depthwise", b) }),
	rowFor("gemm", func(o *nn.FusedConv, b *binder) error { return bindFusedConv(o, "f32_conv_gemm", b) }),
	rowFor("formula", func(o *nn.FusedConv, b *binder) error { return bindFusedConv(o, "f64_conv", b) }),
	rowFor("gemm", func(o *nn.ConvTranspose, b *binder) error { return bindConvTranspose(o, "f32_conv_transpose", b) }),
	rowFor("formula", func(o *nn.ConvTranspose, b *binder) error { return bindConvTranspose(o, "f64_conv_transpose", b) }),
	rowFor("gemm", bindPaddedTranspose).Reading(),
}

func bindConv(o *nn.Conv, kernel string, epilogue kit.Epilogue, b *binder) error {
	if kernel == "f32_conv_gemm" && b.DType(0) == tensor.F64 {
		kernel = "f64_conv_gemm"
	}
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	return b.conv(kernel, s, epilogue)
}

func bindFusedConv(o *nn.FusedConv, kernel string, b *binder) error {
	return bindConv(&o.Conv, kernel, o.Epilogue, b)
}

func bindConvTranspose(o *nn.ConvTranspose, kernel string, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	return b.conv(kernel, s, kit.Epilogue{})
}

// bindPaddedTranspose binds a transposed convolution. Input 2 is its padding.
func bindPaddedTranspose(o *nn.PaddedTranspose, b *binder) error {
	var pads []int
	if b.Has(2) {
		t := b.Const(2)
		if t == nil {
			return &device.NeedValue{Input: 2}
		}
		var err error
		if pads, err = op.Ints(t); err != nil {
			return err
		}
	}
	t, err := o.With(pads)
	if err != nil {
		return err
	}
	s, err := t.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	return b.convWith("f32_conv_transpose", s, kit.Epilogue{}, b.in(3), device.Operand{})
}

// conv adds a command that convolves input 0 by input 1 and adds the bias, input 2, and input 3. If
// the output is empty, it adds no command.
func (b *binder) conv(kernel string, s *nn.ConvShape, epilogue kit.Epilogue) error {
	return b.convWith(kernel, s, epilogue, b.in(2), b.in(3))
}

// convWith is conv with a given bias and addend. Either may be none.
func (b *binder) convWith(kernel string, s *nn.ConvShape, epilogue kit.Epilogue, bias, add device.Operand) error {
	d := b.DType(0)
	if doubles := strings.HasPrefix(kernel, "f64_"); doubles != (d == tensor.F64) {
		return device.Refuse("the elements are %v", d)
	}
	if b.OutShape(0).Len() == 0 {
		return nil
	}
	v := convWords{shape: s, dtype: d, add: add.Place != device.None, epilogue: epilogue}
	var err error
	v.apply = b.mapped(wide(d), epilogue)
	k, err := b.convKernel(kernel, &v)
	if err != nil {
		return err
	}
	weights, packed, err := b.convWeights(1, k, v.weights())
	if err != nil {
		return err
	}
	if v.packed = packed; !packed {
		weights = b.in(1)
	}
	return b.add(k, []bindings.Kernel{v.gemm, v.apply}, v.words(), b.in(0), weights, bias, add, b.out(0))
}

// convKernel returns the best kernel of an op for a convolution. It sets the part that multiplies,
// or that converts 16-bit floats.
func (b *binder) convKernel(kernel string, v *convWords) (k bindings.Kernel, err error) {
	products := map[string][]string{
		"f32_conv_gemm":      {"f32_gemv", "f32_gemm"},
		"f32_conv_transpose": {"f32_gemv", "f32_gemm"},
		"f64_conv_gemm":      {"f64_gemv", "f64_gemm"},
	}[kernel]
	switch {
	case products != nil:
		v.packed = v.dtype != tensor.F64 && b.packable(b.Const(1))
		k, v.gemm, err = b.chooseWith(kernel, false, func(part bindings.Kernel) words {
			v.gemm = part
			return v.words()
		}, products...)
		return k, err
	case v.dtype != tensor.F64:
		v.gemm = b.tiles()
	}
	return b.choose(kernel, v.words())
}

// convWords is nacre_conv_words of csrc/conv/conv.h.
type convWords struct {
	shape       *nn.ConvShape
	dtype       tensor.DType
	packed, add bool
	gemm, apply bindings.Kernel
	epilogue    kit.Epilogue
}

func (v *convWords) words() words {
	w := make(words, 0, 24+6*nn.MaxConvAxes)
	w.conv(v.shape)
	w.dtype(v.dtype)
	w.bool(v.packed, v.add)
	w.part(v.gemm)
	w.epilogue(wide(v.dtype), v.epilogue, v.apply)
	return w
}

// conv appends nacre_conv_extents of csrc/conv/conv.h.
func (w *words) conv(s *nn.ConvShape) {
	w.int(s.Images, s.Groups, s.Channels, s.Filters, len(s.Kernel))
	for _, list := range [][]int{s.In, s.Out, s.Kernel, s.Stride, s.Dilation, s.Pad} {
		w.int(list...)
		for range nn.MaxConvAxes - len(list) {
			w.int(0)
		}
	}
}

// weights returns the words that packed weights depend on. The others are zero, so that inputs of
// all extents share the packed weights.
func (v *convWords) weights() words {
	s := nn.ConvShape{Groups: v.shape.Groups, Channels: v.shape.Channels, Filters: v.shape.Filters, Kernel: v.shape.Kernel}
	w := convWords{shape: &s, dtype: v.dtype, gemm: v.gemm}
	return w.words()
}
