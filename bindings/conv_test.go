package bindings

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

type convCase struct {
	name                             string
	images, groups, channels, filter int
	in, kernel, stride, dilation     []int
	before, behind                   []int
	noBias                           bool
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

func convCases() []convCase {
	list := []convCase{
		{name: "pointwise", images: 2, groups: 1, channels: 33, filter: 19, in: []int{5, 9}, kernel: []int{1, 1}},
		{name: "pointwise by steps", images: 1, groups: 1, channels: 8, filter: 5, in: []int{7, 8}, kernel: []int{1, 1}, stride: []int{2, 3}},
		{name: "pointwise in groups", images: 2, groups: 3, channels: 4, filter: 5, in: []int{6, 6}, kernel: []int{1, 1}},
		{name: "3x3", images: 1, groups: 1, channels: 7, filter: 17, in: []int{13, 40}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "3x3 on a small map", images: 2, groups: 1, channels: 70, filter: 16, in: []int{7, 7}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "3x3 without padding", images: 1, groups: 1, channels: 3, filter: 4, in: []int{9, 6}, kernel: []int{3, 3}, noBias: true},
		{name: "7x7 by two", images: 1, groups: 1, channels: 3, filter: 8, in: []int{31, 29}, kernel: []int{7, 7}, stride: []int{2, 2}, before: []int{3, 3}, behind: []int{3, 3}},
		{name: "uneven", images: 1, groups: 2, channels: 3, filter: 2, in: []int{10, 11}, kernel: []int{2, 5}, stride: []int{3, 2}, dilation: []int{2, 1}, before: []int{0, 4}, behind: []int{3, 1}},
		{name: "dilated", images: 1, groups: 1, channels: 2, filter: 3, in: []int{12, 20}, kernel: []int{3, 3}, dilation: []int{2, 3}, before: []int{2, 3}, behind: []int{2, 3}},
		{name: "more padding than value", images: 1, groups: 1, channels: 2, filter: 2, in: []int{2, 3}, kernel: []int{3, 2}, before: []int{4, 5}, behind: []int{3, 6}},
		{name: "one axis", images: 2, groups: 1, channels: 5, filter: 6, in: []int{50}, kernel: []int{5}, stride: []int{2}, before: []int{2}, behind: []int{1}},
		{name: "three axes", images: 1, groups: 1, channels: 3, filter: 4, in: []int{5, 6, 7}, kernel: []int{2, 3, 3}, stride: []int{1, 2, 1}, before: []int{1, 0, 1}, behind: []int{0, 1, 1}},
		{name: "four axes", images: 1, groups: 2, channels: 2, filter: 2, in: []int{3, 4, 3, 5}, kernel: []int{2, 1, 2, 2}, stride: ones(4)},
		{name: "many channels", images: 1, groups: 1, channels: 200, filter: 30, in: []int{4, 5}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "depthwise 3x3", images: 2, groups: 5, channels: 1, filter: 1, in: []int{9, 35}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "depthwise 3x3 by two", images: 1, groups: 6, channels: 1, filter: 1, in: []int{15, 40}, kernel: []int{3, 3}, stride: []int{2, 2}, before: []int{0, 1}, behind: []int{1, 0}},
		{name: "depthwise 5x5, two filters", images: 1, groups: 3, channels: 1, filter: 2, in: []int{14, 14}, kernel: []int{5, 5}, before: []int{2, 2}, behind: []int{2, 2}},
		{name: "depthwise, dilated by three", images: 1, groups: 2, channels: 1, filter: 1, in: []int{20, 70}, kernel: []int{3, 4}, stride: []int{1, 3}, dilation: []int{3, 2}, before: []int{3, 7}, behind: []int{3, 0}},
		{name: "depthwise, a large map", images: 1, groups: 2, channels: 1, filter: 1, in: []int{150, 300}, kernel: []int{3, 3}, before: []int{1, 1}, behind: []int{1, 1}},
		{name: "depthwise, one axis", images: 2, groups: 4, channels: 1, filter: 1, in: []int{33}, kernel: []int{4}, before: []int{3}, behind: []int{0}},
		{name: "depthwise 5x5 by two", images: 1, groups: 3, channels: 1, filter: 1, in: []int{23, 37}, kernel: []int{5, 5}, stride: []int{2, 2}, before: []int{2, 1}, behind: []int{2, 2}},
		{name: "depthwise 7x7", images: 1, groups: 70, channels: 1, filter: 1, in: []int{7, 7}, kernel: []int{7, 7}, before: []int{3, 3}, behind: []int{3, 3}},
		{name: "depthwise 7x7 by two, in bands", images: 1, groups: 2, channels: 1, filter: 1, in: []int{101, 120}, kernel: []int{7, 7}, stride: []int{2, 2}, before: []int{3, 3}, behind: []int{3, 3}},
		{name: "depthwise 3x3, dilated and by two", images: 1, groups: 3, channels: 1, filter: 1, in: []int{30, 31}, kernel: []int{3, 3}, stride: []int{2, 1}, dilation: []int{2, 2}, before: []int{2, 2}, behind: []int{2, 2}},
		{name: "depthwise 3x9, dilated by half the stride", images: 1, groups: 2, channels: 1, filter: 1, in: []int{31, 66}, kernel: []int{3, 9}, stride: []int{4, 1}, dilation: []int{2, 3}, before: []int{1, 11}, behind: []int{2, 12}},
		{name: "depthwise, three axes", images: 1, groups: 3, channels: 1, filter: 1, in: []int{4, 5, 6}, kernel: []int{2, 2, 2}},
		{name: "depthwise, more padding than value", images: 1, groups: 2, channels: 1, filter: 1, in: []int{1, 2}, kernel: []int{2, 2}, stride: []int{1, 3}, before: []int{5, 9}, behind: []int{5, 9}},
		{name: "no image", images: 0, groups: 1, channels: 2, filter: 2, in: []int{4, 4}, kernel: []int{2, 2}},
		{name: "no channel", images: 1, groups: 1, channels: 0, filter: 2, in: []int{4, 4}, kernel: []int{2, 2}},
		{name: "no filter", images: 1, groups: 1, channels: 2, filter: 0, in: []int{4, 4}, kernel: []int{2, 2}},
	}
	for i := range list {
		c := &list[i]
		n := len(c.in)
		for _, l := range []*[]int{&c.stride, &c.dilation} {
			if *l == nil {
				*l = ones(n)
			}
		}
		for _, l := range []*[]int{&c.before, &c.behind} {
			if *l == nil {
				*l = make([]int, n)
			}
		}
	}
	return list
}

func (c *convCase) shape() *ConvShape {
	s := &ConvShape{
		Images: c.images, Groups: c.groups, Channels: c.channels, Filters: c.filter,
		In: c.in, Kernel: c.kernel, Stride: c.stride, Dilation: c.dilation, Pad: c.before,
	}
	for d, n := range c.in {
		s.Out = append(s.Out, (n+c.before[d]+c.behind[d]-(c.kernel[d]-1)*c.dilation[d]-1)/c.stride[d]+1)
	}
	return s
}

// transposed is the shape of the transposed convolution that spreads what has
// the case's input extents, with a last extent that no tap may reach.
func (c *convCase) transposed() *ConvShape {
	s := c.shape()
	s.Out = nil
	for d, n := range c.in {
		s.Out = append(s.Out, max(0, (n-1)*c.stride[d]+(c.kernel[d]-1)*c.dilation[d]+1-c.before[d]-c.behind[d]+c.stride[d]-1))
	}
	return s
}

func volume(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

type convData struct {
	x, w, bias, out []float32
}

func makeConv(r *rand.Rand, c *convCase, s *ConvShape) *convData {
	d := &convData{
		x:    randomFloats(r, s.Images*s.Groups*s.Channels*volume(s.In)),
		w:    randomFloats(r, s.Groups*s.Filters*s.Channels*volume(s.Kernel)),
		bias: randomFloats(r, s.Groups*s.Filters),
		out:  make([]float32, s.Images*s.Groups*s.Filters*volume(s.Out)),
	}
	if c.noBias {
		d.bias = nil
	}
	return d
}

func wide(s []float32) []float64 {
	if s == nil {
		return nil
	}
	list := make([]float64, len(s))
	for i, v := range s {
		list[i] = float64(v)
	}
	return list
}

// reference computes in double precision by the formula.
func (d *convData) reference(t *testing.T, op string, s *ConvShape) []float64 {
	x, w, bias, y := wide(d.x), wide(d.w), wide(d.bias), make([]float64, len(d.out))
	PlainConv(scalarOf(t, op), s, nil, address(x), address(w), address(bias), address(y))
	return y
}

func address[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

func (d *convData) compare(t *testing.T, got []float32, want []float64, terms int) {
	t.Helper()
	// Inputs are at most 4, so a term is at most 16.
	tol := 6e-8 * 16 * (4 + float64(terms))
	for i, v := range got {
		if !(math.Abs(float64(v)-want[i]) <= tol) {
			t.Fatalf("element %d is %g, not %g", i, v, want[i])
		}
	}
}

func alignedScratch(t *testing.T, n int) []float32 {
	b := Alloc(4 * n)
	t.Cleanup(func() { Free(b) })
	for i := range b {
		b[i] = 0xff // NaNs, should it be read before it is written
	}
	return unsafe.Slice((*float32)(address(b)), n)
}

func guardedRun(t *testing.T, n int, run func(y []float32)) []float32 {
	t.Helper()
	y, intact := guardedFloats(n)
	run(y)
	if !intact() {
		t.Error("wrote outside")
	}
	return y
}

// checkConv compares a convolution of values rounded to its type with the
// formula, packed and not, and with more threads.
func (d *convData) checkConv(t *testing.T, v *Conv, pool *Pool, name string) {
	t.Helper()
	e := &convData{x: slices.Clone(d.x), w: slices.Clone(d.w), bias: d.bias, out: d.out}
	if v.Type != Float32 {
		roundFloats(e.x, v.Type)
		roundFloats(e.w, v.Type)
	}
	want := e.reference(t, "f64_conv", &v.ConvShape)
	for i := range want {
		if v.Add != nil {
			want[i] += float64(v.Add[i])
		}
		if v.Clamp {
			want[i] = min(max(want[i], float64(v.Low)), float64(v.High))
		}
		if v.Map.Valid() && want[i] < 0 {
			want[i] *= gemmLeak
		}
	}
	terms := v.Channels * volume(v.Kernel)
	run := func(p *Pool, w unsafe.Pointer) []float32 {
		raw, intact := guarded(len(d.out)*v.Type.bytes(), 4)
		y := unsafe.Pointer(unsafe.SliceData(raw))
		v.Run(p, stored(e.x, v.Type), w, d.bias, y, alignedScratch(t, v.Scratch(p)))
		if !intact() {
			t.Errorf("%s: wrote outside", name)
		}
		got := make([]float32, len(d.out))
		halfKernel().Widen(nil, v.Type, y, got)
		return got
	}
	compare := func(got []float32) {
		t.Helper()
		// Inputs are at most 4, so a term is at most 16.
		part, tol := []float64{0x1p-22, 0x1p-11, 0x1p-8}[v.Type], 6e-8*16*(4+float64(terms))
		for i, y := range got {
			if !(math.Abs(float64(y)-want[i]) <= tol+part*math.Abs(want[i])) {
				t.Fatalf("%s, type %d: element %d is %g, not %g", name, v.Type, i, y, want[i])
			}
		}
	}
	got := run(nil, stored(e.w, v.Type))
	compare(got)
	if !slices.Equal(got, run(pool, stored(e.w, v.Type))) {
		t.Errorf("%s: three threads give another result", name)
	}
	packed := make([]byte, v.PackedWeights()*v.Type.bytes()+1)
	v.Pack(stored(e.w, v.Type), packed)
	v.Packed = true
	compare(run(pool, unsafe.Pointer(&packed[0])))
}

func TestConv(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, c := range convCases() {
		s := c.shape()
		d := makeConv(r, &c, s)
		want := d.reference(t, "f64_conv", s)
		terms := s.Channels * volume(s.Kernel)
		plain := guardedRun(t, len(d.out), func(y []float32) {
			PlainConv(scalarOf(t, "f32_conv"), s, pool, address(d.x), address(d.w), address(d.bias), address(y))
		})
		d.compare(t, plain, want, terms)
		eachVariant(t, "f32_gemm", func(t *testing.T, gemm Kernel) {
			columns, err := Select("f32_im2col", gemm.ISA())
			if err != nil {
				t.Fatal(err)
			}
			taps, err := Select("f32_taps", gemm.ISA())
			if err != nil {
				t.Fatal(err)
			}
			for _, ft := range []FloatType{Float32, Float16, BFloat16} {
				d.checkConv(t, &Conv{ConvShape: *s, Type: ft, Gemm: gemm, Columns: columns, Taps: taps}, pool, c.name)
			}
			leaky, err := Select("f32_leaky_relu", gemm.ISA())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []Finish{
				{Clamp: true, Low: gemmLow, High: gemmHigh},
				{Add: randomFloats(r, len(d.out)), Map: leaky, Params: ParamsOf(float32(gemmLeak), 0)},
				{Add: randomFloats(r, len(d.out)), Clamp: true, Low: gemmLow, High: gemmHigh, Map: leaky, Params: ParamsOf(float32(gemmLeak), 0)},
			} {
				for _, ft := range []FloatType{Float32, BFloat16} {
					d.checkConv(t, &Conv{ConvShape: *s, Type: ft, Gemm: gemm, Columns: columns, Taps: taps, Finish: f}, pool, c.name+" and more")
				}
			}
		})
	}
}

// TestDepthwise compares depthwise convolutions of any extents with the formula,
// where a few elements are infinite or not a number.
func TestDepthwise(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(17, 18))
	for range 60 {
		c := convCase{images: 1, groups: 1 + r.IntN(9), channels: 1, filter: 1 + r.IntN(2)}
		for range 2 {
			k := 1 + r.IntN(7)
			c.kernel = append(c.kernel, k)
			c.dilation = append(c.dilation, 1+r.IntN(2))
			c.stride = append(c.stride, 1+r.IntN(3))
			c.before = append(c.before, r.IntN(k+1))
			c.behind = append(c.behind, r.IntN(k+1))
			c.in = append(c.in, 2*k+r.IntN(40))
		}
		s := c.shape()
		d := makeConv(r, &c, s)
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			d.x[r.IntN(len(d.x))] = float32(v)
		}
		want := d.reference(t, "f64_conv", s)
		eachVariant(t, "f32_taps", func(t *testing.T, taps Kernel) {
			gemm, err := Select("f32_gemm", taps.ISA())
			if err != nil {
				t.Fatal(err)
			}
			v := &Conv{ConvShape: *s, Gemm: gemm, Taps: taps}
			got := guardedRun(t, len(d.out), func(y []float32) {
				v.Run(pool, address(d.x), address(d.w), d.bias, address(y), alignedScratch(t, v.Scratch(pool)))
			})
			for i, y := range got {
				w := want[i]
				if same := float64(y) == w || math.IsNaN(w) && y != y; !same && !(math.Abs(float64(y)-w) <= 6e-8*16*(4+49)) {
					t.Fatalf("%+v: element %d is %g, not %g", c, i, y, w)
				}
			}
		})
	}
}

func TestConvTranspose(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range convCases() {
		s := c.transposed()
		d := makeConv(r, &c, s)
		want := d.reference(t, "f64_conv_transpose", s)
		terms := s.Channels * volume(s.Kernel)
		plain := guardedRun(t, len(d.out), func(y []float32) {
			PlainConv(scalarOf(t, "f32_conv_transpose"), s, pool, address(d.x), address(d.w), address(d.bias), address(y))
		})
		d.compare(t, plain, want, terms)
		eachVariant(t, "f32_gemm", func(t *testing.T, gemm Kernel) {
			v := ConvTranspose{ConvShape: *s, Gemm: gemm}
			run := func(p *Pool, w []float32) []float32 {
				return guardedRun(t, len(d.out), func(y []float32) {
					v.Run(p, d.x, w, d.bias, y, alignedScratch(t, v.Scratch(p)))
				})
			}
			t.Log(c.name)
			got := run(nil, d.w)
			d.compare(t, got, want, terms)
			if !slices.Equal(got, run(pool, d.w)) {
				t.Errorf("%s: three threads give another result", c.name)
			}
			packed := alignedScratch(t, v.PackedWeights())
			v.Pack(d.w, packed)
			v.Packed = true
			d.compare(t, run(nil, packed), want, terms)
		})
	}
}

// TestColumns compares every variant with the scalar one, bit by bit, on blocks
// that begin and end anywhere.
func TestColumns(t *testing.T) {
	const nr = 32
	r := rand.New(rand.NewPCG(11, 12))
	for _, c := range convCases() {
		s := c.shape()
		depth, columns := s.Channels*volume(s.Kernel), volume(s.Out)
		x := randomFloats(r, s.Channels*volume(s.In))
		for range 5 {
			if depth == 0 || columns == 0 {
				break
			}
			k0, j0 := r.IntN(depth), r.IntN(columns)
			k, n := 1+r.IntN(depth-k0), 1+r.IntN(min(columns-j0, 100))
			size := (n + nr - 1) / nr * nr * k
			want := make([]float32, size)
			Columns(scalarOf(t, "f32_im2col"), s, x, k0, k, j0, n, nr, want)
			for _, kernel := range usable(t, "f32_im2col") {
				got := guardedRun(t, size, func(y []float32) { Columns(kernel, s, x, k0, k, j0, n, nr, y) })
				if !slices.Equal(got, want) {
					t.Errorf("%s %s: rows %d+%d, columns %d+%d differ", c.name, kernel.Variant(), k0, k, j0, n)
				}
			}
		}
	}
}

// TestColumnsFormula checks the scalar variant element by element.
func TestColumnsFormula(t *testing.T) {
	s := &ConvShape{
		Images: 1, Groups: 1, Channels: 3, Filters: 1,
		In: []int{5, 6}, Out: []int{3, 7}, Kernel: []int{3, 2}, Stride: []int{2, 1}, Dilation: []int{1, 2}, Pad: []int{1, 2},
	}
	const nr, k, n = 4, 18, 21
	x := randomFloats(rand.New(rand.NewPCG(13, 14)), 3*30)
	got := make([]float32, 24*k)
	Columns(scalarOf(t, "f32_im2col"), s, x, 0, k, 0, n, nr, got)
	for p := range k {
		for j := range n {
			ch, ty, tx := p/6, p%6/2, p%2
			y, col := j/7*2+ty-1, j%7+2*tx-2
			want := float32(0)
			if y >= 0 && y < 5 && col >= 0 && col < 6 {
				want = x[ch*30+y*6+col]
			}
			if v := got[j/nr*nr*k+p*nr+j%nr]; v != want {
				t.Fatalf("row %d, column %d is %g, not %g", p, j, v, want)
			}
		}
	}
}
