package bindings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

type gemmCase struct {
	name           string
	m, n, k        int
	aT, bT         bool
	packA, packB   bool
	aType, bType   FloatType
	cType          FloatType
	alpha          float32
	accumulate     bool
	addend         bool
	clamp, mapped  bool
	row, col       bool
	ldc            int   // n if 0
	batch          []int // extents
	aFixed, bFixed bool  // shared by all products
}

func gemmCases() []gemmCase {
	var list []gemmCase
	shapes := [][3]int{
		{1, 1, 1}, {1, 33, 7}, {1, 70, 64}, {3, 130, 9}, {4, 32, 40}, {5, 31, 16}, {14, 32, 5}, {15, 33, 100}, {28, 64, 3},
		{6, 16, 12}, {7, 17, 13}, {8, 12, 31}, {33, 1, 29}, {29, 5, 0}, {2, 3, 0}, {1, 3000, 20}, {0, 4, 4}, {4, 0, 4}, {20, 40, 1100},
	}
	if !testing.Short() {
		shapes = append(shapes, [3]int{64, 100, 700}, [3]int{17, 530, 1100})
	}
	for _, s := range shapes {
		c := gemmCase{m: s[0], n: s[1], k: s[2], alpha: 1}
		add := func(name string, change func(c *gemmCase)) {
			d := c
			change(&d)
			d.name = fmt.Sprintf("%dx%dx%d %s", s[0], s[1], s[2], name)
			list = append(list, d)
		}
		add("plain", func(*gemmCase) {})
		add("transposed a", func(c *gemmCase) { c.aT = true })
		add("transposed b", func(c *gemmCase) { c.bT = true })
		add("both transposed", func(c *gemmCase) { c.aT, c.bT = true, true })
		add("packed a", func(c *gemmCase) { c.packA = true })
		add("packed b", func(c *gemmCase) { c.packB, c.bT = true, true })
		add("alpha, old c, gaps", func(c *gemmCase) { c.alpha, c.accumulate, c.ldc = 0.5, true, c.n+3 })
		add("row", func(c *gemmCase) { c.row = true })
		add("row, col", func(c *gemmCase) { c.row, c.col, c.accumulate = true, true, true })
		add("addend, clamp", func(c *gemmCase) { c.addend, c.clamp, c.row, c.ldc = true, true, true, c.n+1 })
		add("addend, batch, function", func(c *gemmCase) { c.addend, c.mapped, c.col, c.batch = true, true, true, []int{2} })
		add("packed b, clamp, function", func(c *gemmCase) { c.packB, c.clamp, c.mapped, c.alpha = true, true, true, 2 })
		add("f16 c, addend, clamp, function", func(c *gemmCase) {
			c.cType, c.addend, c.clamp, c.mapped, c.ldc = Float16, true, true, true, c.n+2
		})
		add("f16", func(c *gemmCase) { c.aType, c.bType, c.bT = Float16, Float16, true })
		add("packed f16 a", func(c *gemmCase) { c.aType, c.packA, c.aT = Float16, true, true })
		add("packed f16 b", func(c *gemmCase) { c.aType, c.bType, c.packB, c.row = Float16, Float16, true, true })
		add("packed bf16", func(c *gemmCase) { c.aType, c.bType, c.packA, c.packB = BFloat16, BFloat16, true, true })
		add("f16 c", func(c *gemmCase) { c.cType, c.col, c.ldc = Float16, true, c.n+2 })
		add("bf16 throughout", func(c *gemmCase) {
			c.aType, c.bType, c.cType, c.packB, c.bT, c.batch = BFloat16, BFloat16, BFloat16, true, true, []int{2}
		})
		add("bf16 b", func(c *gemmCase) { c.bType = BFloat16 })
		add("batch", func(c *gemmCase) { c.batch = []int{2, 3} })
		add("batch, a shared", func(c *gemmCase) { c.batch, c.aFixed = []int{3}, true })
		add("batch, b shared", func(c *gemmCase) { c.batch, c.bFixed, c.packB = []int{2, 2}, true, true })
		add("batch, packed b", func(c *gemmCase) { c.batch, c.packB, c.col = []int{3}, true, true })
	}
	return list
}

// gemmData is the operands of a case and the result, in double precision, with
// the sums of magnitudes that bound its error.
type gemmData struct {
	c              gemmCase
	a, b           []float32
	row, col, old  []float32
	want, size     []float64
	products       int
	aStep, bStep   int
	aDims, bStride [2]int // strides
}

func strides2(rows, cols int, transposed bool) [2]int {
	if transposed {
		return [2]int{1, rows}
	}
	return [2]int{cols, 1}
}

func makeGemm(r *rand.Rand, c gemmCase) *gemmData {
	d := &gemmData{c: c, products: 1}
	for _, n := range c.batch {
		d.products *= n
	}
	if d.c.ldc == 0 {
		d.c.ldc = c.n
	}
	d.aStep, d.bStep = c.m*c.k, c.k*c.n
	if c.aFixed {
		d.aStep = 0
	}
	if c.bFixed {
		d.bStep = 0
	}
	d.a, d.b = randomFloats(r, d.products*c.m*c.k), randomFloats(r, d.products*c.k*c.n)
	if c.aType != Float32 {
		roundFloats(d.a, c.aType)
	}
	if c.bType != Float32 {
		roundFloats(d.b, c.bType)
	}
	d.aDims, d.bStride = strides2(c.m, c.k, c.aT), strides2(c.k, c.n, c.bT)
	if c.row {
		d.row = randomFloats(r, c.m)
	}
	if c.col {
		d.col = randomFloats(r, c.n)
	}
	d.old = randomFloats(r, d.products*c.m*d.c.ldc)
	if c.cType != Float32 {
		roundFloats(d.old, c.cType)
	}
	d.reference()
	return d
}

func (d *gemmData) reference() {
	c := d.c
	d.want, d.size = make([]float64, len(d.old)), make([]float64, len(d.old))
	for i, v := range d.old {
		d.want[i] = float64(v)
	}
	for q := range d.products {
		for i := range c.m {
			for j := range c.n {
				sum, size := 0.0, 0.0
				for p := range c.k {
					v := float64(d.a[q*d.aStep+i*d.aDims[0]+p*d.aDims[1]]) * float64(d.b[q*d.bStep+p*d.bStride[0]+j*d.bStride[1]])
					sum, size = sum+v, size+math.Abs(v)
				}
				at := (q*c.m+i)*c.ldc + j
				v := sum * float64(c.alpha)
				if c.accumulate || c.addend {
					v += float64(d.old[at])
				}
				if c.row {
					v += float64(d.row[i])
				}
				if c.col {
					v += float64(d.col[j])
				}
				d.size[at] = size + math.Abs(v) + 4
				if c.clamp {
					v = min(max(v, gemmLow), gemmHigh)
				}
				if c.mapped && v < 0 {
					v *= gemmLeak
				}
				d.want[at] = v
			}
		}
	}
}

// What is done to elements, and the factor of those that are negative.
const gemmLow, gemmHigh, gemmLeak = -1.5, 2, 0.25

// finish is what follows the products of a case.
func (d *gemmData) finish(k Kernel) Finish {
	f := Finish{Clamp: d.c.clamp, Low: gemmLow, High: gemmHigh}
	if d.c.addend {
		f.Add = d.old
	}
	if d.c.mapped {
		var err error
		if f.Map, err = Select("f32_leaky_relu", k.ISA()); err != nil {
			panic(err)
		}
		f.Params = ParamsOf(float32(gemmLeak), 0)
	}
	return f
}

func roundFloats(s []float32, t FloatType) {
	half := make([]uint16, len(s))
	if len(s) == 0 {
		return
	}
	k := halfKernel()
	k.Narrow(nil, t, s, unsafe.Pointer(&half[0]))
	k.Widen(nil, t, unsafe.Pointer(&half[0]), s)
}

func stored(s []float32, t FloatType) unsafe.Pointer {
	if t == Float32 || len(s) == 0 {
		return unsafe.Pointer(unsafe.SliceData(s))
	}
	half := make([]uint16, len(s))
	halfKernel().Narrow(nil, t, s, unsafe.Pointer(&half[0]))
	return unsafe.Pointer(&half[0])
}

func (d *gemmData) run(t *testing.T, k Kernel, pool *Pool) []float32 {
	c := d.c
	g := Gemm{
		Kernel: k, M: c.m, N: c.n, K: c.k, C: c.cType, LDC: c.ldc, Alpha: c.alpha, Finish: d.finish(k),
		A: Operand{Type: c.aType, Row: d.aDims[0], Col: d.aDims[1]},
		B: Operand{Type: c.bType, Row: d.bStride[0], Col: d.bStride[1]},
	}
	a, b := stored(d.a, c.aType), stored(d.b, c.bType)
	aStep, bStep := d.aStep, d.bStep
	if c.packA {
		size := k.PackedA(c.m, c.k)
		each := c.aType.bytes()
		packed := make([]byte, (d.products*size+1)*each)
		for q := range d.products {
			k.PackA(c.m, c.k, g.A, unsafe.Add(a, each*q*aStep), packed[q*size*each:][:size*each])
		}
		a, aStep, g.A = unsafe.Pointer(&packed[0]), size, Operand{Packed: true, Type: c.aType}
	}
	if c.packB {
		size := k.PackedB(c.n, c.k)
		each := c.bType.bytes()
		packed := make([]byte, (d.products*size+1)*each)
		for q := range d.products {
			k.PackB(c.n, c.k, g.B, unsafe.Add(b, each*q*bStep), packed[q*size*each:][:size*each])
		}
		b, g.B = unsafe.Pointer(&packed[0]), Operand{Packed: true, Type: c.bType}
		if bStep != 0 {
			bStep = size
		}
	}
	g.Batch = batchAxes(c.batch, aStep, bStep)
	raw, intact := guarded(len(d.old)*c.cType.bytes(), 4)
	out := unsafe.Pointer(unsafe.SliceData(raw))
	halfKernel().Narrow(nil, c.cType, d.old, out)
	scratch := Alloc(4 * g.Scratch(pool))
	defer Free(scratch)
	if c.accumulate {
		g.Add = unsafe.Slice((*float32)(out), len(d.old))
	}
	g.Run(pool, a, b, d.row, d.col, out, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(scratch))), len(scratch)/4))
	if !intact() {
		t.Error("wrote outside")
	}
	got := make([]float32, len(d.old))
	halfKernel().Widen(nil, c.cType, out, got)
	return got
}

// bytes is the size of an element.
func (t FloatType) bytes() int {
	if t == Float32 {
		return 4
	}
	return 2
}

// batchAxes is Gemm.Batch of operands that are shared (step 0) or follow each other.
func batchAxes(dims []int, aStep, bStep int) []int {
	n := len(dims)
	list := make([]int, 3*n)
	for i := n - 1; i >= 0; i-- {
		list[i], list[n+i], list[2*n+i] = dims[i], aStep, bStep
		aStep, bStep = aStep*dims[i], bStep*dims[i]
	}
	return list
}

func TestGemm(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range gemmCases() {
		d := makeGemm(r, c)
		for _, k := range usable(t, "f32_gemm") {
			t.Run(c.name+" "+k.Variant(), func(t *testing.T) {
				got := d.run(t, k, nil)
				tol := 6e-8*(2+math.Sqrt(float64(c.k))) + []float64{0, 0x1p-11, 0x1p-8}[c.cType]
				for i, v := range got {
					if diff := math.Abs(float64(v) - d.want[i]); !(diff <= tol*d.size[i]) {
						t.Fatalf("element %d is %g, not %g", i, v, d.want[i])
					}
				}
				if !slices.Equal(got, d.run(t, k, pool)) {
					t.Error("three threads give another result")
				}
			})
		}
	}
}

// TestGemmSpecial puts infinities and NaNs into one row of a and one column of
// b: they must reach exactly the elements that use them.
func TestGemmSpecial(t *testing.T) {
	const m, n, k = 17, 37, 21
	r := rand.New(rand.NewPCG(3, 4))
	a, b := randomFloats(r, m*k), randomFloats(r, k*n)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	a[3*k+5], b[7*n+30] = inf, nan
	for _, kernel := range usable(t, "f32_gemm") {
		g := Gemm{Kernel: kernel, M: m, N: n, K: k, LDC: n, Alpha: 1, A: Operand{Row: k, Col: 1}, B: Operand{Row: n, Col: 1}}
		c := make([]float32, m*n)
		g.Run(nil, unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), nil, nil, unsafe.Pointer(&c[0]), make([]float32, g.Scratch(nil)))
		for i := range m {
			for j := range n {
				v := float64(c[i*n+j])
				if math.IsNaN(v) != (j == 30) || math.IsInf(v, 0) != (i == 3 && j != 30) {
					t.Fatalf("%s: element %d,%d is %g", kernel.Variant(), i, j, v)
				}
			}
		}
	}
}

func TestWideGemm(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(5, 6))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {65, 129, 3}, {2, 3, 0}, {70, 140, 261}} {
		wideCase(t, r, pool, "f64_gemm", s, func() float64 { return float64(r.IntN(100) - 50) })
		wideCase(t, r, pool, "u32_gemm", s, r.Uint32)
		wideCase(t, r, pool, "u64_gemm", s, r.Uint64)
	}
}

// wideCase multiplies matrices of which every sum is exact, with every kernel of
// an op, in a batch of two that shares b, transposed.
func wideCase[T float64 | uint32 | uint64](t *testing.T, r *rand.Rand, pool *Pool, op string, s [3]int, random func() T) {
	m, n, k := s[0], s[1], s[2]
	a, b, want := make([]T, 2*m*k+1), make([]T, k*n+1), make([]T, 2*m*n)
	for i := range a {
		a[i] = random()
	}
	for i := range b {
		b[i] = random()
	}
	for q := range 2 {
		for i := range m {
			for j := range n {
				for p := range k {
					want[(q*m+i)*n+j] += a[(q*m+i)*k+p] * b[j*k+p]
				}
			}
		}
	}
	for _, kernel := range usable(t, op) {
		for _, p := range []*Pool{nil, pool} {
			g := WideGemm{Kernel: kernel, M: m, N: n, K: k, ARow: k, ACol: 1, BRow: 1, BCol: k, LDC: n, Batch: []int{2, m * k, 0}}
			got, scratch := make([]T, 2*m*n), make([]T, g.Scratch(p))
			g.Run(p, unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&got[0]), unsafe.Pointer(&scratch[0]))
			if !slices.Equal(got, want) {
				t.Errorf("%s %s %v: wrong", op, kernel.Variant(), s)
			}
		}
	}
}

func TestProbe(t *testing.T) {
	for _, k := range usable(t, "f32_fma_rate") {
		if rate, err := ProbeFMA(k.ISA()); err != nil || rate < 1e6 {
			t.Errorf("%s: %g, %v", k.Variant(), rate, err)
		}
	}
	if rate := ProbeRead(make([]byte, 1<<20)); rate < 1e6 {
		t.Errorf("reading: %g", rate)
	}
}
