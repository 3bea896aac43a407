package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteConvShapes returns the shapes of convolutions of floats, kernels at the limit of the
// depthwise kernel, signals of which some blocks meet no edge, and groups of whole and of partial blocks.
func byteConvShapes() []*nn.ConvShape {
	list := []*nn.ConvShape{
		{Images: 1, Groups: 2, Channels: 1, Filters: 6, In: []int{20, 40}, Out: []int{5, 25}, Kernel: []int{16, 16}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
		{Images: 1, Groups: 2, Channels: 1, Filters: 1, In: []int{20, 40}, Out: []int{4, 25}, Kernel: []int{17, 16}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
		{Images: 2, Groups: 1, Channels: 21, Filters: 50, In: []int{15, 12}, Out: []int{15, 13}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 2}},
		{Images: 2, Groups: 1, Channels: 33, Filters: 24, In: []int{37, 41}, Out: []int{35, 39}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{0, 0}},
		{Images: 1, Groups: 1, Channels: 3, Filters: 7, In: []int{3, 300}, Out: []int{3, 300}, Kernel: []int{3, 3}, Stride: []int{1, 1}, Dilation: []int{1, 1}, Pad: []int{1, 1}},
	}
	list = append(list,
		&nn.ConvShape{Images: 2, Groups: 1, Channels: 7, Filters: 9, In: []int{130}, Out: []int{124}, Kernel: []int{3}, Stride: ones(1), Dilation: []int{3}, Pad: []int{0}},
		&nn.ConvShape{Images: 1, Groups: 2, Channels: 96, Filters: 9, In: []int{700}, Out: []int{700}, Kernel: []int{11}, Stride: ones(1), Dilation: []int{2}, Pad: []int{10}})
	for i, g := range [][3]int{{3, 24, 24}, {4, 12, 12}, {2, 32, 32}, {6, 16, 8}, {3, 20, 28}, {5, 6, 6}, {7, 5, 9},
		{16, 4, 4}, {11, 2, 2}, {6, 32, 64}} {
		k, stride := []int{3, 1, 2}[i%3], 1+i%4/3
		c := convCase{images: 1 + i%2, groups: g[0], channels: g[1], filter: g[2], in: []int{9, 8}, kernel: []int{k, k}, stride: []int{1, stride}, dilation: ones(2),
			before: []int{k / 2, k / 3}, behind: []int{k / 3, k / 2}}
		list = append(list, c.shape())
	}
	list = append(list,
		&nn.ConvShape{Images: 2, Groups: 1, Channels: 21, Filters: 36, In: []int{4, 9, 8}, Out: []int{4, 9, 9}, Kernel: []int{3, 3, 3}, Stride: ones(3), Dilation: ones(3), Pad: []int{1, 1, 2}},
		&nn.ConvShape{Images: 1, Groups: 1, Channels: 32, Filters: 40, In: []int{7, 8, 9}, Out: []int{2, 6, 4}, Kernel: []int{2, 3, 2}, Stride: []int{3, 1, 2}, Dilation: []int{2, 1, 1}, Pad: make([]int, 3)},
		&nn.ConvShape{Images: 2, Groups: 1, Channels: 16, Filters: 64, In: []int{3, 8, 9}, Out: []int{3, 8, 9}, Kernel: ones(3), Stride: ones(3), Dilation: ones(3), Pad: make([]int, 3)},
		&nn.ConvShape{Images: 2, Groups: 3, Channels: 12, Filters: 20, In: []int{5, 6, 7}, Out: []int{3, 6, 8}, Kernel: []int{3, 1, 2}, Stride: []int{2, 1, 1}, Dilation: ones(3), Pad: []int{1, 0, 1}},
		&nn.ConvShape{Images: 1, Groups: 1, Channels: 96, Filters: 200, In: []int{2, 5, 6}, Out: []int{2, 5, 6}, Kernel: []int{3, 3, 3}, Stride: ones(3), Dilation: ones(3), Pad: ones(3)},
		&nn.ConvShape{Images: 2, Groups: 20, Channels: 1, Filters: 1, In: []int{5, 9, 30}, Out: []int{5, 9, 30}, Kernel: []int{3, 3, 3}, Stride: ones(3), Dilation: ones(3), Pad: ones(3)},
		&nn.ConvShape{Images: 1, Groups: 37, Channels: 1, Filters: 1, In: []int{6, 11, 19}, Out: []int{2, 6, 9}, Kernel: []int{2, 3, 5}, Stride: []int{2, 2, 2}, Dilation: []int{3, 1, 1}, Pad: []int{0, 1, 2}},
		&nn.ConvShape{Images: 1, Groups: 9, Channels: 1, Filters: 1, In: []int{3, 11, 19}, Out: []int{3, 9, 17}, Kernel: []int{1, 2, 3}, Stride: ones(3), Dilation: []int{1, 2, 1}, Pad: make([]int, 3)})
	for _, c := range convCases() {
		if s := c.shape(); volume(s.Out)*s.Images*s.Filters > 0 && s.Channels > 0 && volume(s.Out) < 20000 {
			list = append(list, s)
		}
	}
	return list
}

// byteConvData holds the operands of a convolution of codes.
type byteConvData struct {
	shape              *nn.ConvShape
	xType, wType       tensor.DType
	x, w, xZero, wZero []byte
	wScale             []float64
	bias               []int
}

// TestByteConv compares convolutions of codes to the formula, with plain and packed weights, and
// with channels first and last.
func TestByteConv(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 10))
	fits := map[string]bool{}
	for i, s := range byteConvShapes() {
		for v := range 4 {
			if testing.Short() && v != i%4 {
				continue
			}
			d := &byteConvData{shape: s, xType: byteCodes[v&1], wType: byteCodes[v>>1]}
			filters := s.Groups * s.Filters
			d.x, d.w = someBytes(r, s.Images*s.Groups*s.Channels*volume(s.In)), someBytes(r, filters*s.Channels*volume(s.Kernel))
			d.xZero, d.wZero = someBytes(r, 1), someBytes(r, []int{1, filters}[v&1])
			for range len(d.wZero) {
				d.wScale = append(d.wScale, float64(1+r.IntN(7))/4096)
			}
			for range filters {
				d.bias = append(d.bias, r.IntN(2000))
			}
			sums := d.sums()
			for _, op := range []string{"i8_conv_depthwise", "i8_conv_gemv", "i8_conv_gemm"} {
				for _, k := range runnable(t, op) {
					t.Run(fmt.Sprint(*s, d.xType, d.wType, k.Op(), k.Variant()),
						func(t *testing.T) { fits[op] = d.check(t, pool, k, sums) || fits[op] })
				}
			}
		}
	}
	if !fits["i8_conv_gemv"] || !fits["i8_conv_gemm"] || !fits["i8_conv_depthwise"] {
		t.Errorf("a kernel fits no case: %v", fits)
	}
}

// sums computes the formula, with the bias.
func (d *byteConvData) sums() []int32 {
	s := d.shape
	size, plane, out, filters := volume(s.Kernel), volume(s.In), volume(s.Out), s.Groups*s.Filters
	x, w := centredCodes(d.xType, d.x, d.xZero[0]), make([]int, len(d.w))
	for filter := range filters {
		row := s.Channels * size
		copy(w[filter*row:], centredCodes(d.wType, d.w[filter*row:][:row], d.wZero[filter%len(d.wZero)]))
	}
	list := make([]int32, s.Images*filters*out)
	for pixel := range out {
		taps := d.taps(pixel)
		for row := range s.Images * filters {
			image, filter := row/filters, row%filters
			sum := d.bias[filter]
			for c := range s.Channels {
				values, weights := x[((image*s.Groups+filter/s.Filters)*s.Channels+c)*plane:], w[(filter*s.Channels+c)*size:]
				for _, tap := range taps {
					sum += values[tap.value] * weights[tap.weight]
				}
			}
			list[row*out+pixel] = int32(sum)
		}
	}
	return list
}

// tap is an element of a channel's plane and the weight that multiplies it.
type tap struct{ value, weight int }

// taps returns the elements that a pixel of the result sums, without padding.
func (d *byteConvData) taps(pixel int) []tap {
	list, size := []tap{{}}, 1
	for _, extent := range d.shape.Out {
		size *= extent
	}
	for x, kernel := range d.shape.Kernel {
		size /= d.shape.Out[x]
		first := pixel/size%d.shape.Out[x]*d.shape.Stride[x] - d.shape.Pad[x]
		var next []tap
		for _, t := range list {
			for k := range kernel {
				if at := first + k*d.shape.Dilation[x]; at >= 0 && at < d.shape.In[x] {
					next = append(next, tap{t.value*d.shape.In[x] + at, t.weight*kernel + k})
				}
			}
		}
		list = next
	}
	return list
}

// centredCodes returns codes minus their zero point.
func centredCodes(d tensor.DType, codes []byte, zero byte) []int {
	list := make([]int, len(codes))
	for i, c := range codes {
		list[i] = codeOf(d, c) - codeOf(d, zero)
	}
	return list
}

// check compares a kernel to the formula. It reports whether the kernel fits.
func (d *byteConvData) check(t *testing.T, pool *bindings.Pool, k bindings.Kernel, sums []int32) bool {
	t.Helper()
	v := &byteConv{shape: d.shape, xSigned: d.xType == tensor.I8, wSigned: d.wType == tensor.I8, wScales: len(d.wScale),
		wZeros: len(d.wZero), result: tensor.I32}
	v.depthwise = partOf(t, "f32_conv_depthwise", k.ISA())
	if !k.Fits(numbersOf(t, v.words())) {
		return false
	}
	ops := [][]byte{d.x, nil, d.xZero, d.w, nil, d.wZero, nil, nil, codesIn(tensor.I32, d.bias), nil, nil, nil, nil, nil}
	want := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(sums))), 4*len(sums))
	d.compare(t, pool, k, v, ops, want)
	filters, out := d.shape.Groups*d.shape.Filters, volume(d.shape.Out)
	v.result = tensor.F32
	ops[4] = stored(tensor.F32, d.wScale)
	floats := make([]float64, len(sums))
	for i, s := range sums {
		floats[i] = float64(float32(s) * float32(d.wScale[i/out%filters%len(d.wScale)]))
	}
	d.compare(t, pool, k, v, ops, stored(tensor.F32, floats))
	v.result = tensor.U8
	ops[1], ops[6], ops[7] = stored(tensor.F32, []float64{0.5}), stored(tensor.F32, []float64{0.25}), []byte{9}
	codes := make([]byte, len(sums))
	for i, s := range sums {
		scale := 0.5 * float32(d.wScale[i/out%filters%len(d.wScale)]) / 0.25
		codes[i] = saturated(tensor.U8, math.RoundToEven(float64(float32(s)*scale))+9)
	}
	d.compare(t, pool, k, v, ops, codes)
	v.last = true
	ops[0] = channelsBehind(d.x, d.shape.Images, d.shape.Groups*d.shape.Channels)
	d.compare(t, pool, k, v, ops, channelsBehind(codes, d.shape.Images, filters))
	return true
}

// channelsBehind moves the axis of channels after the positions.
func channelsBehind(x []byte, images, channels int) []byte {
	y := make([]byte, len(x))
	plane := len(x) / images / channels
	for i, v := range x {
		y[(i/plane/channels*plane+i%plane)*channels+i/plane%channels] = v
	}
	return y
}

func (d *byteConvData) compare(
	t *testing.T, pool *bindings.Pool, k bindings.Kernel, v *byteConv, ops [][]byte, want []byte,
) {
	t.Helper()
	if got := runGuarded(t, k, v.words(), pool, len(want), v.result.Bytes(1), ops...); !bytes.Equal(got, want) {
		t.Fatalf("%v, channels last %t: wrong", v.result, v.last)
	}
	form := numbersOf(t, v.weights())
	n := k.Packed(form, byteWeights)
	if n == 0 {
		return
	}
	weights := bindings.Alloc(n)
	defer bindings.Free(weights)
	k.Pack(form, byteWeights, ops[byteWeights], weights)
	ops = slices.Clone(ops)
	ops[byteWeights] = weights
	v.wPacked = true
	if got := runGuarded(t, k, v.words(), pool, len(want), v.result.Bytes(1), ops...); !bytes.Equal(got, want) {
		t.Fatalf("%v, channels last %t, packed: wrong", v.result, v.last)
	}
	v.wPacked = false
}
