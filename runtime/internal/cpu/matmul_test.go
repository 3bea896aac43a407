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
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// gemmCase is a product of random matrices and its epilogue.
type gemmCase struct {
	name          string
	m, n, k       int
	aT, bT        bool
	pack          bool // packs b
	dtype         tensor.DType
	bType         tensor.DType // Invalid for dtype
	alpha         float64
	row, col, all bool
	epilogue      kit.Epilogue
	batch         []int // extents
	aFixed        bool  // shared by all products
	bFixed        bool
}

func gemmCases() []gemmCase {
	shapes := [][3]int{
		{1, 1, 1}, {1, 33, 7}, {1, 70, 64}, {3, 130, 9}, {4, 32, 40}, {5, 31, 16}, {14, 32, 5}, {15, 33, 100}, {28, 64, 3},
		{6, 16, 12}, {7, 17, 13}, {8, 12, 31}, {33, 1, 29}, {29, 5, 0}, {2, 3, 0}, {1, 3000, 20}, {0, 4, 4}, {4, 0, 4}, {20, 40, 1100}, {5, 300, 900},
	}
	if !testing.Short() {
		shapes = append(shapes, [3]int{64, 100, 700}, [3]int{17, 530, 1100})
	}
	clamp, leak := kit.Epilogue{Func: "clip", P: -1.5, Q: 2}, kit.Epilogue{Func: "leaky_relu", P: 0.25}
	var list []gemmCase
	for _, s := range shapes {
		add := func(name string, change func(c *gemmCase)) {
			c := gemmCase{name: fmt.Sprintf("%dx%dx%d %s", s[0], s[1], s[2], name), m: s[0], n: s[1], k: s[2], alpha: 1,
				dtype: tensor.F32}
			change(&c)
			list = append(list, c)
		}
		add("plain", func(*gemmCase) {})
		add("transposed a", func(c *gemmCase) { c.aT = true })
		add("transposed b", func(c *gemmCase) { c.bT = true })
		for _, half := range []tensor.DType{tensor.F16, tensor.BF16} {
			add(fmt.Sprint(half, " b"), func(c *gemmCase) { c.bType = half })
			add(fmt.Sprint(half, " b, transposed"), func(c *gemmCase) { c.bType, c.bT = half, true })
			add(fmt.Sprint(half, " b, packed"), func(c *gemmCase) { c.bType, c.bT, c.pack = half, true, true })
		}
		add("both transposed", func(c *gemmCase) { c.aT, c.bT = true, true })
		add("packed", func(c *gemmCase) { c.pack, c.bT = true, true })
		add("alpha, added", func(c *gemmCase) { c.alpha, c.all = 0.5, true })
		add("row", func(c *gemmCase) { c.row = true })
		add("row, col", func(c *gemmCase) { c.row, c.col, c.all = true, true, true })
		add("added, clamp", func(c *gemmCase) { c.all, c.epilogue, c.row = true, clamp, true })
		add("added, batch, function", func(c *gemmCase) { c.all, c.epilogue, c.col, c.batch = true, leak, true, []int{2} })
		add("packed, function", func(c *gemmCase) { c.pack, c.epilogue, c.alpha = true, leak, 2 })
		add("f16", func(c *gemmCase) { c.dtype, c.bT = tensor.F16, true })
		add("f16, added, clamp", func(c *gemmCase) { c.dtype, c.all, c.epilogue = tensor.F16, true, clamp })
		add("packed f16", func(c *gemmCase) { c.dtype, c.pack, c.row, c.aT = tensor.F16, true, true, true })
		add("bf16", func(c *gemmCase) { c.dtype, c.col = tensor.BF16, true })
		add("packed bf16, batch", func(c *gemmCase) { c.dtype, c.pack, c.bT, c.batch = tensor.BF16, true, true, []int{2} })
		add("bf16, transposed b, function", func(c *gemmCase) { c.dtype, c.bT, c.epilogue = tensor.BF16, true, leak })
		add("packed bf16, added, clamp", func(c *gemmCase) {
			c.dtype, c.pack, c.all, c.row, c.epilogue, c.alpha = tensor.BF16, true, true, true, clamp, 0.5
		})
		add("f64", func(c *gemmCase) { c.dtype = tensor.F64 })
		add("f64, both transposed, row, col",
			func(c *gemmCase) { c.dtype, c.aT, c.bT, c.row, c.col = tensor.F64, true, true, true, true })
		add("f64, transposed b, added, clamp",
			func(c *gemmCase) { c.dtype, c.bT, c.all, c.alpha, c.epilogue = tensor.F64, true, true, 0.5, clamp })
		add("f64, packed, function", func(c *gemmCase) { c.dtype, c.pack, c.epilogue, c.bT = tensor.F64, true, leak, true })
		add("f64, batch, a shared, function",
			func(c *gemmCase) { c.dtype, c.batch, c.aFixed, c.epilogue = tensor.F64, []int{3}, true, leak })
		add("f64, batch, packed", func(c *gemmCase) { c.dtype, c.batch, c.pack, c.col = tensor.F64, []int{2, 2}, true, true })
		add("batch", func(c *gemmCase) { c.batch = []int{2, 3} })
		add("batch, a shared", func(c *gemmCase) { c.batch, c.aFixed = []int{3}, true })
		add("batch, b shared", func(c *gemmCase) { c.batch, c.bFixed, c.pack = []int{2, 2}, true, true })
		add("batch, packed", func(c *gemmCase) { c.batch, c.pack, c.col = []int{3}, true, true })
	}
	if !testing.Short() {
		// Enough rows, and a right operand large enough, to pack it in blocks.
		large := gemmCase{name: "large", m: 257, n: 70, k: 3800, alpha: 1, dtype: tensor.F32}
		list = append(list, large)
		large.name, large.aT, large.bType = "large, transposed a, f16 b", true, tensor.F16
		list = append(list, large)
	}
	return list
}

// gemmData holds the operands of a case and its result. size holds the sums of magnitudes that
// bound the errors.
type gemmData struct {
	gemmCase
	products          int
	aStep, bStep      int
	aStrides, bStride [2]int
	a, b              []float64
	rows, cols, added []float64
	want, size        []float64
}

func strides2(rows, cols int, transposed bool) [2]int {
	if transposed {
		return [2]int{1, rows}
	}
	return [2]int{cols, 1}
}

func (c gemmCase) data(r *rand.Rand) *gemmData {
	d := &gemmData{gemmCase: c, products: volume(c.batch), aStep: c.m * c.k, bStep: c.k * c.n}
	if c.aFixed {
		d.aStep = 0
	}
	if c.bFixed {
		d.bStep = 0
	}
	numbers := func(dt tensor.DType, n int, want bool) []float64 {
		if !want {
			return nil
		}
		return rounded(dt, normals(r, n, 0, 2))
	}
	d.a, d.b = numbers(c.dtype, d.products*c.m*c.k, true),
		numbers((&gemm{dtype: c.dtype, bType: c.bType}).right(), d.products*c.k*c.n, true)
	d.aStrides, d.bStride = strides2(c.m, c.k, c.aT), strides2(c.k, c.n, c.bT)
	d.rows, d.cols, d.added = numbers(wide(c.dtype), c.m, c.row), numbers(wide(c.dtype), c.n, c.col),
		numbers(wide(c.dtype), d.products*c.m*c.n, c.all)
	d.formula()
	return d
}

func (d *gemmData) formula() {
	n := d.products * d.m * d.n
	d.want, d.size = make([]float64, n), make([]float64, n)
	for at := range d.want {
		q, i, j := at/d.n/d.m, at/d.n%d.m, at%d.n
		sum, size := 0.0, 0.0
		for p := range d.k {
			v := d.a[q*d.aStep+i*d.aStrides[0]+p*d.aStrides[1]] * d.b[q*d.bStep+p*d.bStride[0]+j*d.bStride[1]]
			sum, size = sum+v, size+math.Abs(v)
		}
		v := sum * d.alpha
		if d.all {
			v += d.added[at]
		}
		if d.row {
			v += d.rows[i]
		}
		if d.col {
			v += d.cols[j]
		}
		d.size[at] = size + math.Abs(v) + 4
		switch {
		case d.epilogue.Func == "clip":
			v = min(max(v, d.epilogue.P), d.epilogue.Q)
		case d.epilogue.Func == "leaky_relu" && v < 0:
			v *= d.epilogue.P
		}
		d.want[at] = v
	}
}

// gemm returns the words of a command, before packing.
func (d *gemmData) gemm(t *testing.T, k bindings.Kernel) *gemm {
	p := &lower.Product{
		M: graph.Known(d.m), N: graph.Known(d.n), K: graph.Known(d.k),
		ARow: graph.Known(d.aStrides[0]), ACol: graph.Known(d.aStrides[1]), BRow: graph.Known(d.bStride[0]), BCol: graph.Known(d.bStride[1]),
	}
	p.Batch = make([]lower.BatchAxis, len(d.batch))
	a, b := d.aStep, d.bStep
	for i := len(d.batch) - 1; i >= 0; i-- {
		p.Batch[i] = lower.BatchAxis{N: graph.Known(d.batch[i]), A: graph.Known(a), B: graph.Known(b)}
		a, b = a*d.batch[i], b*d.batch[i]
	}
	g := &gemm{Product: p, dtype: d.dtype, bType: d.bType, alpha: d.alpha, epilogue: d.epilogue}
	if _, _, clamps := clampOf(d.epilogue); !clamps && d.epilogue.Func != "" {
		g.apply = partOf(t, wide(d.dtype).Short()+"_"+d.epilogue.Func, k.ISA())
	}
	return g
}

// check compares the result of a kernel to the formula.
func (d *gemmData) check(t *testing.T, k bindings.Kernel, pool *bindings.Pool) {
	t.Helper()
	g := d.gemm(t, k)
	b := stored(g.right(), d.b)
	if d.pack {
		list := numbersOf(t, g.forPacking())
		n := k.Packed(list, 1)
		if n == 0 {
			return
		}
		dst := bindings.Alloc(n)
		defer bindings.Free(dst)
		k.Pack(list, 1, b, dst)
		b, g.bPacked = dst, true
		g.packBatch(k)
	}
	w := g.words()
	if !k.Fits(numbersOf(t, w)) {
		return
	}
	if d.m*d.n*d.products == 0 {
		return
	}
	y := runGuarded(t, k, w, pool, d.dtype.Bytes(len(d.want)), d.dtype.Bytes(1), stored(d.dtype, d.a), b,
		stored(wide(d.dtype), d.rows), stored(wide(d.dtype), d.cols), stored(wide(d.dtype), d.added))
	unit := map[tensor.DType]float64{tensor.F64: 0x1p-53}[d.dtype]
	if unit == 0 {
		unit = 6e-8
	}
	tolerance := unit*(2+math.Sqrt(float64(d.k))) + map[tensor.DType]float64{tensor.F16: 0x1p-11,
		tensor.BF16: 0x1p-8}[d.dtype]
	for i, v := range loaded(d.dtype, y) {
		if !(math.Abs(v-d.want[i]) <= tolerance*d.size[i]) {
			t.Fatalf("%s, %s/%s: element %d is %g, not %g", d.name, k.Op(), k.Variant(), i, v, d.want[i])
		}
	}
}

// TestGemm compares all variants of products of floats to the formula.
func TestGemm(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(1, 2))
	fitted := 0
	for _, c := range gemmCases() {
		d := c.data(r)
		names := []string{"f32_gemm", "f32_gemv"}
		if c.dtype == tensor.F64 {
			names = []string{"f64_gemm", "f64_gemv"}
		}
		for _, name := range names {
			for _, k := range runnable(t, name) {
				d.check(t, k, pool)
				if name == names[1] && k.Fits(numbersOf(t, d.gemm(t, k).words())) {
					fitted++
				}
			}
		}
	}
	if fitted == 0 {
		t.Error("no product is of few rows")
	}
}

// TestGemmWhole multiplies whole numbers of bfloat16. Their sums are exact in any order, and
// bfloat16 numbers.
func TestGemmWhole(t *testing.T) {
	t.Parallel()
	pool, r, none := testPool(t), rand.New(rand.NewPCG(19, 20)), []byte(nil)
	for _, s := range [][3]int{{1, 32, 2}, {1, 150, 77}, {2, 31, 1}, {12, 64, 64}, {13, 33, 129}, {40, 70, 1025},
		{300, 40, 33}} {
		for _, c := range []gemmCase{{}, {bT: true}, {pack: true}, {aT: true, pack: true}} {
			c.m, c.n, c.k, c.alpha, c.dtype = s[0], s[1], s[2], 1, tensor.BF16
			d := c.data(r)
			for _, list := range [][]float64{d.a, d.b} {
				for i := range list {
					list[i] = float64(r.IntN(3) - 1)
				}
			}
			d.formula()
			for _, kernel := range runnable(t, "f32_gemm") {
				g := d.gemm(t, kernel)
				b := stored(tensor.BF16, d.b)
				if list := numbersOf(t, g.forPacking()); c.pack && kernel.Packed(list, 1) > 0 {
					dst := bindings.Alloc(kernel.Packed(list, 1))
					defer bindings.Free(dst)
					kernel.Pack(list, 1, b, dst)
					b, g.bPacked = dst, true
				}
				w := g.words()
				if !kernel.Fits(numbersOf(t, w)) {
					continue
				}
				y := loaded(tensor.BF16, runGuarded(t, kernel, w, pool, 2*len(d.want), 2, stored(tensor.BF16, d.a), b, none, none,
					none))
				if i := differ(y, d.want, 0, 0); i >= 0 {
					t.Fatalf("%s, %dx%dx%d, %+v: element %d is %g, not %g", kernel.Variant(), c.m, c.n, c.k, c, i, y[i], d.want[i])
				}
			}
		}
	}
}

// TestGemmSpecial puts infinities and NaNs into one row of a and one column of b. They must reach
// exactly the elements that use them.
func TestGemmSpecial(t *testing.T) {
	for _, size := range [][3]int{{17, 37, 21}, {129, 100, 300}} {
		for _, kernel := range runnable(t, "f32_gemm") {
			gemmSpecial(t, kernel, tensor.F32, size[0], size[1], size[2])
			gemmSpecial(t, kernel, tensor.BF16, size[0], size[1], size[2])
		}
		for _, kernel := range runnable(t, "f64_gemm") {
			gemmSpecial(t, kernel, tensor.F64, size[0], size[1], size[2])
		}
	}
}

// testPools returns pools of 1 to n threads.
func testPools(t *testing.T, n int) []*bindings.Pool {
	t.Helper()
	testenv.Need(t, bindings.Available())
	list := make([]*bindings.Pool, n)
	for i := range list {
		p, err := bindings.NewPool(i + 1)
		if err != nil {
			t.Fatal(err)
		}
		if p != nil {
			t.Cleanup(p.Close)
		}
		list[i] = p
	}
	return list
}

// TestGemmThreads checks that products give the same bits on any number of threads, also next to an
// infinity, for which some variants use another algorithm.
func TestGemmThreads(t *testing.T) {
	t.Parallel()
	pools, r, none := testPools(t, 4), rand.New(rand.NewPCG(33, 34)), []byte(nil)
	for _, size := range [][3]int{{200, 150, 300}, {300, 90, 1100}, {70, 500, 130}, {40, 70, 64}} {
		for _, dtype := range []tensor.DType{tensor.F32, tensor.BF16, tensor.F64} {
			d := gemmCase{m: size[0], n: size[1], k: size[2], alpha: 1, dtype: dtype}.data(r)
			d.a[37*d.k+50] = math.Inf(1)
			op := map[bool]string{true: "f64_gemm", false: "f32_gemm"}[dtype == tensor.F64]
			for _, kernel := range runnable(t, op) {
				w := d.gemm(t, kernel).words()
				if !kernel.Fits(numbersOf(t, w)) || testing.Short() && kernel.ISA() == 0 {
					continue
				}
				var want []byte
				for i, pool := range pools {
					y := runGuarded(t, kernel, w, pool, dtype.Bytes(len(d.want)), dtype.Bytes(1), stored(dtype, d.a),
						stored(dtype, d.b), none, none, none)
					if i == 0 {
						want = slices.Clone(y)
					} else if !bytes.Equal(y, want) {
						t.Errorf("%s of %v, %v: %d threads give other bits than one", kernel.Variant(), dtype, size, i+1)
					}
				}
			}
		}
	}
}

func gemmSpecial(t *testing.T, kernel bindings.Kernel, dtype tensor.DType, m, n, k int) {
	t.Helper()
	pool, r := testPool(t), rand.New(rand.NewPCG(3, 4))
	d, none := gemmCase{m: m, n: n, k: k, alpha: 1, dtype: dtype}.data(r), []byte(nil)
	d.a[3*k+5], d.b[7*n+30] = math.Inf(1), math.NaN()
	w := d.gemm(t, kernel).words()
	if !kernel.Fits(numbersOf(t, w)) {
		return // CBLAS has no elements of 16 bits
	}
	y := loaded(dtype, runGuarded(t, kernel, w, pool, dtype.Bytes(m*n), dtype.Bytes(1), stored(dtype, d.a),
		stored(dtype, d.b), none, none, none))
	for i := range m {
		for j := range n {
			if v := y[i*n+j]; math.IsNaN(v) != (j == 30) || math.IsInf(v, 0) != (i == 3 && j != 30) {
				t.Fatalf("%s of %v: element %d,%d is %g", kernel.Variant(), dtype, i, j, v)
			}
		}
	}
}

func TestWideGemm(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {65, 129, 3}, {2, 3, 0}, {70, 140, 261}} {
		wideCase(t, r, pool, "u32_gemm", s, r.Uint32)
		wideCase(t, r, pool, "u64_gemm", s, r.Uint64)
	}
}

// wideCase multiplies integer matrices with every kernel of an op, in a batch of two that shares b,
// transposed. Every sum is exact.
func wideCase[T uint32 | uint64](
	t *testing.T, r *rand.Rand, pool *bindings.Pool, name string, s [3]int, random func() T,
) {
	m, n, k := s[0], s[1], s[2]
	a, b, want := make([]T, 2*m*k), make([]T, k*n), make([]T, 2*m*n)
	for i := range a {
		a[i] = random()
	}
	for i := range b {
		b[i] = random()
	}
	for at := range want {
		for p := range k {
			want[at] += a[at/n*k+p] * b[at%n*k+p]
		}
	}
	var w words
	w.int(m, n, k, k, 1, 1, k, n)
	w.batch([]lower.BatchAxis{{N: graph.Known(2), A: graph.Known(m * k)}})
	size := int(unsafe.Sizeof(want[0]))
	for _, kernel := range runnable(t, name) {
		y := viewAs[T](runGuarded(t, kernel, w, pool, size*len(want), size, memoryOf(a), memoryOf(b)))
		for i, v := range y {
			if v != want[i] {
				t.Fatalf("%s/%s %v: element %d is %v, not %v", name, kernel.Variant(), s, i, v, want[i])
			}
		}
	}
}

// TestGemmErrors compares the variants on floats of all magnitudes. No error may exceed twice the
// largest error of scalar code.
func TestGemmErrors(t *testing.T) {
	t.Parallel()
	pool, none := testPool(t), []byte(nil)
	r := rand.New(rand.NewPCG(9, 10))
	for _, c := range []gemmCase{
		{m: 128, n: 96, k: 64}, {m: 65, n: 130, k: 33}, {m: 300, n: 70, k: 1100}, {m: 64, n: 200, k: 256, bT: true}, {m: 97, n: 65, k: 200, pack: true},
	} {
		c.alpha, c.dtype = 1, tensor.F32
		d := c.data(r)
		for _, list := range [][]float64{d.a, d.b} {
			for i := range list {
				list[i] = float64(float32(r.NormFloat64() * math.Exp2(float64(r.IntN(20)-10))))
			}
		}
		errors := func(kernel bindings.Kernel) float64 {
			y := loaded(c.dtype, runGuarded(t, kernel, d.gemm(t, kernel).words(), pool, c.dtype.Bytes(c.m*c.n), 4,
				stored(c.dtype, d.a), stored(c.dtype, d.b), none, none, none))
			most := 0.0
			for i := range c.m {
				for j := range c.n {
					sum, size := 0.0, 0.0
					for p := range c.k {
						b := d.b[p*c.n+j]
						if c.bT {
							b = d.b[j*c.k+p]
						}
						sum += d.a[i*c.k+p] * b
						size += math.Abs(d.a[i*c.k+p] * b)
					}
					most = max(most, math.Abs(y[i*c.n+j]-sum)/size)
				}
			}
			return most
		}
		scalar := errors(partOf(t, "f32_gemm", 0))
		for _, kernel := range runnable(t, "f32_gemm") {
			if !kernel.Fits(numbersOf(t, d.gemm(t, kernel).words())) {
				continue
			}
			if off := errors(kernel); !(off <= 2*scalar) {
				t.Errorf("%d x %d x %d, %s: off by %g of the sum of magnitudes, scalar code by %g", c.m, c.n, c.k,
					kernel.Variant(), off, scalar)
			}
		}
	}
}

// TestGemmScratch checks that a product of smaller extents needs no more scratch. Plans reserve
// scratch for the largest extents.
func TestGemmScratch(t *testing.T) {
	extents := []int{2, 5, 12, 13, 25, 100, 257, 600, 2000, 7000}
	for _, kernel := range append(runnable(t, "f32_gemm"), runnable(t, "f64_gemm")...) {
		for _, c := range []gemmCase{{dtype: tensor.F32}, {dtype: tensor.F32, aT: true}, {dtype: tensor.F32, bT: true},
			{dtype: tensor.F16}, {dtype: tensor.F32, bType: tensor.BF16}, {dtype: tensor.F16, pack: true}} {
			scratch := func(m, n, k int) int {
				d := &gemmData{gemmCase: c, products: 1, aStrides: strides2(m, k, c.aT), bStride: strides2(k, n, c.bT)}
				d.m, d.n, d.k = m, n, k
				g := d.gemm(t, kernel)
				g.bPacked = c.pack
				return kernel.Scratch(numbersOf(t, g.words()), 2)
			}
			for _, m := range extents {
				for _, n := range extents {
					for _, k := range extents {
						most := scratch(m, n, k)
						if a, b, d := scratch(max(m/2, 2), n, k), scratch(m, max(n/2, 2), k), scratch(m, n, k/2+1); max(a, b, d) > most {
							t.Fatalf("%s/%s %v, %d x %d x %d: %d, with half the rows %d, columns %d, steps %d",
								kernel.Op(), kernel.Variant(), c, m, n, k, most, a, b, d)
						}
					}
				}
			}
		}
	}
}
