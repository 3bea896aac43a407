package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteEpilogue is the epilogue of a convolution of codes: a bias per filter, a value of codes to
// add, and a clamp.
type byteEpilogue struct {
	bias     []float64 // nil for an integer bias
	add      []byte    // nil for none
	addType  tensor.DType
	addScale float64
	addZero  byte
	epilogue kit.Epilogue
	result   tensor.DType
	yScale   float64
	yZero    byte
	stage    tensor.DType // Invalid for none; its scale is half of y's
	middle   byte         // zero point of the stage
}

// TestByteConvEpilogue compares convolutions of codes with epilogues to the formula, in every
// layout.
func TestByteConvEpilogue(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(11, 12))
	ran := map[string]bool{}
	for i, s := range byteConvShapes() {
		for v := range 4 {
			if testing.Short() && v != (i+i/4)%4 {
				continue
			}
			d := &byteConvData{shape: s, xType: byteCodes[v&1], wType: byteCodes[v>>1]}
			filters := s.Groups * s.Filters
			d.x, d.w = someBytes(r, s.Images*s.Groups*s.Channels*volume(s.In)), someBytes(r, filters*s.Channels*volume(s.Kernel))
			d.xZero, d.wZero, d.bias = someBytes(r, 1), []byte{0}, make([]int, filters)
			if d.wType == tensor.U8 {
				d.wZero[0] = 128
			}
			if i%2 > 0 {
				d.wZero = someBytes(r, []int{1, filters}[i/2%2])
			}
			f := byteEpilogue{addType: byteCodes[r.IntN(2)], addScale: 0.02, addZero: byte(r.Uint32()),
				result: byteCodes[r.IntN(2)], yScale: 0.25, yZero: byte(r.Uint32())}
			if i%3 > 0 {
				f.add = someBytes(r, s.Images*filters*volume(s.Out))
			}
			if f.add != nil && v > 0 {
				f.stage, f.middle = byteCodes[v&1], byte(r.Uint32())
			}
			if i%4 > 1 {
				f.epilogue = kit.Epilogue{Func: "clip", P: -6, Q: 6}
			}
			for k := range filters {
				d.wScale = append(d.wScale, float64(1+r.IntN(7))/65536)
				if i%5 > 0 {
					f.bias = append(f.bias, 3*r.NormFloat64())
				} else {
					d.bias[k] = r.IntN(2000)
				}
			}
			want := f.codes(d)
			for _, name := range []string{"i8_conv_depthwise", "i8_conv_gemv", "i8_conv_gemm", "i8_conv_blocked",
				"i8_conv_winograd", "i8_conv_depthwise_blocked"} {
				for _, k := range runnable(t, name) {
					t.Run(fmt.Sprint(i, v, k.Op(), k.Variant()), func(t *testing.T) {
						if d.checkEpilogue(t, pool, k, &f, want) {
							ran[fmt.Sprint(name, "/", k.Variant(), " ", d.centred())] = true
						}
					})
				}
			}
		}
	}
	for _, name := range []string{"i8_conv_blocked", "i8_conv_winograd", "i8_conv_depthwise_blocked"} {
		for _, k := range runnable(t, name) {
			for _, centred := range []bool{true, false} {
				if fits := ran[fmt.Sprint(name, "/", k.Variant(), " ", centred)]; fits != (centred || name != "i8_conv_winograd") {
					t.Errorf("%s/%s, zero points of weights in the middle %v: some case fits %v", name, k.Variant(), centred, fits)
				}
			}
		}
	}
}

// centred reports whether the zero point of all weights is 0, or 128 for unsigned codes.
func (d *byteConvData) centred() bool {
	middle := map[tensor.DType]byte{tensor.U8: 128}[d.wType]
	return len(d.wZero) == 1 && d.wZero[0] == middle
}

// codes computes the formula. It rounds floats as kernels do, step by step.
func (f *byteEpilogue) codes(d *byteConvData) []byte {
	filters, out := d.shape.Groups*d.shape.Filters, volume(d.shape.Out)
	y, ratio := float32(f.yScale), float32(f.addScale)/float32(f.yScale)
	codes := d.sums()
	list := make([]byte, len(codes))
	for i, sum := range codes {
		k := i / out % filters
		step := y
		if f.stage != tensor.Invalid {
			step = y / 2
		}
		x := float32(float32(sum) * float32(0.5*float32(d.wScale[k])/step))
		var add, shift float32
		if f.bias != nil {
			add = float32(f.bias[k]) / step
		}
		if f.add != nil {
			shift = float32(float32(codeOf(f.addType, f.addZero)) * ratio)
		}
		if f.stage == tensor.Invalid {
			x += add - shift
		} else {
			zero := codeOf(f.stage, f.middle)
			code := codeOf(f.stage, saturatedAt(f.stage, float64(x+add), zero))
			x = float32(float32(code-zero)*0.5) - shift
		}
		if f.add != nil {
			more := float32(float32(codeOf(f.addType, f.add[i])) * ratio)
			x += more
		}
		if f.epilogue.Func != "" {
			x = min(max(x, float32(f.epilogue.P)/y), float32(f.epilogue.Q)/y)
		}
		list[i] = saturatedAt(f.result, float64(x), codeOf(f.result, f.yZero))
	}
	return list
}

// saturatedAt returns the code at v steps from a zero point.
func saturatedAt(d tensor.DType, v float64, zero int) byte {
	low := float64(-zero)
	if d == tensor.I8 {
		low -= 128
	}
	v = min(max(v, low), low+255)
	return saturated(d, math.RoundToEven(v)+float64(zero))
}

func (d *byteConvData) checkEpilogue(
	t *testing.T, pool *bindings.Pool, k bindings.Kernel, f *byteEpilogue, want []byte,
) bool {
	t.Helper()
	v := byteConv{shape: d.shape, xSigned: d.xType == tensor.I8, wSigned: d.wType == tensor.I8, wScales: len(d.wScale), wZeros: len(d.wZero), result: f.result,
		biasFloat: f.bias != nil, addSigned: f.addType == tensor.I8, epilogue: f.epilogue}
	ops := [][]byte{d.x, stored(tensor.F32, []float64{0.5}), d.xZero, d.w, stored(tensor.F32, d.wScale), d.wZero, stored(tensor.F32, []float64{f.yScale}),
		{f.yZero}, codesIn(tensor.I32, d.bias), nil, nil, nil, nil, nil}
	if f.bias != nil {
		ops[8] = stored(tensor.F32, f.bias)
	}
	if f.add != nil {
		ops[byteAdd], ops[byteAdd+1], ops[byteAdd+2] = f.add, stored(tensor.F32, []float64{f.addScale}), []byte{f.addZero}
	}
	if f.stage != tensor.Invalid {
		v.staged, v.stageSigned = true, f.stage == tensor.I8
		ops[byteStage], ops[byteStage+1] = stored(tensor.F32, []float64{f.yScale / 2}), []byte{f.middle}
	}
	if strings.HasSuffix(k.Op(), "_blocked") || k.Op() == "i8_conv_winograd" {
		fits := false
		for _, block := range []int{4, 8, 16} {
			for _, plain := range []bool{false, true} {
				b := blockedByteConv{v, block, plain, !d.centred()}
				fits = d.checkBlocked(t, pool, k, &b, ops, want) || fits
			}
		}
		return fits
	}
	v.depthwise = partOf(t, "f32_conv_depthwise", k.ISA())
	if !k.Fits(numbersOf(t, v.words())) {
		return false
	}
	d.compare(t, pool, k, &v, ops, want)
	return true
}

// checkBlocked compares results in blocks, from a plain or a blocked value.
func (d *byteConvData) checkBlocked(
	t *testing.T, pool *bindings.Pool, k bindings.Kernel, v *blockedByteConv, ops [][]byte, want []byte,
) bool {
	t.Helper()
	v.wPacked = true
	if len(d.shape.Kernel) > 2 || !k.Fits(numbersOf(t, v.words())) {
		return false
	}
	s, r := d.shape, rand.New(rand.NewPCG(1, 2))
	filters := s.Groups * s.Filters
	ops = slices.Clone(ops)
	if !v.plain {
		ops[0] = bytesInBlocks(r, d.x, s.Images, s.Groups*s.Channels, v.block)
	}
	if ops[byteAdd] != nil {
		ops[byteAdd] = bytesInBlocks(r, ops[byteAdd], s.Images, filters, v.block)
	}
	form := numbersOf(t, v.weights())
	weights := bindings.Alloc(k.Packed(form, byteWeights))
	defer bindings.Free(weights)
	k.Pack(form, byteWeights, ops[byteWeights], weights)
	ops[byteWeights] = weights
	blocks := (filters + v.block - 1) / v.block
	got := runGuarded(t, k, v.words(), pool, s.Images*blocks*v.block*volume(s.Out), 1, ops...)
	if !bytes.Equal(bytesOutOfBlocks(got, s.Images, filters, v.block), want) {
		t.Fatalf("blocks of %d, plain %t: wrong", v.block, v.plain)
	}
	return true
}

// bytesInBlocks returns a value [images,channels,...] in blocks, with random padding.
func bytesInBlocks(r *rand.Rand, x []byte, images, channels, block int) []byte {
	blocks, inner := (channels+block-1)/block, len(x)/images/channels
	y := someBytes(r, images*blocks*inner*block)
	for i, v := range x {
		c := i / inner % channels
		y[((i/inner/channels*blocks+c/block)*inner+i%inner)*block+c%block] = v
	}
	return y
}

func bytesOutOfBlocks(y []byte, images, channels, block int) []byte {
	blocks := (channels + block - 1) / block
	inner := len(y) / images / blocks / block
	x := make([]byte, images*channels*inner)
	for i := range x {
		c := i / inner % channels
		x[i] = y[((i/inner/channels*blocks+c/block)*inner+i%inner)*block+c%block]
	}
	return x
}

// TestByteWinogradLargest uses the largest codes and weights, with the most channels that the
// transformed kernels take.
func TestByteWinogradLargest(t *testing.T) {
	t.Parallel()
	const most = 1 << 29 / (9 * 255 * 128)
	pool := testPool(t)
	for _, sign := range []byte{127, 128} {
		for _, channels := range []int{most, most + 1} {
			s := &nn.ConvShape{Images: 1, Groups: 1, Channels: channels, Filters: 3, In: []int{3, 4}, Out: []int{3, 4},
				Kernel: []int{3, 3}, Stride: ones(2), Dilation: ones(2), Pad: ones(2)}
			d := &byteConvData{shape: s, xType: tensor.U8, wType: tensor.I8, xZero: []byte{0}, wZero: []byte{0},
				wScale: []float64{1 << 10, 1 << 10, 1 << 10}, bias: make([]int, s.Filters)}
			d.x, d.w = bytes.Repeat([]byte{255}, channels*volume(s.In)), bytes.Repeat([]byte{sign}, channels*s.Filters*9)
			f := byteEpilogue{addType: tensor.U8, result: tensor.I8, yScale: 1 << 32}
			want := f.codes(d)
			for _, k := range runnable(t, "i8_conv_winograd") {
				if fits := d.checkEpilogue(t, pool, k, &f, want); fits != (channels == most) {
					t.Errorf("%s, %d channels: fits %v", k.Variant(), channels, fits)
				}
			}
		}
	}
}
