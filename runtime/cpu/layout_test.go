package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// testBlocks are the channels of blocks that kernels are tried with.
var testBlocks = []int{4, 8, 16, 32}

// toBlocks is a value in blocks whose padding is not a number.
func toBlocks(list []float64, s tensor.Shape, block int) []byte {
	if list == nil {
		return nil
	}
	all := slices.Repeat([]float64{math.NaN()}, device.Blocked(block).Extents(s).Len())
	for i, v := range list {
		all[blockPlace(i, s, block)] = v
	}
	return stored(tensor.F32, all)
}

// fromBlocks is the channels of a value in blocks.
func fromBlocks(b []byte, s tensor.Shape, block int) []float64 {
	all, list := loaded(tensor.F32, b), make([]float64, s.Len())
	for i := range list {
		list[i] = all[blockPlace(i, s, block)]
	}
	return list
}

// blockPlace is where element i of a value [N,C,...] lies in blocks.
func blockPlace(i int, s tensor.Shape, block int) int {
	inner := s[2:].Len()
	at, channel, image := i%inner, i/inner%s[1], i/inner/s[1]
	blocks := (s[1] + block - 1) / block
	return ((image*blocks+channel/block)*inner+at)*block + channel%block
}

// depthwiseCases are convolutions of odd and of whole numbers of channels.
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
	for range 12 {
		c := convCase{images: 1}
		for range 2 {
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

// TestBlockedDepthwise compares all variants with the formula on plain values.
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
		for e, then := range convEpilogues {
			if d.add = nil; (i+e)%2 == 0 {
				d.add = quarters(r, d.out)
			}
			want := d.formula(t, "f64_conv", then)
			for _, k := range runnable(t, "f32_conv_depthwise_blocked") {
				for _, block := range testBlocks {
					if d.checkBlocked(t, fmt.Sprint(c.name, " ", then.Func), k, pool, block, false, then, want) {
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

// checkBlocked compares a kernel on values in blocks with what is wanted of plain ones.
// It reports whether the kernel fits.
func (d *convData) checkBlocked(t *testing.T, name string, k bindings.Kernel, pool *bindings.Pool, block int, plain bool, then op.Epilogue, want []float64) bool {
	t.Helper()
	got := d.blocked(t, k, pool, block, plain, 0, then)
	if got == nil {
		return false
	}
	if i := differ(got, want, 0, 0); i >= 0 {
		t.Fatalf("%s, %s in blocks of %d: element %d is %v, not %v", name, k.Variant(), block, i, got[i], want[i])
	}
	return true
}

// blocked computes the convolution of values in blocks; nil if the kernel does not fit.
func (d *convData) blocked(t *testing.T, k bindings.Kernel, pool *bindings.Pool, block int, plain bool, tile int, then op.Epilogue) []float64 {
	t.Helper()
	v := blockedConvWords{convWords: convWords{shape: d.shape, dtype: tensor.F32, packed: true, add: d.add != nil, then: then}, block: block,
		kernel: k.Op(), plain: plain, tile: tile}
	if then.Func == "leaky_relu" {
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
	w := stored(tensor.F32, d.w)
	packed := bindings.Alloc(k.Packed(numbersOf(t, v.weights()), 1))
	defer bindings.Free(packed)
	k.Pack(numbersOf(t, v.weights()), 1, unsafe.Pointer(unsafe.SliceData(w)), packed)
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

// denseCases are convolutions of all channels: those of convCases, and some at random.
func denseCases(r *rand.Rand) []convCase {
	list := slices.DeleteFunc(convCases(), func(c convCase) bool { return c.groups != 1 })
	list = append(list,
		convCase{name: "groups of whole blocks", images: 2, groups: 3, channels: 32, filter: 64, in: []int{14, 15}, kernel: []int{3, 3}, stride: []int{1, 2}, dilation: ones(2), before: ones(2), behind: ones(2)},
		convCase{name: "groups of single pixels", images: 2, groups: 4, channels: 64, filter: 32, in: []int{29, 30}, kernel: ones(2), stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2)},
		convCase{name: "three axes", images: 2, groups: 1, channels: 32, filter: 20, in: []int{5, 9, 11}, kernel: []int{3, 3, 3}, stride: []int{1, 1, 2}, dilation: []int{1, 1, 1}, before: []int{1, 1, 1}, behind: []int{1, 1, 1}},
		convCase{name: "three axes without padding", images: 1, groups: 1, channels: 16, filter: 33, in: []int{6, 7, 9}, kernel: []int{2, 3, 3}, stride: []int{2, 1, 1}, dilation: []int{2, 1, 1}, before: []int{0, 0, 0}, behind: []int{0, 0, 0}},
		convCase{name: "three axes, one pixel of each slice", images: 2, groups: 2, channels: 32, filter: 32, in: []int{4, 14, 14}, kernel: []int{3, 1, 1}, stride: []int{1, 1, 1}, dilation: []int{3, 1, 1}, before: []int{4, 0, 0}, behind: []int{5, 0, 0}},
		convCase{name: "three axes, slices that meet padding alone", images: 2, groups: 1, channels: 16, filter: 17, in: []int{1, 5, 6}, kernel: []int{2, 3, 1}, stride: []int{1, 1, 1}, dilation: []int{4, 1, 1}, before: []int{3, 1, 0}, behind: []int{4, 1, 0}},
		convCase{name: "three axes of few channels", images: 2, groups: 1, channels: 3, filter: 24, in: []int{7, 15, 16}, kernel: []int{3, 5, 3}, stride: []int{2, 2, 1}, dilation: []int{1, 1, 2}, before: []int{1, 2, 2}, behind: []int{1, 2, 2}},
		convCase{name: "groups along one axis", images: 1, groups: 2, channels: 32, filter: 96, in: []int{77}, kernel: []int{5}, stride: ones(1), dilation: []int{2}, before: []int{4}, behind: []int{3}},
		convCase{name: "pointwise on a large map", images: 1, groups: 1, channels: 130, filter: 40, in: []int{60, 61}, kernel: ones(2), stride: ones(2), dilation: ones(2), before: make([]int, 2), behind: make([]int, 2)},
		convCase{name: "3x3 on a large map", images: 2, groups: 1, channels: 48, filter: 20, in: []int{70, 72}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)},
		convCase{name: "many weights", images: 2, groups: 1, channels: 96, filter: 300, in: []int{6, 7}, kernel: []int{3, 3}, stride: ones(2), dilation: ones(2), before: ones(2), behind: ones(2)})
	for i := range 16 {
		c := convCase{name: fmt.Sprint("at random ", i), images: 1 + r.IntN(2), groups: 1, channels: 1 + r.IntN(70), filter: 1 + r.IntN(70), noBias: i%5 == 4}
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

// TestBlockedDense compares all variants with the formula on plain values.
func TestBlockedDense(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(25, 26))
	tried := map[string]bool{}
	for i, c := range denseCases(r) {
		d := newConvData(r, &c, c.shape())
		then := convEpilogues[i%len(convEpilogues)]
		if d.add = nil; i%2 == 0 {
			d.add = quarters(r, d.out)
		}
		want := d.formula(t, "f64_conv", then)
		for _, k := range runnable(t, "f32_conv_blocked") {
			for _, block := range testBlocks {
				for _, plain := range []bool{false, true} {
					if d.checkBlocked(t, fmt.Sprint(c.name, " ", then.Func, " plain ", plain), k, pool, block, plain, then, want) {
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

// largeDense are convolutions of which variants that compute in other ways take some.
var largeDense = []convCase{
	{channels: 48, filter: 20, in: []int{23, 30}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
	{channels: 130, filter: 64, in: []int{9, 11}, kernel: []int{1, 1}},
	{channels: 40, filter: 33, in: []int{31, 29}, kernel: []int{3, 5}, stride: []int{2, 3}, dilation: []int{1, 2}, before: []int{1, 4}, behind: []int{2, 3}},
	{channels: 64, filter: 96, in: []int{300}, kernel: []int{5}, dilation: []int{3}, before: []int{12}, behind: []int{0}},
	{channels: 512, filter: 64, in: []int{7, 7}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}, images: 2},
	{channels: 96, filter: 64, in: []int{34, 31}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
	{channels: 128, filter: 64, in: []int{1500}, kernel: []int{3}},
}

func (c convCase) whole() convCase {
	n := len(c.in)
	c.images, c.groups = max(c.images, 1), 1
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

// TestDenseErrors compares all variants with the formula on numbers of all digits: none may be
// off by more than three times what the sums of scalar code are, at most.
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
		want := d.formula(t, "f64_conv", op.Epilogue{})
		direct := largestError(d.blocked(t, partOf(t, "f32_conv_blocked", 0), pool, 16, false, 0, op.Epilogue{}), want)
		for _, k := range runnable(t, "f32_conv_blocked") {
			got := d.blocked(t, k, pool, 16, false, 0, op.Epilogue{})
			if got == nil {
				continue
			}
			if off := largestError(got, want); !(off <= 3*direct) {
				t.Errorf("case %d, %s: off by %g, the sums of scalar code by %g", i, k.Variant(), off, direct)
			}
		}
	}
}

// TestDenseSpecial puts infinities, NaNs and the largest numbers into values and weights: they must
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
		want := d.blocked(t, partOf(t, "f32_conv_blocked", 0), pool, 16, false, 0, op.Epilogue{})
		for _, k := range runnable(t, "f32_conv_blocked") {
			got := d.blocked(t, k, pool, 16, false, 0, op.Epilogue{})
			for e := range got {
				if math.IsNaN(got[e]) != math.IsNaN(want[e]) || !math.IsNaN(want[e]) && math.Abs(want[e]) < 1e30 && got[e] != want[e] {
					t.Fatalf("case %d, %s: element %d is %g, not %g", i, k.Variant(), e, got[e], want[e])
				}
			}
		}
	}
}

// TestWinograd compares all variants with the formula: they may be off by three times
// what sums of products by chains of multiply-adds are.
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
		scale := largestError(make([]float64, d.out), d.formula(t, "f64_conv", op.Epilogue{}))
		for e, then := range convEpilogues[i%2 : i%2+2] {
			want := d.formula(t, "f64_conv", then)
			direct := largestError(d.blocked(t, partOf(t, "f32_conv_blocked", 0), pool, 8, false, 0, then), want)
			for _, k := range runnable(t, "f32_conv_winograd") {
				for _, block := range testBlocks {
					for _, tile := range []int{2, 4} {
						got := d.blocked(t, k, pool, block, false, tile, then)
						if got == nil {
							continue
						}
						tried[k.Variant()] = true
						if off := largestError(got, want); !(off <= 3*direct+1e-6*scale) {
							t.Errorf("case %d, epilogue %d, %s, tiles of %d, blocks of %d: off by %g, direct by %g", i, e, k.Variant(), tile, block, off, direct)
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

// largestError is the largest difference of two lists.
func largestError(got, want []float64) float64 {
	off := 0.0
	for i, w := range want {
		off = max(off, math.Abs(got[i]-w))
	}
	return off
}

// TestBlockedPooling compares all variants with the formula on plain values.
func TestBlockedPooling(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(23, 24))
	tried := map[string]bool{}
	for i, p := range poolings {
		if len(p.Axes) > 2 {
			continue
		}
		p.Planes = []int{2 * 17, 2 * 3, 2 * 16, 2 * 31}[i%4]
		in, out := tensor.Shape{2, p.Planes / 2}, tensor.Shape{2, p.Planes / 2}
		for _, a := range p.Axes {
			in, out = append(in, a.In), append(out, a.Out)
		}
		x := quarters(r, in.Len())
		x[r.IntN(len(x))], x[r.IntN(len(x))] = math.NaN(), math.Inf(-1)
		for v := range 4 {
			maximum := v%2 == 0
			p.CountPad = v/2 == 0
			want := poolingFormula(&p, maximum, x)
			for _, k := range runnable(t, "f32_pooling_blocked") {
				for _, block := range testBlocks {
					w := blockedPoolWords(&p, maximum, in, device.Blocked(block))
					if !k.Fits(numbersOf(t, w)) {
						continue
					}
					tried[k.Variant()] = true
					l := device.Blocked(block)
					got := fromBlocks(runGuarded(t, k, w, pool, l.Bytes(tensor.F32, out), 4, toBlocks(x, in, block)), out, block)
					if at := differ(got, want, 0, 0x1p-21); at >= 0 {
						t.Fatalf("%d, %s in blocks of %d, maximum %v: element %d is %v, not %v", i, k.Variant(), block, maximum, at, got[at], want[at])
					}
				}
			}
		}
	}
	if len(tried) != len(runnable(t, "f32_pooling_blocked")) {
		t.Errorf("only %v fit", tried)
	}
}

// layoutDevice is a device of these levels that offers blocked values.
func layoutDevice(t *testing.T, isa bindings.ISA, pool *bindings.Pool) *Device {
	t.Helper()
	packs := NewPacks()
	t.Cleanup(packs.Close)
	d, err := New(isa, pool, pool.Threads(), packs)
	if err != nil {
		t.Fatal(err)
	}
	return d.WithLayouts(device.LayoutsBlocked)
}

// runStep runs a step on inputs that hold floats, nil where the step does not read them,
// and returns output 0, around which nothing may be written.
func runStep(t *testing.T, d *Device, s *device.Step, n int, in ...[]byte) []byte {
	t.Helper()
	y, intact := guardedBytes(n, 4)
	list := make([]device.Recorded, len(s.Commands))
	for i := range s.Commands {
		list[i] = device.Record(&s.Commands[i], func(o device.Operand) int {
			if o.Place == device.In {
				return 3 + o.Index
			}
			return 2
		}, 1, device.AlignUp(s.Temp))
	}
	seg, err := d.Record(list)
	if err != nil {
		t.Fatal(err)
	}
	defer seg.Free()
	scratch := bindings.Alloc(s.Scratch() + 64)
	defer bindings.Free(scratch)
	var pin device.Pinner
	defer pin.Unpin()
	for i, b := range append([][]byte{scratch, y}, in...) {
		if b != nil {
			pin.Pin(unsafe.Pointer(unsafe.SliceData(b)))
			seg.Rebase(1+i, unsafe.Pointer(unsafe.SliceData(b)))
		}
	}
	if _, err := seg.Run(nil, false); err != nil {
		t.Fatal(err)
	}
	if !intact() {
		t.Fatalf("%v wrote outside its result", s)
	}
	return y
}

func floatType(s ...int) *op.Value {
	return &op.Value{Type: graph.TensorOf(tensor.F32, graph.DimsOf(s))}
}

// eachLevels calls f for a device of every set of levels that this CPU can run.
func eachLevels(t *testing.T, f func(d *Device)) {
	pool := testPool(t)
	for _, name := range []string{"scalar", "avx2", "avx2,avx512", "neon"} {
		isa, err := bindings.ParseISA(name)
		if err != nil {
			t.Fatal(err)
		}
		if isa&^bindings.DetectISA() == 0 {
			f(layoutDevice(t, isa, pool))
		}
	}
}

// TestReorder copies values into blocks and back.
func TestReorder(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	eachLevels(t, func(d *Device) {
		for _, s := range []tensor.Shape{
			{1, 1, 1}, {2, 3, 5}, {1, 16, 4, 4}, {3, 17, 7, 9}, {2, 31, 1, 1}, {1, 40, 33, 5}, {1, 33, 2, 3, 4}, {2, 8, 100, 70}, {1, 150, 30, 30},
		} {
			v, block := floatType(s...), d.blocked.Block()
			x := quarters(r, s.Len())
			step, err := d.Bind(device.Reordering(v, device.Plain, d.blocked, "x", "y"))
			if err != nil {
				t.Fatal(err)
			}
			blocks := runStep(t, d, step, d.blocked.Bytes(tensor.F32, s), stored(tensor.F32, x))
			if i := differ(fromBlocks(blocks, s, block), x, 0, 0); i >= 0 {
				t.Fatalf("%v in blocks of %d: element %d differs", s, block, i)
			}
			if step, err = d.Bind(device.Reordering(v, d.blocked, device.Plain, "y", "x")); err != nil {
				t.Fatal(err)
			}
			back := loaded(tensor.F32, runStep(t, d, step, 4*s.Len(), toBlocks(x, s, block)))
			if i := differ(back, x, 0, 0); i >= 0 {
				t.Fatalf("%v out of blocks of %d: element %d is %v, not %v", s, block, i, back[i], x[i])
			}
		}
	})
}

// TestBlockedRows computes nodes on blocked values and compares with plain ones, whose
// steps do the same.
func TestBlockedRows(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	cases := []struct {
		op       string
		in       []tensor.Shape
		constant int // the input that is constant, from 1; 0 for none
	}{
		{"Relu", []tensor.Shape{{2, 17, 3, 5}}, 0},
		{"Sigmoid", []tensor.Shape{{1, 3, 70}}, 0},
		{"Clip", []tensor.Shape{{1, 31, 5, 5}, {}, {}}, 0},
		{"Sum", []tensor.Shape{{2, 5, 3, 3}, {2, 5, 3, 3}, {2, 5, 3, 3}}, 3},
		{"Add", []tensor.Shape{{2, 17, 3, 5}, {2, 17, 3, 5}}, 0},
		{"Sub", []tensor.Shape{{2, 17, 3, 5}, {2, 17, 3, 5}}, 2},
		{"Div", []tensor.Shape{{1}, {2, 17, 3, 5}}, 0},
		{"Mul", []tensor.Shape{{2, 48, 3, 5}, {2, 48, 1, 1}}, 0},
		{"Sub", []tensor.Shape{{48, 1, 1}, {2, 48, 3, 5}}, 0},
		{"Mul", []tensor.Shape{{2, 16, 7}, {1, 16, 1}}, 0},
		{"PRelu", []tensor.Shape{{2, 32, 7, 3}, {32, 1, 1}}, 2},
		{"Mul", []tensor.Shape{{2, 17, 3, 5}, {2, 17, 1, 1}}, 0},
		{"Div", []tensor.Shape{{1, 17, 1, 1}, {2, 17, 3, 5}}, 1},
		{"GlobalAveragePool", []tensor.Shape{{2, 17, 9, 5}}, 0},
		{"GlobalAveragePool", []tensor.Shape{{2, 16, 9, 5}}, 1},
		{"GlobalMaxPool", []tensor.Shape{{1, 48, 150}}, 0},
	}
	eachLevels(t, func(d *Device) {
		for _, c := range cases {
			n := &graph.Node{Name: "n", Op: c.op, Version: 17, Outputs: []string{"y"}}
			b := &device.Binding{Node: n}
			var x [][]float64
			for i, s := range c.in {
				n.Inputs = append(n.Inputs, fmt.Sprint("x", i))
				b.In = append(b.In, floatType(s...))
				x = append(x, quarters(r, s.Len()))
				if i+1 == c.constant {
					b.In[i].Const, _ = tensor.FromBytes(tensor.F32, s, stored(tensor.F32, x[i]))
				}
			}
			o, row, err := standard.Registry().New(n)
			if err != nil {
				t.Fatal(err)
			}
			b.Op, b.Row = o, row
			if b.Out, err = op.InferOutputs(o, n, b.In); err != nil {
				t.Fatal(err)
			}
			d.checkRow(t, b, x)
		}
	})
}

// checkRow compares the step of blocked operands with that of plain ones.
func (d *Device) checkRow(t *testing.T, b *device.Binding, x [][]float64) {
	t.Helper()
	bind := func() *device.Step {
		t.Helper()
		s, err := d.Bind(b)
		if err != nil {
			t.Fatalf("%s: %v", b.Node.Op, err)
		}
		return s
	}
	out := b.OutShape(0)
	operands := func() (list [][]byte) {
		for i := range x {
			if l := b.InLayout(i); l == device.Plain {
				list = append(list, stored(tensor.F32, x[i]))
			} else {
				list = append(list, toBlocks(x[i], b.Shape(i), l.Block()))
			}
		}
		return list
	}
	want := loaded(tensor.F32, runStep(t, d, bind(), 4*out.Len(), operands()...))
	choices := d.Layouts(b)
	if len(choices) != 2 {
		t.Fatalf("%s of %v has choices %v", b.Node.Op, b.In[0].Type, choices)
	}
	b.InLayouts, b.OutLayouts = choices[1].In, choices[1].Out
	got := runStep(t, d, bind(), b.OutLayout(0).Bytes(tensor.F32, out), operands()...)
	list := loaded(tensor.F32, got)
	if l := b.OutLayout(0); l != device.Plain {
		list = fromBlocks(got, out, l.Block())
	}
	if i := differ(list, want, 0, 1e-6); i >= 0 {
		t.Fatalf("%s of %v in %v: element %d is %v, not %v", b.Node.Op, b.In[0].Type, b.InLayouts, i, list[i], want[i])
	}
}

// TestNotBlocked has nodes that are computed on plain values alone.
// TestMostlyPadding has convolutions of which blocks would take much memory for padding.
func TestMostlyPadding(t *testing.T) {
	for _, c := range []struct {
		in, kernel, dilation, before int
		want                         bool
	}{
		{56, 3, 1, 1, false}, {7, 7, 1, 3, false}, {1, 1, 1, 0, false}, {1, 3, 20, 20, false}, {1, 2, 100000, 100000, true}, {40, 3, 60, 60, true},
	} {
		two := func(n int) []int { return []int{n, n} }
		x := convCase{images: 1, groups: 1, channels: 16, filter: 16, in: two(c.in), kernel: two(c.kernel), stride: ones(2), dilation: two(c.dilation), before: two(c.before), behind: two(c.before)}
		if got := mostlyPadding(x.shape()); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestNotBlocked(t *testing.T) {
	d := layoutDevice(t, bindings.DetectISA(), testPool(t))
	for _, c := range []struct {
		op string
		in []tensor.Shape
	}{
		{"Relu", []tensor.Shape{{4, 17}}},
		{"Relu", []tensor.Shape{{4, 0, 3, 3}}},
		{"Add", []tensor.Shape{{2, 17, 3, 5}, {17, 1, 1}}},
		{"Add", []tensor.Shape{{2, 16, 3, 5}, {3, 5}}},
		{"Add", []tensor.Shape{{2, 16, 3, 1}, {2, 16, 1, 5}}},
		{"Less", []tensor.Shape{{2, 16, 3, 5}, {2, 16, 3, 5}}},
		{"GlobalLpPool", []tensor.Shape{{2, 16, 3, 5}}},
		{"Softmax", []tensor.Shape{{2, 16, 3, 5}}},
	} {
		n := &graph.Node{Op: c.op, Version: 17, Outputs: []string{"y"}}
		b := &device.Binding{Node: n}
		for i, s := range c.in {
			n.Inputs = append(n.Inputs, fmt.Sprint("x", i))
			b.In = append(b.In, floatType(s...))
		}
		o, row, err := standard.Registry().New(n)
		if err != nil {
			t.Fatal(err)
		}
		b.Op, b.Row = o, row
		if b.Out, err = op.InferOutputs(o, n, b.In); err != nil {
			t.Fatal(err)
		}
		if list := d.Layouts(b); list != nil {
			t.Errorf("%s of %v has choices %v", c.op, c.in, list)
		}
		b.InLayouts = []device.Layout{d.blocked}
		if s, err := d.Bind(b); err == nil {
			t.Errorf("%s of %v is bound to %v", c.op, c.in, s)
		}
	}
}
