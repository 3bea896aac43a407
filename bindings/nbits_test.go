//go:build cgo

package bindings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// weights is a matrix of codes with what they stand for.
type weights struct {
	g             NBitsGemm
	codes         []byte
	scales, zeros unsafe.Pointer
	table         []float32
	values        []float64 // [N,K]
}

// makeWeights makes random ones for the extents, widths and kinds in g.
func makeWeights(r *rand.Rand, g NBitsGemm, table bool) *weights {
	w := &weights{g: g}
	blocks := (g.K + g.Block - 1) / g.Block
	w.g.RowScales = blocks
	if w.g.RowBytes == 0 {
		w.g.RowBytes = blocks * g.Block * g.Bits / 8
	}
	size := g.N * w.g.RowBytes
	if g.Flat {
		size, w.g.RowScales = (g.N*g.K*g.Bits+7)/8, (g.N*g.K+g.Block-1)/g.Block
		blocks = w.g.RowScales
	}
	w.codes = randomBytes(r, size)
	rows := g.N
	if g.Flat {
		rows = 1
	}
	scales, zeros := randomFloats(r, rows*blocks), randomFloats(r, rows*blocks)
	for i := range zeros {
		scales[i] /= 8
		zeros[i] += float32(int(1) << (g.Bits - 1))
	}
	if g.Type != Float32 {
		roundFloats(scales, g.Type)
		roundFloats(zeros, g.Type)
	}
	w.scales = stored(scales, g.Type)
	switch g.Zeros {
	case NBitsMiddle:
		for i := range zeros {
			zeros[i] = float32(int(1) << (g.Bits - 1))
		}
	case NBitsFloats:
		w.zeros = stored(zeros, g.Type)
	case NBitsCodes:
		row := (blocks*g.Bits + 7) / 8
		b := randomBytes(r, g.N*row+1)
		w.zeros = unsafe.Pointer(&b[0])
		for i := range zeros {
			zeros[i] = float32(lowCodeAt(b[i/blocks*row:], i%blocks, g.Bits, false))
		}
	}
	if table {
		w.table = randomFloats(r, 16)
	}
	w.values = make([]float64, g.N*g.K)
	for i := range w.values {
		j, p := i/g.K, i%g.K
		row, at := j, p
		if g.Flat {
			row, at = 0, i
		}
		block := row*blocks + at/g.Block
		if g.Group != nil {
			block = row*blocks + int(g.Group[p])
		}
		code := lowCodeAt(w.codes[row*w.g.RowBytes:], at, g.Bits, g.HighFirst)
		v := float64(code) - float64(zeros[block])
		if table {
			v = float64(w.table[code])
		}
		w.values[i] = v * float64(scales[block])
	}
	return w
}

func lowCodeAt(b []byte, i, bits int, highFirst bool) int {
	if highFirst {
		i ^= 1
	}
	return int(b[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1)
}

// run multiplies a, and reports writes beside the result.
func (w *weights) run(t *testing.T, k Kernel, pool *Pool, m int, a, bias []float32) []float32 {
	g := w.g
	g.Kernel, g.M = k, m
	gemm, err := Select("f32_gemm", k.ISA())
	if err != nil {
		t.Fatal(err)
	}
	g.Gemm = gemm
	columns := g.N
	if g.Turned {
		columns = g.K
	}
	return guardedRun(t, m*columns, func(c []float32) {
		g.Run(pool, unsafe.Pointer(unsafe.SliceData(w.codes)), w.scales, w.zeros, w.table, a, bias, c, alignedScratch(t, g.Scratch(pool)))
	})
}

// check compares every variant with the sums of products of what codes stand for.
func (w *weights) check(t *testing.T, r *rand.Rand, pool *Pool, m int) {
	t.Helper()
	deep, columns := w.g.K, w.g.N
	if w.g.Turned {
		deep, columns = columns, deep
	}
	a, bias := randomFloats(r, m*deep), randomFloats(r, columns)
	want, size := make([]float64, m*columns), make([]float64, m*columns)
	for i := range want {
		j := i % columns
		want[i] = float64(bias[j])
		for p := range deep {
			at := j*w.g.K + p
			if w.g.Turned {
				at = p*w.g.K + j
			}
			x := float64(a[i/columns*deep+p]) * w.values[at]
			want[i], size[i] = want[i]+x, size[i]+math.Abs(x)
		}
	}
	for _, k := range usable(t, "f32_nbits") {
		got := w.run(t, k, nil, m, a, bias)
		for i, v := range got {
			if !(math.Abs(float64(v)-want[i]) <= 1e-6*(size[i]+math.Abs(want[i]))) {
				t.Fatalf("%s, %d rows of %+v: element %d is %v, not %v", k.Variant(), m, w.g, i, v, want[i])
			}
		}
		if again := w.run(t, k, pool, m, a, bias); !slices.Equal(again, got) {
			t.Fatalf("%s, %d rows of %+v: depends on the number of threads", k.Variant(), m, w.g)
		}
	}
}

func TestNBits(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(31, 32))
	shapes := [][2]int{{1, 1}, {3, 16}, {5, 129}, {33, 31}, {17, 700}, {70, 256}, {4, 2500}}
	for _, s := range shapes {
		for i, bits := range []int{2, 4, 8} {
			for j, block := range []int{16, 32, 64, 128, 256} {
				g := NBitsGemm{N: s[0], K: s[1], Bits: bits, Block: block, Type: FloatType((i + j) % 3), Zeros: NBitsZeros((i + 2*j) % 3)}
				w := makeWeights(r, g, false)
				for _, m := range []int{1, 2, 3, 4, 7, 11} {
					w.check(t, r, pool, m)
				}
			}
		}
		for _, bits := range []int{2, 4, 8} { // a scale for each row, which ends with its last code
			g := NBitsGemm{N: s[0], K: s[1], Bits: bits, Block: 1 << 20, RowBytes: (s[1]*bits + 7) / 8}
			for _, m := range []int{1, 9} {
				makeWeights(r, g, false).check(t, r, pool, m)
			}
		}
	}
}

func TestNBitsTables(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(33, 34))
	for _, s := range [][2]int{{1, 64}, {9, 128}, {35, 640}, {7, 16}} {
		for _, m := range []int{1, 5, 20} {
			g := NBitsGemm{N: s[0], K: s[1], Bits: 4, Block: 16, HighFirst: true}
			makeWeights(r, g, true).check(t, r, pool, m)
			g.Turned = true
			makeWeights(r, g, true).check(t, r, pool, m)
			g.Flat, g.K = true, s[1]-3
			makeWeights(r, g, true).check(t, r, pool, m)
			g.Turned, g.Block = false, 64
			makeWeights(r, g, true).check(t, r, pool, m)
		}
	}
}

func TestNBitsGroups(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(35, 36))
	for _, bits := range []int{2, 4, 8} {
		g := NBitsGemm{N: 19, K: 100, Bits: bits, Block: 16, Zeros: NBitsCodes, Group: make([]int32, 100)}
		for i := range g.Group {
			g.Group[i] = int32(r.IntN(7))
		}
		for _, m := range []int{1, 10} {
			makeWeights(r, g, false).check(t, r, pool, m)
		}
	}
}

// roundRows rounds blocks of rows of k numbers to whole multiples of their largest
// magnitude/127.
func roundRows(a []float32, k, block int) []float64 {
	out := make([]float64, len(a))
	for first := 0; first < len(a); {
		last := min(first+block, first-first%k+k)
		largest := float32(0)
		for _, v := range a[first:last] {
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		for i := first; i < last && largest >= 0x1p-110; i++ {
			out[i] = math.RoundToEven(float64(a[i]*(127/largest))) * float64(largest/127)
		}
		if largest != largest || largest > math.MaxFloat32 {
			out[first] = math.NaN()
		}
		first = last
	}
	return out
}

// checkRounded compares every variant with the products of rounded rows.
func (w *weights) checkRounded(t *testing.T, pool *Pool, m int, a []float32, bias []float32) {
	t.Helper()
	k, n := w.g.K, w.g.N
	rounded := roundRows(a, k, w.g.Block)
	nbits, err := Select("f32_nbits", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range usable(t, "i8_nbits") {
		w.g.Rounded = variant
		got := w.run(t, nbits, nil, m, a, bias)
		for i, v := range got {
			sum, size := float64(bias[i%n]), math.Abs(float64(bias[i%n]))
			for p, x := range rounded[i/n*k:][:k] {
				x *= w.values[i%n*k+p]
				sum, size = sum+x, size+math.Abs(x)
			}
			if !(math.Abs(float64(v)-sum) <= 3e-6*size) && !(sum != sum && v != v) {
				t.Fatalf("%s, %d rows of %+v: element %d is %v, not %v", variant.Variant(), m, w.g, i, v, sum)
			}
		}
		again := w.run(t, nbits, pool, m, a, bias)
		if !slices.EqualFunc(again, got, func(x, y float32) bool { return x == y || x != x && y != y }) {
			t.Fatalf("%s, %d rows of %+v: depends on the number of threads", variant.Variant(), m, w.g)
		}
	}
	w.g.Rounded = Kernel{}
}

func TestNBitsRounded(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(41, 42))
	for _, s := range [][2]int{{1, 1}, {3, 16}, {5, 129}, {33, 31}, {17, 700}, {70, 256}, {4, 2500}} {
		for i, bits := range []int{2, 4, 8} {
			for j, block := range []int{16, 32, 64, 128, 1 << 20} {
				g := NBitsGemm{N: s[0], K: s[1], Bits: bits, Block: block, Type: FloatType((i + j) % 3), Zeros: NBitsZeros((i + 2*j) % 3)}
				if block > s[1] {
					g.RowBytes = (s[1]*bits + 7) / 8
				}
				w := makeWeights(r, g, false)
				for _, m := range []int{1, 2, 3, 7, 130} {
					if m > 100 && s[1] > 200 {
						continue
					}
					w.checkRounded(t, pool, m, randomFloats(r, m*s[1]), randomFloats(r, s[0]))
				}
			}
		}
	}
}

// extremeWeights has only the lowest and the highest codes, in runs.
func extremeWeights(n, k, bits int) *weights {
	w := &weights{g: NBitsGemm{N: n, K: k, Bits: bits, Block: 32, RowBytes: (k + 31) / 32 * 4 * bits, RowScales: (k + 31) / 32}}
	w.codes = make([]byte, n*w.g.RowBytes)
	scales := make([]float32, n*w.g.RowScales)
	for i := range w.codes {
		w.codes[i] = byte(i / 7 % 2 * 255)
	}
	for i := range scales {
		scales[i] = 1
	}
	w.scales = unsafe.Pointer(&scales[0])
	w.values = make([]float64, n*k)
	for i := range w.values {
		w.values[i] = float64(lowCodeAt(w.codes[i/k*w.g.RowBytes:], i%k, bits, false) - 1<<(bits-1))
	}
	return w
}

// TestNBitsRoundedSpecial has blocks that are zero, tiny, as large as floats are, and
// with what is no number, and codes and rows of the largest magnitudes.
func TestNBitsRoundedSpecial(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(43, 44))
	for _, bits := range []int{2, 4, 8} {
		w := makeWeights(r, NBitsGemm{N: 9, K: 150, Bits: bits, Block: 32}, false)
		a := randomFloats(r, 5*150)
		clear(a[:32])
		for i := range 32 {
			a[150+i], a[300+i] = 1e-40*float32(i), 1e36
			a[332+i] = -1e-30
		}
		a[450+149], a[600+3], a[600+70] = nan32, inf32, -inf32
		w.checkRounded(t, pool, 5, a, randomFloats(r, 9))
		w = extremeWeights(9, 150, bits)
		for i := range a {
			a[i] = float32(1 - i/3%2*2)
		}
		w.checkRounded(t, pool, 5, a, make([]float32, 9))
	}
}

// TestNBitsSpecial checks where infinities and numbers that are none go.
func TestNBitsSpecial(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 38))
	for _, m := range []int{1, 3, 12} {
		w := makeWeights(r, NBitsGemm{N: 5, K: 70, Bits: 4, Block: 32, Zeros: NBitsCodes}, false)
		for _, special := range []float32{inf32, -inf32, nan32} {
			a := randomFloats(r, m*70)
			a[67] = special
			for _, k := range usable(t, "f32_nbits") {
				got := w.run(t, k, nil, m, a, nil)
				for j, v := range got[:5] {
					x := w.values[j*70+67] * float64(special)
					if ok := math.IsNaN(x) && v != v || float64(v) == x; !ok {
						t.Errorf("%s: %d rows: column %d is %v, not %v", k.Variant(), m, j, v, x)
					}
				}
				for _, v := range got[5:] {
					if v != v || math.IsInf(float64(v), 0) {
						t.Errorf("%s: %d rows: another row has %v", k.Variant(), m, v)
					}
				}
			}
		}
	}
}

func BenchmarkNBits(b *testing.B) {
	needKernels(b)
	pool, err := NewPool(2)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	r := rand.New(rand.NewPCG(39, 40))
	const n, deep = 4096, 4096
	for _, bits := range []int{2, 4, 8} {
		w := makeWeights(r, NBitsGemm{N: n, K: deep, Bits: bits, Block: 32, Zeros: NBitsCodes}, false)
		for _, m := range []int{1, 2, 4, 8, 12, 16, 32, 128} {
			for _, k := range usable(b, "f32_nbits") {
				if k.ISA() == 0 {
					continue
				}
				b.Run(fmt.Sprintf("%s/%dbits/%drows", k.Variant(), bits, m), func(b *testing.B) {
					gemm, err := Select("f32_gemm", k.ISA())
					if err != nil {
						b.Fatal(err)
					}
					g := w.g
					g.Kernel, g.Gemm, g.M = k, gemm, m
					a, c := randomFloats(r, m*deep), make([]float32, m*n)
					memory := Alloc(4 * g.Scratch(pool))
					defer Free(memory)
					b.SetBytes(int64(len(w.codes)))
					for b.Loop() {
						g.Run(pool, unsafe.Pointer(&w.codes[0]), w.scales, w.zeros, nil, a, nil, c, asFloats(memory))
					}
				})
			}
		}
	}
}
