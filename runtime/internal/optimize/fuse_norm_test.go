package optimize_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

var lastAxis = attrInts("axes", -1)

// variance adds the mean square of a value and epsilon.
func (b *net) variance(d string, args ...any) string {
	square := b.op("Pow", d, b.c(2))
	return b.op("Add", b.op("ReduceMean", append([]any{square}, args...)...), b.c(1e-3))
}

func (b *net) centred(x string) string { return b.op("Sub", x, b.op("ReduceMean", x, lastAxis)) }

// layerNorm adds a normalization as PyTorch's exporter writes it.
func (b *net) layerNorm(x string, scale, bias string) string {
	d := b.centred(x)
	y := b.op("Div", d, b.op("Sqrt", b.variance(d, lastAxis)))
	return b.op("Add", b.op("Mul", y, scale), bias)
}

func TestFuseLayerNorm(t *testing.T) {
	check(t, []pattern{
		{name: "torch", want: []string{"LayerNormalization"}, build: func(b *net) {
			b.out(b.layerNorm(b.in("x", "batch", "tokens", 8), b.weight(8), b.weight(8)))
		}},
		{name: "operands in the other order, the mean taken off twice", want: []string{"LayerNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			mean := b.op("ReduceMean", x, attrInts("axes", 2))
			d := b.op("Sub", x, mean)
			v := b.op("Add", b.c(1e-5), b.op("ReduceMean", b.op("Mul", d, d), attrInts("axes", 2)))
			y := b.op("Mul", b.op("Reciprocal", b.op("Sqrt", v)), b.op("Sub", x, mean))
			b.out(b.op("Add", b.weight(1, 8), b.op("Mul", b.weight(8), y)))
		}},
		{name: "axes as input, two of them", want: []string{"LayerNormalization"}, build: func(b *net) {
			b.opset = 18
			x, axes := b.in("x", "batch", 3, 4), b.ints(1, 2)
			d := b.op("Sub", x, b.op("ReduceMean", x, axes))
			y := b.op("Div", d, b.op("Sqrt", b.variance(d, axes)))
			b.out(b.op("Add", b.op("Mul", y, b.weight(3, 4)), b.weight(3, 4)))
		}},
		{name: "without bias", want: []string{"LayerNormalization", "Add"}, build: func(b *net) {
			x := b.in("x", "tokens", 8)
			d := b.centred(x)
			y := b.op("Mul", b.op("Div", d, b.op("Sqrt", b.variance(d, lastAxis))), b.weight(8))
			b.out(b.op("Add", y, x))
		}},
		{name: "without scale", want: []string{"LayerNormalization"}, build: func(b *net) {
			d := b.centred(b.in("x", "tokens", 8))
			b.out(b.op("Div", d, b.op("Sqrt", b.variance(d, lastAxis))))
		}},
		{name: "a scale and a bias of rows", want: []string{"LayerNormalization"}, build: func(b *net) {
			b.out(b.layerNorm(b.in("x", "batch", 6, "tokens"), b.weight(1, 6, 1), b.weight(1, 6, 1)))
		}},
		{name: "of rows in each image", want: []string{"LayerNormalization"}, build: func(b *net) {
			scale, bias := b.in("scale", "batch", 6, 1), b.in("bias", "batch", 6, 1)
			b.out(b.layerNorm(b.in("x", "batch", 6, "tokens"), scale, bias))
		}},
		{name: "scaled in two ways", want: []string{"LayerNormalization", "LayerNormalization"}, build: func(b *net) {
			d := b.centred(b.in("x", "tokens", 8))
			y := b.op("Div", d, b.op("Sqrt", b.variance(d, lastAxis)))
			b.out(b.op("Add", b.op("Mul", y, b.weight(8)), b.weight(8)), b.op("Mul", b.weight(8), y))
		}},
		{name: "tensorflow", want: []string{"LayerNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			mean := b.op("ReduceMean", x, lastAxis)
			d := b.op("Sub", x, mean)
			v := b.op("Add", b.op("ReduceMean", b.op("Mul", d, d), lastAxis), b.c(1e-3))
			a := b.op("Mul", b.op("Reciprocal", b.op("Sqrt", v)), b.weight(8))
			shift := b.op("Sub", b.weight(8), b.op("Mul", mean, a))
			b.out(b.op("Add", b.op("Mul", x, a), shift))
		}},
		{name: "half in double", types: []tensor.DType{tensor.F16}, want: []string{"LayerNormalization"}, build: func(b *net) {
			wide := b.op("Cast", b.centred(b.in("x", "tokens", 8)), attrInt("to", 11))
			two, eps := tensor.New(tensor.F64), tensor.New(tensor.F64)
			tensor.View[float64](two)[0], tensor.View[float64](eps)[0] = 2, 1e-3
			v := b.op("ReduceMean", b.op("Pow", wide, b.constant(two)), lastAxis)
			y := b.op("Div", wide, b.op("Sqrt", b.op("Add", v, b.constant(eps))))
			y = b.op("Cast", y, attrInt("to", 10))
			b.out(b.op("Add", b.op("Mul", y, b.weight(8)), b.weight(8)))
		}},
	})
}

func TestLayerNormLookAlikes(t *testing.T) {
	parts := []string{"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"}
	form := func(axes, means, keep int64, shape ...int) func(b *net) {
		return func(b *net) {
			x := b.in("x", "batch", "tokens", 5)
			d := b.op("Sub", x, b.op("ReduceMean", x, attrInts("axes", axes), attrInt("keepdims", keep)))
			y := b.op("Div", d, b.op("Sqrt", b.variance(d, attrInts("axes", means))))
			b.out(b.op("Add", b.op("Mul", y, b.weight(shape...)), b.weight(5)))
		}
	}
	check(t, []pattern{
		{name: "another axis", want: parts, build: form(1, 1, 1, 5)},
		{name: "different axes", want: []string{"ReduceMean", "Sub", "RMSNormalization", "Add"}, build: form(1, -1, 1, 5)},
		{name: "a scale per batch", want: []string{"LayerNormalization", "Mul", "Add"}, types: []tensor.DType{tensor.F32}, build: form(-1, -1, 1, 2, 1, 5)},
		{name: "a scale of rows alone", want: []string{"LayerNormalization", "Mul"}, build: func(b *net) {
			d := b.centred(b.in("x", "batch", 6, 8))
			y := b.op("Div", d, b.op("Sqrt", b.variance(d, lastAxis)))
			b.out(b.op("Mul", y, b.weight(1, 6, 1)))
		}},
		{name: "a scale of rows that stretches", want: []string{"LayerNormalization", "Mul", "Add"}, build: func(b *net) {
			b.out(b.layerNorm(b.in("x", "batch", 1, 8), b.weight(1, 6, 1), b.weight(1, 6, 1)))
		}},
		{name: "epsilon outside the root", want: []string{"ReduceMean", "Sub", "Pow", "ReduceMean", "Sqrt", "Add", "Div"}, build: func(b *net) {
			d := b.centred(b.in("x", "tokens", 8))
			root := b.op("Sqrt", b.op("ReduceMean", b.op("Pow", d, b.c(2)), lastAxis))
			b.out(b.op("Div", d, b.op("Add", root, b.c(1e-3))))
		}},
		{name: "fourth powers", want: []string{"ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div"}, build: func(b *net) {
			d := b.centred(b.in("x", "tokens", 8))
			fourth := b.op("ReduceMean", b.op("Pow", d, b.c(4)), lastAxis)
			b.out(b.op("Div", d, b.op("Sqrt", b.op("Add", fourth, b.c(1e-3)))))
		}},
		{name: "the variance is read elsewhere", want: parts, build: func(b *net) {
			x := b.in("x", "tokens", 8)
			d := b.centred(x)
			v := b.variance(d, lastAxis)
			b.out(b.op("Add", b.op("Mul", b.op("Div", d, b.op("Sqrt", v)), b.weight(8)), b.weight(8)), v)
		}},
		{name: "float64", types: []tensor.DType{tensor.F64}, want: parts, build: func(b *net) {
			b.out(b.layerNorm(b.in("x", "tokens", 8), b.weight(8), b.weight(8)))
		}},
	})
}

func TestFuseRMSNorm(t *testing.T) {
	check(t, []pattern{
		{name: "llama", want: []string{"RMSNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			b.out(b.op("Mul", b.weight(8), b.op("Mul", x, b.op("Div", b.c(1), b.op("Sqrt", b.variance(x, lastAxis))))))
		}},
		{name: "a quotient", want: []string{"RMSNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			b.out(b.op("Mul", b.op("Div", x, b.op("Sqrt", b.variance(x, lastAxis))), b.weight(8)))
		}},
		{name: "a power", want: []string{"RMSNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			b.out(b.op("Mul", b.op("Mul", b.op("Pow", b.variance(x, lastAxis), b.c(-0.5)), x), b.weight(8)))
		}},
		{name: "half in float32", types: []tensor.DType{tensor.F16}, want: []string{"RMSNormalization"}, build: func(b *net) {
			x := b.op("Cast", b.in("x", "batch", "tokens", 8), attrInt("to", 1))
			b.dtype = tensor.F32
			y := b.op("Mul", x, b.op("Reciprocal", b.op("Sqrt", b.variance(x, lastAxis))))
			b.dtype = tensor.F16
			b.out(b.op("Mul", b.weight(8), b.op("Cast", y, attrInt("to", 10))))
		}},
		{name: "without scale", want: []string{"RMSNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			b.out(b.op("Div", x, b.op("Sqrt", b.variance(x, lastAxis))))
		}},
		{name: "of what is centred otherwise", want: []string{"ReduceMean", "Sub", "RMSNormalization"}, build: func(b *net) {
			x := b.in("x", "batch", "tokens", 8)
			d := b.op("Sub", x, b.op("ReduceMean", x, attrInts("axes", 1)))
			b.out(b.op("Mul", b.op("Div", d, b.op("Sqrt", b.variance(d, lastAxis))), b.weight(8)))
		}},
	})
	check(t, []pattern{
		{name: "of another value", want: []string{"Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul"}, build: func(b *net) {
			x, y := b.in("x", "batch", "tokens", 8), b.in("y", "batch", "tokens", 8)
			b.out(b.op("Mul", b.op("Div", y, b.op("Sqrt", b.variance(x, lastAxis))), b.weight(8)))
		}},
	})
}

func TestFuseSkipNorm(t *testing.T) {
	float32s := []tensor.DType{tensor.F32}
	check(t, []pattern{
		{name: "the sum is read by the normalisation alone", types: float32s, want: []string{"SkipLayerNormalization"}, build: func(b *net) {
			sum := b.op("Add", b.in("x", "batch", "tokens", 8), b.in("y", "batch", "tokens", 8))
			b.out(b.layerNorm(sum, b.weight(8), b.weight(8)))
		}},
		{name: "and by what follows", types: float32s, want: []string{"SkipSimplifiedLayerNormalization", "Neg", "Neg"}, build: func(b *net) {
			sum := b.op("Add", b.in("x", "batch", "tokens", 8), b.in("y", "batch", "tokens", 8))
			first := b.op("Neg", sum)
			y := b.op("Mul", b.op("Div", sum, b.op("Sqrt", b.variance(sum, lastAxis))), b.weight(8))
			b.out(first, b.op("Neg", y), sum)
		}},
		{name: "a sum that stretches", types: float32s, want: []string{"Add", "LayerNormalization"}, build: func(b *net) {
			sum := b.op("Add", b.in("x", "batch", "tokens", 8), b.in("y", 1, "tokens", 8))
			b.out(b.layerNorm(sum, b.weight(8), b.weight(8)))
		}},
		{name: "two axes", types: float32s, want: []string{"Add", "LayerNormalization"}, build: func(b *net) {
			axes := attrInts("axes", -2, -1)
			sum := b.op("Add", b.in("x", "batch", 3, 8), b.in("y", "batch", 3, 8))
			d := b.op("Sub", sum, b.op("ReduceMean", sum, axes))
			b.out(b.op("Mul", b.op("Div", d, b.op("Sqrt", b.variance(d, axes))), b.weight(3, 8)))
		}},
	})
}
