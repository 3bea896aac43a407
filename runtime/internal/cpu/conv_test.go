package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// convData holds the operands of a convolution. bias and add may be nil.
type convData struct {
	shape           *nn.ConvShape
	x, w, bias, add []float64
	out             int // elements of the result
}

func newConvData(r *rand.Rand, c *convCase, s *nn.ConvShape) *convData {
	d := &convData{
		shape: s,
		x:     quarters(r, s.Images*s.Groups*s.Channels*volume(s.In)),
		w:     quarters(r, s.Groups*s.Filters*s.Channels*volume(s.Kernel)),
		bias:  quarters(r, s.Groups*s.Filters),
		out:   s.Images * s.Groups * s.Filters * volume(s.Out),
	}
	if c.noBias {
		d.bias = nil
	}
	return d
}

// operands returns all operands but the result.
func (d *convData) operands(t tensor.DType) [][]byte {
	return [][]byte{stored(t, d.x), stored(t, d.w), stored(t, d.bias), stored(t, d.add)}
}

// formula returns the convolution in float64.
func (d *convData) formula(t *testing.T, name string, epilogue kit.Epilogue) []float64 {
	t.Helper()
	k := partOf(t, name, 0)
	v := convWords{shape: d.shape, dtype: tensor.F64, add: d.add != nil, epilogue: epilogue}
	if epilogue.Func == "leaky_relu" {
		v.apply = partOf(t, "f64_leaky_relu", 0)
	}
	return loaded(tensor.F64, runGuarded(t, k, v.words(), nil, 8*d.out, 8, d.operands(tensor.F64)...))
}

// check compares kernel k, with plain and with packed weights, to want. Sums of quarters are exact
// in float32. It reports whether the kernel fits.
func (d *convData) check(
	t *testing.T, name string, k bindings.Kernel, pool *bindings.Pool, dt tensor.DType, epilogue kit.Epilogue,
	want []float64,
) bool {
	t.Helper()
	v := convWords{shape: d.shape, dtype: dt, add: d.add != nil, epilogue: epilogue}
	if epilogue.Func == "leaky_relu" {
		v.apply = partOf(t, wide(dt).Short()+"_leaky_relu", k.ISA())
	}
	fits := false
	for _, v.gemm = range productsFor(t, k) {
		fits = v.compare(t, name+" by "+v.gemm.Op()+"/"+v.gemm.Variant(), k, pool, d.operands(dt), rounded(dt, want)) || fits
	}
	return fits
}

// productsFor returns the kernels that multiply for a kernel of convolutions: all for the best
// kernel of an op, else the best within its levels.
func productsFor(t *testing.T, k bindings.Kernel) []bindings.Kernel {
	t.Helper()
	switch best := runnable(t, k.Op())[0]; {
	case k.Op() == "f64_conv_gemm":
		return append(parts(t, "f64_gemv"), parts(t, "f64_gemm")...)
	case k.Variant() == best.Variant() && k.Op() != "f32_conv_depthwise":
		return append(parts(t, "f32_gemv"), parts(t, "f32_gemm")...)
	}
	return []bindings.Kernel{partOf(t, "f32_gemm", k.ISA())}
}

// compare compares kernel k to want. It reports whether the kernel fits.
func (v *convWords) compare(
	t *testing.T, name string, k bindings.Kernel, pool *bindings.Pool, ops [][]byte, want []float64,
) (fits bool) {
	t.Helper()
	run := func(what string, w words) {
		t.Helper()
		if !k.Fits(numbersOf(t, w)) {
			return
		}
		fits = true
		got := loaded(v.dtype, runGuarded(t, k, w, pool, v.dtype.Bytes(len(want)), v.dtype.Bytes(1), ops...))
		if i := differ(got, want, 0, 0); i >= 0 {
			t.Fatalf("%s, %s/%s of %v, %s: element %d is %v, not %v", name, k.Op(), k.Variant(), v.dtype, what, i, got[i],
				want[i])
		}
	}
	run("plain", v.words())
	n := k.Packed(numbersOf(t, v.weights()), 1)
	if n == 0 {
		return fits
	}
	weights := bindings.Alloc(n)
	defer bindings.Free(weights)
	k.Pack(numbersOf(t, v.weights()), 1, unaligned(k, ops[1]), weights)
	ops = slices.Clone(ops)
	ops[1] = weights
	v.packed = true
	run("packed", v.words())
	v.packed = false
	return fits
}

var convEpilogues = []kit.Epilogue{{}, {Func: "relu"}, {Func: "clip", P: -3, Q: 5}, {Func: "leaky_relu", P: 0.125}}

// checkConvs compares kernels to the formula in all cases.
func checkConvs(t *testing.T, formula string, transposed bool, kernels ...string) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(7, 8))
	fits := map[string]bool{}
	for _, c := range convCases() {
		s := c.shape()
		if transposed {
			s = c.transposed()
		}
		d := newConvData(r, &c, s)
		if d.out == 0 {
			continue
		}
		for i, epilogue := range convEpilogues {
			if d.add = nil; i%2 != 0 {
				d.add = quarters(r, d.out)
			}
			want := d.formula(t, formula, epilogue)
			for _, name := range kernels {
				for _, k := range runnable(t, name) {
					types := []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}
					if name == "f64_conv_gemm" {
						types = []tensor.DType{tensor.F64}
					}
					for _, dt := range types {
						fits[name] = d.check(t, c.name+" "+epilogue.Func, k, pool, dt, epilogue, want) || fits[name]
					}
				}
			}
		}
	}
	for _, name := range kernels {
		if !fits[name] {
			t.Errorf("%s fits no case", name)
		}
	}
}

func TestConv(t *testing.T) {
	t.Parallel()
	checkConvs(t, "f64_conv", false, "f32_conv_depthwise", "f32_conv_gemm", "f64_conv_gemm")
}

func TestConvTranspose(t *testing.T) {
	t.Parallel()
	checkConvs(t, "f64_conv_transpose", true, "f32_conv_transpose")
}

// TestConvFormula compares the formulas to sums by the definition.
func TestConvFormula(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	c := convCase{images: 2, groups: 2, channels: 2, filter: 3, in: []int{5, 6}, kernel: []int{3, 2},
		stride: []int{2, 1}, dilation: []int{1, 2}, before: []int{1, 2}, behind: []int{0, 1}}
	d := newConvData(r, &c, c.shape())
	want := make([]float64, d.out)
	each := func(f func(image, group, filter, channel, oy, ox, ky, kx int)) {
		for n := range 2 * 2 * 3 * 2 * volume(d.shape.Out) * 6 {
			rest := n
			next := func(m int) int { v := rest % m; rest /= m; return v }
			kx, ky := next(2), next(3)
			ox, oy := next(d.shape.Out[1]), next(d.shape.Out[0])
			channel, filter, group := next(2), next(3), next(2)
			f(next(2), group, filter, channel, oy, ox, ky, kx)
		}
	}
	for i := range want {
		want[i] = d.bias[i/volume(d.shape.Out)%6]
	}
	each(func(image, group, filter, channel, oy, ox, ky, kx int) {
		y, x := oy*2+ky-1, ox+2*kx-2
		if y < 0 || y >= 5 || x < 0 || x >= 6 {
			return
		}
		o := (((image*2+group)*3+filter)*d.shape.Out[0]+oy)*d.shape.Out[1] + ox
		want[o] += d.x[((image*4+group*2+channel)*5+y)*6+x] * d.w[((group*3+filter)*2+channel)*6+ky*2+kx]
	})
	if i := differ(d.formula(t, "f64_conv", kit.Epilogue{}), want, 0, 0); i >= 0 {
		t.Errorf("element %d of the convolution differs", i)
	}
	// The transposed convolution goes from the result's extents back to the value's.
	s := *d.shape
	s.In, s.Out = s.Out, s.In
	back := &convData{shape: &s, x: quarters(r, 2*4*volume(s.In)), w: quarters(r, 4*3*6), bias: quarters(r, 6),
		out: 2 * 6 * 30}
	want = make([]float64, back.out)
	for i := range want {
		want[i] = back.bias[i/30%6]
	}
	each(func(image, group, filter, channel, iy, ix, ky, kx int) {
		y, x := iy*2+ky-1, ix+2*kx-2
		if y < 0 || y >= 5 || x < 0 || x >= 6 {
			return
		}
		want[((image*2+group)*3+filter)*30+y*6+x] += back.x[((image*4+group*2+channel)*s.In[0]+iy)*s.In[1]+ix] * back.w[((group*2+channel)*3+filter)*6+ky*2+kx]
	})
	if i := differ(back.formula(t, "f64_conv_transpose", kit.Epilogue{}), want, 0, 0); i >= 0 {
		t.Errorf("element %d of the transposed convolution differs", i)
	}
}

// TestDepthwise compares depthwise convolutions of random extents to the formula. A few elements
// are infinite or NaN.
func TestDepthwise(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		c := convCase{name: "any", images: 1, groups: 1 + r.IntN(9), channels: 1, filter: 1 + r.IntN(2)}
		for range 2 {
			k := 1 + r.IntN(7)
			c.kernel = append(c.kernel, k)
			c.dilation = append(c.dilation, 1+r.IntN(2))
			c.stride = append(c.stride, 1+r.IntN(3))
			c.before = append(c.before, r.IntN(k+1))
			c.behind = append(c.behind, r.IntN(k+1))
			c.in = append(c.in, 2*k+r.IntN(40))
		}
		d := newConvData(r, &c, c.shape())
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			d.x[r.IntN(len(d.x))] = v
		}
		want := d.formula(t, "f64_conv", kit.Epilogue{})
		for _, k := range runnable(t, "f32_conv_depthwise") {
			if !d.check(t, c.name, k, pool, tensor.F32, kit.Epilogue{}, want) {
				t.Errorf("%+v does not fit", c)
			}
		}
	}
}
