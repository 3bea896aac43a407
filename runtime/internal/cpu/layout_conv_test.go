package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// depthwiseCases returns convolutions of groups of 1 to 8 channels, with whole and with padded
// blocks.
func depthwiseCases(r *rand.Rand) []convCase {
	list := []convCase{
		{images: 2, in: []int{7, 7}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)},
		{images: 1, in: []int{20, 37}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)},
		{images: 1, in: []int{21, 35}, kernel: []int{5, 5}, stride: []int{2, 2}, dilation: ones(2), before: []int{2, 1}, behind: []int{2, 2}},
		{images: 2, in: []int{29}, kernel: []int{4}, stride: ones(1), dilation: []int{2}, before: []int{3}, behind: []int{0}},
		{images: 1, in: []int{1, 2}, kernel: []int{2, 2}, stride: []int{1, 3}, dilation: ones(2), before: []int{5, 9}, behind: []int{5, 9}},
		{images: 1, in: []int{2, 3}, kernel: []int{7, 7}, stride: ones(2), dilation: ones(2), before: []int{3, 3}, behind: []int{3, 3}},
		{images: 1, in: []int{14, 14}, kernel: []int{7, 7}, stride: ones(2), dilation: ones(2), before: []int{3, 3}, behind: []int{3, 3}},
		{images: 1, in: []int{4, 31}, kernel: []int{3, 11}, stride: ones(2), dilation: ones(2), before: []int{1, 5}, behind: []int{1, 5}},
		{images: 1, in: []int{9, 58}, kernel: []int{5, 5}, stride: []int{1, 2}, dilation: ones(2), before: []int{2, 2}, behind: []int{2, 2}},
	}
	list = append(list,
		convCase{images: 2, in: []int{5, 8, 13}, kernel: []int{3, 3, 3}, stride: ones(3), dilation: ones(3), before: ones(3), behind: ones(3)},
		convCase{images: 1, in: []int{9, 14, 30}, kernel: []int{3, 3, 3}, stride: []int{2, 2, 2}, dilation: ones(3), before: ones(3), behind: []int{1, 0, 1}},
		convCase{images: 2, in: []int{2, 6, 9}, kernel: []int{3, 1, 5}, stride: ones(3), dilation: []int{2, 1, 1}, before: []int{6, 1, 2}, behind: []int{5, 0, 2}},
		convCase{images: 1, in: []int{6, 20, 31}, kernel: []int{2, 5, 4}, stride: []int{1, 2, 3}, dilation: []int{3, 2, 1}, before: []int{0, 3, 1}, behind: []int{0, 4, 2}},
	)
	for i := range 12 {
		c := convCase{images: 1}
		for range 2 + i%3/2 {
			k := 1 + r.IntN(6)
			c.kernel = append(c.kernel, k)
			c.dilation = append(c.dilation, 1+r.IntN(3))
			c.stride = append(c.stride, 1+r.IntN(3))
			c.before = append(c.before, r.IntN(k+1))
			c.behind = append(c.behind, r.IntN(k+1))
			c.in = append(c.in, 3*k+r.IntN(30))
		}
		list = append(list, c)
	}
	for i := range list {
		c := &list[i]
		c.name, c.groups, c.channels, c.filter = fmt.Sprint("case ", i), []int{1, 3, 17, 31, 16, 40}[i%6], 1, 1
		if i%2 == 1 {
			c.channels = []int{4, 2, 8}[i/2%3]
			c.filter = c.channels
		}
		c.noBias = i%5 == 4
	}
	return list
}

// TestBlockedDepthwise compares all variants to the formula on plain values.
func TestBlockedDepthwise(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(21, 22))
	tried := map[string]bool{}
	for i, c := range depthwiseCases(r) {
		d := newConvData(r, &c, c.shape())
		if i%3 == 2 {
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				d.x[r.IntN(len(d.x))] = v
			}
		}
		for e, epilogue := range convEpilogues {
			if testing.Short() && e != i%len(convEpilogues) {
				continue
			}
			if d.add = nil; (i+e)%2 == 0 {
				d.add = quarters(r, d.out)
			}
			want := d.formula(t, "f64_conv", epilogue)
			for _, k := range runnable(t, "f32_conv_depthwise_blocked") {
				for _, block := range testBlocks {
					if d.checkBlocked(t, fmt.Sprint(c.name, " ", epilogue.Func), k, pool, block, false, epilogue, want) {
						tried[k.Variant()] = true
					}
				}
			}
		}
	}
	if len(tried) != len(runnable(t, "f32_conv_depthwise_blocked")) {
		t.Errorf("only %v fit", tried)
	}
}

// TestBlockedDepthwiseWidths uses rows of all numbers of pixels that tiles divide differently.
func TestBlockedDepthwiseWidths(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(23, 24))
	for _, kernel := range []int{3, 5, 7} {
		for _, stride := range []int{1, 2} {
			for width := 1; width <= 30; width++ {
				before, behind := r.IntN(min(kernel, 5)), r.IntN(kernel)
				in := max(1, (width-1)*stride+kernel-before-behind)
				c := convCase{name: fmt.Sprint("kernel ", kernel, " by ", stride, ", ", in, " columns, ", before, " before and ", behind, " behind"), images: 1,
					groups: 9, channels: 1, filter: 1, in: []int{4, in}, kernel: []int{3, kernel}, stride: []int{1, stride}, dilation: ones(2),
					before: []int{1, before}, behind: []int{1, behind}, noBias: width%5 == 4}
				d := newConvData(r, &c, c.shape())
				if width%3 == 2 {
					d.x[r.IntN(len(d.x))], d.x[r.IntN(len(d.x))] = math.NaN(), math.Inf(1)
				}
				if d.add = nil; width%2 == 0 {
					d.add = quarters(r, d.out)
				}
				epilogue := convEpilogues[width%len(convEpilogues)]
				want := d.formula(t, "f64_conv", epilogue)
				for _, k := range runnable(t, "f32_conv_depthwise_blocked") {
					fits := false
					for _, block := range testBlocks {
						fits = d.checkBlocked(t, fmt.Sprint(c.name, " ", epilogue.Func), k, nil, block, false, epilogue, want) || fits
					}
					if !fits {
						t.Fatalf("%s: no block fits %s", c.name, k.Variant())
					}
				}
			}
		}
	}
}

// checkBlocked compares a kernel on blocked values to want, which is plain. It reports whether the
// kernel fits.
func (d *convData) checkBlocked(
	t *testing.T, name string, k bindings.Kernel, pool *bindings.Pool, block int, plain bool, epilogue kit.Epilogue,
	want []float64,
) bool {
	t.Helper()
	got := d.blocked(t, k, pool, block, plain, 0, epilogue)
	if got == nil {
		return false
	}
	if i := differ(got, want, 0, 0); i >= 0 {
		t.Fatalf("%s, %s in blocks of %d: element %d is %v, not %v", name, k.Variant(), block, i, got[i], want[i])
	}
	return true
}

// blocked computes the convolution of blocked values. It returns nil if the kernel does not fit.
func (d *convData) blocked(
	t *testing.T, k bindings.Kernel, pool *bindings.Pool, block int, plain bool, tile int, epilogue kit.Epilogue,
) []float64 {
	t.Helper()
	v := blockedConvWords{convWords: convWords{shape: d.shape, dtype: tensor.F32, packed: true, add: d.add != nil, epilogue: epilogue}, block: block,
		kernel: k.Op(), plain: plain, tile: tile}
	if epilogue.Func == "leaky_relu" {
		v.apply = partOf(t, "f32_leaky_relu", k.ISA())
	}
	if !k.Fits(numbersOf(t, v.words())) {
		return nil
	}
	in := append(tensor.Shape{d.shape.Images, d.shape.Groups * d.shape.Channels}, d.shape.In...)
	out := append(tensor.Shape{d.shape.Images, d.shape.Groups * d.shape.Filters}, d.shape.Out...)
	x := stored(tensor.F32, d.x)
	if !plain {
		x = toBlocks(d.x, in, block)
	}
	w := unaligned(k, stored(tensor.F32, d.w))
	packed := bindings.Alloc(k.Packed(numbersOf(t, v.weights()), 1))
	defer bindings.Free(packed)
	k.Pack(numbersOf(t, v.weights()), 1, w, packed)
	n, bias := device.Blocked(block).Bytes(tensor.F32, out), stored(tensor.F32, d.bias)
	got := fromBlocks(runGuarded(t, k, v.words(), pool, n, 4, x, packed, bias, toBlocks(d.add, out, block)), out, block)
	if d.add != nil {
		y := toBlocks(d.add, out, block)
		if f, failed := runCommand(t, k, v.words(), pool, x, packed, bias, y, y); failed {
			t.Fatalf("%s/%s failed: %v", k.Op(), k.Variant(), failure(f))
		}
		if differ(fromBlocks(y, out, block), got, 0, 0) >= 0 {
			t.Fatalf("%s/%s: in place of what is added, the result differs", k.Op(), k.Variant())
		}
	}
	return got
}

// denseCases returns the cases of convCases with one group, and some random ones.
func denseCases(r *rand.Rand) []convCase {
	list := slices.DeleteFunc(convCases(), func(c convCase) bool { return c.groups != 1 })
	list = append(list,
		convCase{name: "groups of whole blocks", images: 2, groups: 3, channels: 32, filter: 64, in: []int{14, 15}, kernel: []int{3, 3}, stride: []int{1, 2}, dilation: ones(2), before: ones(2), behind: ones(2)},
		convCase{name: "groups of single pixels", images: 2, groups: 4, channels: 64, filter: 32, in: []int{29, 30}, kernel: ones(2), stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2)},
		convCase{name: "groups of 24", images: 2, groups: 5, channels: 24, filter: 24, in: []int{13, 15}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)},
		convCase{name: "groups of 12 by two", images: 1, groups: 6, channels: 12, filter: 12, in: []int{17, 30}, kernel: []int{3, 3}, stride: []int{2, 2}, dilation: ones(2), before: ones(2), behind: []int{0, 1}},
		convCase{name: "groups of 9 channels and 20 filters", images: 2, groups: 7, channels: 9, filter: 20, in: []int{8, 11}, kernel: []int{2, 3}, stride: ones(2), dilation: []int{1, 2}, before: ones(2), behind: ones(2)},
		convCase{name: "groups of 40 channels and 6 filters", images: 1, groups: 11, channels: 40, filter: 6, in: []int{9, 10}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2), noBias: true},
		convCase{name: "groups of 72 channels and many weights", images: 2, groups: 2, channels: 72, filter: 44, in: []int{7, 7}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)},
		convCase{name: "groups of 24, single pixels", images: 1, groups: 5, channels: 24, filter: 40, in: []int{40, 30}, kernel: ones(2), stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2)},
		convCase{name: "groups of 2 channels and 3 filters", images: 1, groups: 9, channels: 2, filter: 3, in: []int{30}, kernel: []int{3}, stride: ones(1), dilation: ones(1), before: ones(1), behind: ones(1)},
		convCase{name: "groups along three axes", images: 2, groups: 3, channels: 20, filter: 12, in: []int{4, 7, 9}, kernel: []int{3, 3, 2}, stride: []int{1, 2, 1}, dilation: ones(3), before: []int{1, 1, 0}, behind: []int{1, 1, 1}},
		convCase{name: "three axes of 20 channels", images: 1, groups: 1, channels: 20, filter: 30, in: []int{4, 9, 8}, kernel: []int{2, 3, 3}, stride: ones(3), dilation: ones(3), before: []int{1, 1, 1}, behind: []int{0, 1, 1}},
		convCase{name: "three axes", images: 2, groups: 1, channels: 32, filter: 20, in: []int{5, 9, 11}, kernel: []int{3, 3, 3}, stride: []int{1, 1, 2}, dilation: []int{1, 1, 1}, before: []int{1, 1, 1}, behind: []int{1, 1, 1}},
		convCase{name: "three axes without padding", images: 1, groups: 1, channels: 16, filter: 33, in: []int{6, 7, 9}, kernel: []int{2, 3, 3}, stride: []int{2, 1, 1}, dilation: []int{2, 1, 1}, before: []int{0, 0, 0}, behind: []int{0, 0, 0}},
		convCase{name: "three axes, one pixel of each slice", images: 2, groups: 2, channels: 32, filter: 32, in: []int{4, 14, 14}, kernel: []int{3, 1, 1}, stride: []int{1, 1, 1}, dilation: []int{3, 1, 1}, before: []int{4, 0, 0}, behind: []int{5, 0, 0}},
		convCase{name: "three axes, slices that meet padding alone", images: 2, groups: 1, channels: 16, filter: 17, in: []int{1, 5, 6}, kernel: []int{2, 3, 1}, stride: []int{1, 1, 1}, dilation: []int{4, 1, 1}, before: []int{3, 1, 0}, behind: []int{4, 1, 0}},
		convCase{name: "three axes of few channels", images: 2, groups: 1, channels: 3, filter: 24, in: []int{7, 15, 16}, kernel: []int{3, 5, 3}, stride: []int{2, 2, 1}, dilation: []int{1, 1, 2}, before: []int{1, 2, 2}, behind: []int{1, 2, 2}},
		convCase{name: "groups along one axis", images: 1, groups: 2, channels: 32, filter: 96, in: []int{77}, kernel: []int{5}, stride: ones(1), dilation: []int{2}, before: []int{4}, behind: []int{3}},
		convCase{name: "a line in segments by two", images: 1, groups: 1, channels: 12, filter: 20, in: []int{1501}, kernel: []int{7}, stride: []int{2}, dilation: []int{3}, before: []int{9}, behind: []int{8}},
		convCase{name: "a line in segments without padding", images: 2, groups: 1, channels: 16, filter: 24, in: []int{1800}, kernel: []int{5}, stride: ones(1), dilation: []int{2}, before: make([]int, 1), behind: make([]int, 1)},
		convCase{name: "a line of few channels in segments", images: 1, groups: 1, channels: 2, filter: 9, in: []int{5003}, kernel: []int{9}, stride: []int{2}, dilation: ones(1), before: []int{4}, behind: []int{5}},
		convCase{name: "a line of groups in segments by three", images: 1, groups: 3, channels: 20, filter: 12, in: []int{2001}, kernel: []int{5}, stride: []int{3}, dilation: []int{2}, before: []int{3}, behind: []int{2}},
		convCase{name: "lines in slices and segments", images: 1, groups: 1, channels: 16, filter: 20, in: []int{3, 1, 1100}, kernel: []int{2, 1, 4}, stride: ones(3), dilation: ones(3), before: []int{1, 0, 2}, behind: []int{0, 0, 1}},
		convCase{name: "pointwise on a large map", images: 1, groups: 1, channels: 130, filter: 40, in: []int{60, 61}, kernel: ones(2), stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2)},
		convCase{name: "3x3 on a large map", images: 1, groups: 1, channels: 48, filter: 20, in: []int{40, 72}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)},
		convCase{name: "many channels on a small map", images: 1, groups: 1, channels: 528, filter: 128, in: []int{16, 16}, kernel: ones(2), stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2)},
		convCase{name: "many weights", images: 2, groups: 1, channels: 96, filter: 300, in: []int{6, 7}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)})
	for i := range 16 {
		c := convCase{name: fmt.Sprint("at random ", i), images: 1 + r.IntN(2), groups: 1, channels: 1 + r.IntN(70),
			filter: 1 + r.IntN(70), noBias: i%5 == 4}
		for range 1 + i%4/3 + i%2 {
			k := 1 + r.IntN(5)
			c.kernel = append(c.kernel, k)
			c.dilation = append(c.dilation, 1+r.IntN(3))
			c.stride = append(c.stride, 1+r.IntN(3))
			c.before = append(c.before, r.IntN(k+1))
			c.behind = append(c.behind, r.IntN(k+1))
			c.in = append(c.in, 3*k+r.IntN(20))
		}
		if len(c.in) < 3 {
			list = append(list, c)
		}
	}
	return list
}

// TestBlockedDense compares all variants to the formula on plain values.
func TestBlockedDense(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(25, 26))
	tried := map[string]bool{}
	for i, c := range denseCases(r) {
		d := newConvData(r, &c, c.shape())
		epilogue := convEpilogues[i%len(convEpilogues)]
		if d.add = nil; i%2 == 0 {
			d.add = quarters(r, d.out)
		}
		want := d.formula(t, "f64_conv", epilogue)
		for _, k := range runnable(t, "f32_conv_blocked") {
			for b, block := range testBlocks {
				if testing.Short() && k.ISA() == 0 && b != i%len(testBlocks) {
					continue // scalar code is slow under emulation
				}
				for _, plain := range []bool{false, true} {
					if d.checkBlocked(t, fmt.Sprint(c.name, " ", epilogue.Func, " plain ", plain), k, pool, block, plain, epilogue,
						want) {
						tried[k.Variant()] = true
					}
				}
			}
		}
	}
	if len(tried) != len(runnable(t, "f32_conv_blocked")) {
		t.Errorf("only %v fit", tried)
	}
}

// largeDense are convolutions for which some variants use another algorithm.
var largeDense = []convCase{
	{channels: 48, filter: 20, in: []int{23, 30}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
	{channels: 130, filter: 64, in: []int{9, 11}, kernel: []int{1, 1}},
	{channels: 40, filter: 33, in: []int{31, 29}, kernel: []int{3, 5}, stride: []int{2, 3}, dilation: []int{1, 2}, before: []int{1, 4}, behind: []int{2, 3}},
	{channels: 64, filter: 96, in: []int{300}, kernel: []int{5}, dilation: []int{3}, before: []int{12}, behind: []int{0}},
	{channels: 512, filter: 64, in: []int{7, 7}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}, images: 2},
	{channels: 96, filter: 64, in: []int{34, 31}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
	{channels: 128, filter: 64, in: []int{1500}, kernel: []int{3}},
	{channels: 300, filter: 100, in: []int{7, 7}, kernel: []int{1, 1}, images: 2},
	{channels: 528, filter: 72, in: []int{14, 14}, kernel: []int{1, 1}},
	{channels: 256, filter: 17, in: []int{5, 9}, kernel: []int{1, 1}},
	{channels: 272, filter: 136, in: []int{256}, kernel: []int{1}},
	{groups: 5, channels: 24, filter: 12, in: []int{15, 17}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
}

func (c convCase) whole() convCase {
	n := len(c.in)
	c.images, c.groups = max(c.images, 1), max(c.groups, 1)
	for _, list := range []*[]int{&c.stride, &c.dilation} {
		if *list == nil {
			*list = ones(n)
		}
	}
	for _, list := range []*[]int{&c.before, &c.behind} {
		if *list == nil {
			*list = make([]int, n)
		}
	}
	return c
}

// TestDenseThreads checks that convolutions give the same bits on any number of threads, also next
// to an infinity, for which some variants use another algorithm.
func TestDenseThreads(t *testing.T) {
	t.Parallel()
	pools, r := testPools(t, 4), rand.New(rand.NewPCG(35, 36))
	for i, c := range largeDense {
		c = c.whole()
		d := newConvData(r, &c, c.shape())
		epilogue := convEpilogues[i%len(convEpilogues)]
		if d.add = nil; i%2 == 0 {
			d.add = make([]float64, d.out)
		}
		for _, list := range [][]float64{d.x, d.w, d.bias, d.add} {
			for k := range list {
				list[k] = float64(float32(r.NormFloat64()))
			}
		}
		d.x[len(d.x)/2] = math.Inf(1)
		for _, k := range runnable(t, "f32_conv_blocked") {
			if k.ISA() == 0 {
				continue // scalar code is slow, and has tiles of one pixel
			}
			for _, block := range testBlocks {
				want := d.blocked(t, k, pools[0], block, false, 0, epilogue)
				for i, pool := range pools[1:] {
					if want == nil {
						break
					}
					got := d.blocked(t, k, pool, block, false, 0, epilogue)
					if !slices.EqualFunc(got, want, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) }) {
						t.Errorf("%s, %d channels to %d of %v, blocks of %d: %d threads give other bits than one", k.Variant(),
							c.channels, c.filter, c.in, block, i+2)
					}
				}
			}
		}
	}
}

// TestDenseErrors compares all variants to the formula on random floats. No error may exceed three
// times the largest error of scalar code.
func TestDenseErrors(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(29, 30))
	for i, c := range largeDense {
		c = c.whole()
		d := newConvData(r, &c, c.shape())
		for _, list := range [][]float64{d.x, d.w, d.bias} {
			for k := range list {
				list[k] = float64(float32(r.NormFloat64()))
			}
		}
		d.add = nil
		want := d.formula(t, "f64_conv", kit.Epilogue{})
		direct := largestError(d.blocked(t, partOf(t, "f32_conv_blocked", 0), pool, 16, false, 0, kit.Epilogue{}), want)
		for _, k := range runnable(t, "f32_conv_blocked") {
			got := d.blocked(t, k, pool, 16, false, 0, kit.Epilogue{})
			if got == nil {
				continue
			}
			if off := largestError(got, want); !(off <= 3*direct) {
				t.Errorf("case %d, %s: off by %g, the sums of scalar code by %g", i, k.Variant(), off, direct)
			}
		}
	}
}

// TestDenseSpecial puts infinities, NaNs and the largest numbers into values and weights. They must
// reach exactly the elements that use them.
func TestDenseSpecial(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(31, 32))
	for i, c := range largeDense {
		c = c.whole()
		d := newConvData(r, &c, c.shape())
		if i%2 == 0 {
			d.x[r.IntN(len(d.x))], d.x[r.IntN(len(d.x))], d.w[r.IntN(len(d.w))] = math.Inf(1), math.NaN(), math.Inf(-1)
		} else {
			d.x[r.IntN(len(d.x))] = -math.MaxFloat32
		}
		d.add = nil
		want := d.blocked(t, partOf(t, "f32_conv_blocked", 0), pool, 16, false, 0, kit.Epilogue{})
		for _, k := range runnable(t, "f32_conv_blocked") {
			got := d.blocked(t, k, pool, 16, false, 0, kit.Epilogue{})
			for e := range got {
				if math.IsNaN(got[e]) != math.IsNaN(want[e]) ||
					!math.IsNaN(want[e]) && math.Abs(want[e]) < 1e30 && got[e] != want[e] {
					t.Fatalf("case %d, %s: element %d is %g, not %g", i, k.Variant(), e, got[e], want[e])
				}
			}
		}
	}
}

// TestWinograd compares all variants to the formula. No error may exceed three times the error of
// chains of multiply-adds.
func TestWinograd(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(27, 28))
	tried := map[string]bool{}
	for i, c := range []convCase{
		{channels: 16, filter: 16, in: []int{12, 12}},
		{channels: 64, filter: 40, in: []int{9, 14}, images: 2},
		{channels: 5, filter: 3, in: []int{7, 5}, before: []int{2, 3}, behind: []int{0, 2}},
		{channels: 100, filter: 33, in: []int{8, 7}},
		{channels: 33, filter: 70, in: []int{3, 3}, before: []int{0, 0}, behind: []int{0, 0}, noBias: true},
		{channels: 1, filter: 1, in: []int{1, 30}, images: 3},
		{channels: 24, filter: 70, in: []int{25, 30}},
	} {
		c.images, c.groups, c.kernel, c.stride, c.dilation = max(c.images, 1), 1, []int{3, 3}, ones(2), ones(2)
		if c.before == nil {
			c.before, c.behind = ones(2), ones(2)
		}
		d := newConvData(r, &c, c.shape())
		if i%2 == 0 {
			d.add = make([]float64, d.out)
		}
		for _, list := range [][]float64{d.x, d.w, d.bias, d.add} {
			for k := range list {
				list[k] = float64(float32(r.NormFloat64()))
			}
		}
		scale := largestError(make([]float64, d.out), d.formula(t, "f64_conv", kit.Epilogue{}))
		for e, epilogue := range convEpilogues[i%2 : i%2+2] {
			want := d.formula(t, "f64_conv", epilogue)
			direct := largestError(d.blocked(t, partOf(t, "f32_conv_blocked", 0), pool, 8, false, 0, epilogue), want)
			for _, k := range runnable(t, "f32_conv_winograd") {
				for _, block := range testBlocks {
					for _, tile := range []int{2, 4} {
						got := d.blocked(t, k, pool, block, false, tile, epilogue)
						if got == nil {
							continue
						}
						tried[k.Variant()] = true
						if off := largestError(got, want); !(off <= 3*direct+1e-6*scale) {
							t.Errorf("case %d, epilogue %d, %s, tiles of %d, blocks of %d: off by %g, direct by %g", i, e, k.Variant(),
								tile, block, off, direct)
						}
					}
				}
			}
		}
	}
	if len(tried) != len(runnable(t, "f32_conv_winograd")) {
		t.Errorf("only %v fit", tried)
	}
}

// largestError returns the largest difference of two lists.
func largestError(got, want []float64) float64 {
	off := 0.0
	for i, w := range want {
		off = max(off, math.Abs(got[i]-w))
	}
	return off
}
