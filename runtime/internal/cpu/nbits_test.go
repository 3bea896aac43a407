package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// weights is a matrix of codes and the numbers that they stand for.
type weights struct {
	nbitsWords
	codes, scales, zeros []byte
	values4              []float32 // of codes of 4 bits; nil for none
	groups               []int32
	values               []float64 // [N,K]
}

// makeWeights returns random weights with the extents, widths and kinds in v.
func makeWeights(r *rand.Rand, v nbitsWords, groups []int32) *weights {
	w := &weights{nbitsWords: v, groups: groups}
	blocks := (v.k + v.block - 1) / v.block
	w.rowScale, w.group = blocks, groups != nil
	if v.rowBytes == 0 {
		w.rowBytes = blocks * v.block * v.bits / 8
	}
	rows, size := v.n, v.n*w.rowBytes
	if v.flat {
		size, w.rowScale = (v.n*v.k*v.bits+7)/8, (v.n*v.k+v.block-1)/v.block
		rows, blocks = 1, w.rowScale
	}
	w.codes = randomBytes(r, size)
	scales, zeros := quarters(r, rows*blocks), quarters(r, rows*blocks)
	middle := float64(int(1) << (v.bits - 1))
	for i := range zeros {
		scales[i] /= 8
		zeros[i] += middle
	}
	scales, zeros = rounded(v.scales, scales), rounded(v.scales, zeros)
	w.scales = stored(v.scales, scales)
	w.setZeros(r, blocks, zeros)
	if v.table {
		w.values4 = viewAs[float32](stored(tensor.F32, quarters(r, 16)))
	}
	w.values = make([]float64, v.n*v.k)
	for i := range w.values {
		w.values[i] = w.meaning(i, blocks, scales, zeros)
	}
	return w
}

// setZeros makes zero points of the kind w.from, and sets the list to their values.
func (w *weights) setZeros(r *rand.Rand, blocks int, zeros []float64) {
	switch w.from {
	case zerosMiddle:
		for i := range zeros {
			zeros[i] = float64(int(1) << (w.bits - 1))
		}
	case zerosFloats:
		w.zeros = stored(w.nbitsWords.scales, zeros)
	case zerosCodes:
		row := (blocks*w.bits + 7) / 8
		w.zeros = randomBytes(r, w.n*row+1)
		for i := range zeros {
			zeros[i] = float64(lowCodeAt(w.zeros[i/blocks*row:], i%blocks, w.bits, false))
		}
	}
}

// meaning returns the number that code i stands for.
func (w *weights) meaning(i, blocks int, scales, zeros []float64) float64 {
	row, at := i/w.k, i%w.k
	if w.flat {
		row, at = 0, i
	}
	block := row*blocks + at/w.block
	if w.groups != nil {
		block = row*blocks + int(w.groups[i%w.k])
	}
	code := lowCodeAt(w.codes[row*w.rowBytes:], at, w.bits, w.highFirst)
	if w.values4 != nil {
		return float64(w.values4[code]) * scales[block]
	}
	return (float64(code) - zeros[block]) * scales[block]
}

func lowCodeAt(b []byte, i, bits int, highFirst bool) int {
	if highFirst {
		i ^= 1
	}
	return int(b[i*bits/8]) >> (i * bits % 8) & (1<<bits - 1)
}

func randomBytes(r *rand.Rand, n int) []byte {
	b, _ := guardedBytes(n, 1)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func bytesOf[T any](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&list[0])), len(list)*int(unsafe.Sizeof(list[0])))
}

// run multiplies m rows by a kernel, on one thread and on a pool. ok is false if it does not fit.
func (w *weights) run(t *testing.T, k bindings.Kernel, pool *bindings.Pool, m int, a, bias []float64) (c []float64, ok bool) {
	t.Helper()
	v := w.nbitsWords
	v.m, v.gemm = graph.Known(m), partOf(t, "f32_gemm", k.ISA())
	if k.Panel() > 0 {
		return w.runPanels(t, k, &v, pool, a, bias)
	}
	list := v.words()
	if !k.Fits(numbersOf(t, list)) {
		return nil, false
	}
	columns := v.n
	if v.transposed {
		columns = v.k
	}
	b := runGuarded(t, k, list, pool, m*columns*4, 4, stored(tensor.F32, a), w.codes, w.scales, w.zeros, bytesOf(w.values4), bytesOf(w.groups),
		stored(tensor.F32, bias))
	return loaded(tensor.F32, b), true
}

// runPanels is run for a kernel that packs weights in panels.
func (w *weights) runPanels(t *testing.T, k bindings.Kernel, v *nbitsWords, pool *bindings.Pool, a, bias []float64) (c []float64, ok bool) {
	t.Helper()
	p := &panelsWords{m: v.m, n: v.n, k: v.k, codes: v, gemm: v.gemm}
	list := numbersOf(t, p.words())
	if v.table || v.group || v.flat || v.transposed || !k.Fits(list) {
		return nil, false
	}
	m, _ := v.m.Value()
	b := runGuarded(t, k, p.words(), pool, m*v.n*4, 4, stored(tensor.F32, a), w.packed(t, k, list), nil, nil, stored(tensor.F32, bias))
	return loaded(tensor.F32, b), true
}

// packed returns the weights as a kernel packs them: codes row by panel, scales and zero points at
// once, into memory that is not 0 before.
func (w *weights) packed(t *testing.T, k bindings.Kernel, list []int64) []byte {
	t.Helper()
	all, intact := guardedBytes(k.Packed(list, panelsBlocks), 64)
	for i := range all {
		all[i] = 0xa5
	}
	panel := k.Packed(withCount(list, 1), panelsBlocks)
	for from := 0; from < w.n; from += k.Panel() {
		k.Pack(withCount(list, min(k.Panel(), w.n-from)), panelsBlocks, w.codes[from*w.rowBytes:], all[from/k.Panel()*panel:])
	}
	k.Pack(list, panelsScales, w.scales, all)
	if w.zeros != nil {
		k.Pack(list, panelsZeros, w.zeros, all)
	}
	if !intact() {
		t.Fatalf("%s/%s packed outside its result", k.Op(), k.Variant())
	}
	return all
}

// check compares every variant of an op to sums of products of the rows and the numbers of codes.
// It returns how many variants fit.
func (w *weights) check(t *testing.T, op string, pool *bindings.Pool, m int, a, bias []float64) (fit int) {
	t.Helper()
	deep, columns := w.k, w.n
	if w.transposed {
		deep, columns = columns, deep
	}
	rows, exact := a, 1e-6
	if op == "i8_block_panels" {
		rows, exact = roundRows(a, w.k, min(w.block, 1024)), 3e-6
	}
	want, size := make([]float64, m*columns), make([]float64, m*columns)
	for i := range want {
		j := i % columns
		want[i], size[i] = bias[j], math.Abs(bias[j])
		for p := range deep {
			at := j*w.k + p
			if w.transposed {
				at = p*w.k + j
			}
			x := rows[i/columns*deep+p] * w.values[at]
			want[i], size[i] = want[i]+x, size[i]+math.Abs(x)
		}
	}
	var first []float64
	for _, k := range runnable(t, op) {
		got, ok := w.run(t, k, pool, m, a, bias)
		if !ok {
			continue
		}
		fit++
		if first == nil {
			first = got
		}
		if op == "i8_block_panels" && differ(got, first, 0, 0) >= 0 {
			t.Fatalf("%s, %d rows of %+v: results of variants differ", k.Variant(), m, w.nbitsWords)
		}
		for i, v := range got {
			if !(math.Abs(v-want[i]) <= exact*size[i]) && !(v != v && want[i] != want[i]) {
				t.Fatalf("%s, %d rows of %+v: element %d is %v, not %v", k.Variant(), m, w.nbitsWords, i, v, want[i])
			}
		}
	}
	return fit
}

// checkRandom is check with random rows and bias; at least one variant fits.
func (w *weights) checkRandom(t *testing.T, op string, r *rand.Rand, pool *bindings.Pool, m int) {
	t.Helper()
	deep, columns := w.k, w.n
	if w.transposed {
		deep, columns = columns, deep
	}
	if w.check(t, op, pool, m, quarters(r, m*deep), quarters(r, columns)) == 0 {
		t.Fatalf("no variant of %s fits %d rows of %+v", op, m, w.nbitsWords)
	}
}

var nbitsShapes = [][2]int{{1, 1}, {3, 16}, {5, 129}, {33, 31}, {17, 700}, {70, 256}, {4, 2500}}

var scaleTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

func TestNBits(t *testing.T) {
	t.Parallel()
	pool := testPool(t)
	r := rand.New(rand.NewPCG(31, 32))
	for _, s := range nbitsShapes {
		for i, bits := range []int{2, 4, 8} {
			for j, block := range []int{16, 32, 128, 512, 1 << 20} {
				v := nbitsWords{n: s[0], k: s[1], bits: bits, block: block, scales: scaleTypes[(i+j)%3], from: (i + 2*j) % 3}
				if block > s[1] { // one scale per row, which ends with its last code
					v.rowBytes = (s[1]*bits + 7) / 8
				}
				w := makeWeights(r, v, nil)
				for _, m := range []int{1, 2, 3, 7, 15, 26} {
					for _, op := range []string{"f32_nbits", "f32_block_panels", "i8_block_panels"} {
						w.checkRandom(t, op, r, pool, m)
					}
				}
			}
		}
	}
}

func TestNBitsTables(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(33, 34))
	for _, s := range [][2]int{{1, 64}, {9, 128}, {35, 640}, {7, 16}} {
		for _, m := range []int{1, 5, 30} {
			v := nbitsWords{n: s[0], k: s[1], bits: 4, block: 16, highFirst: true, table: true, scales: tensor.F32}
			makeWeights(r, v, nil).checkRandom(t, "f32_nbits", r, pool, m)
			v.transposed = true
			makeWeights(r, v, nil).checkRandom(t, "f32_nbits", r, pool, m)
			v.flat, v.k = true, s[1]-3
			makeWeights(r, v, nil).checkRandom(t, "f32_nbits", r, pool, m)
			v.transposed, v.block = false, 64
			makeWeights(r, v, nil).checkRandom(t, "f32_nbits", r, pool, m)
		}
	}
}

func TestNBitsGroups(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(35, 36))
	for _, bits := range []int{2, 4, 8} {
		groups := make([]int32, 100)
		for i := range groups {
			groups[i] = int32(r.IntN(7))
		}
		w := makeWeights(r, nbitsWords{n: 19, k: 100, bits: bits, block: 16, from: zerosCodes, scales: tensor.F32}, groups)
		for _, m := range []int{1, 30} {
			w.checkRandom(t, "f32_nbits", r, pool, m)
		}
		for _, bad := range []int32{-1, 7} {
			groups[99] = bad
			v := w.nbitsWords
			v.m, v.gemm = graph.Known(1), partOf(t, "f32_gemm", 0)
			y, _ := guardedBytes(4*19, 4)
			f, failed := runCommand(t, partOf(t, "f32_nbits", 0), v.words(), nil, stored(tensor.F32, quarters(r, 100)), w.codes, w.scales, w.zeros, nil, bytesOf(groups), nil, y)
			if want := fmt.Sprintf("element 99 of g_idx is %d; there are 7 blocks", bad); !failed || failure(f).Error() != want {
				t.Errorf("a group of %d: got %v", bad, failed)
			}
		}
	}
}

// roundRows rounds blocks of rows of k numbers to multiples of 1/127 of the block's largest
// magnitude.
func roundRows(a []float64, k, block int) []float64 {
	out := make([]float64, len(a))
	for first := 0; first < len(a); {
		last := min(first+block, first-first%k+k)
		largest := float32(0)
		for _, v := range a[first:last] {
			largest = max(largest, float32(math.Abs(v)))
		}
		for i := first; i < last && largest >= 0x1p-110; i++ {
			out[i] = math.RoundToEven(float64(float32(a[i])*(127/largest))) * float64(largest/127)
		}
		if largest != largest || largest > math.MaxFloat32 {
			out[first] = math.NaN()
		}
		first = last
	}
	return out
}

// extremeWeights returns weights with runs of the lowest and of the highest code.
func extremeWeights(n, k, bits int) *weights {
	w := &weights{nbitsWords: nbitsWords{n: n, k: k, bits: bits, block: 32, rowBytes: (k + 31) / 32 * 4 * bits, rowScale: (k + 31) / 32, scales: tensor.F32}}
	w.codes = make([]byte, n*w.rowBytes)
	for i := range w.codes {
		w.codes[i] = byte(i / 7 % 2 * 255)
	}
	w.scales = stored(tensor.F32, slices.Repeat([]float64{1}, n*w.rowScale))
	w.values = make([]float64, n*k)
	for i := range w.values {
		w.values[i] = float64(lowCodeAt(w.codes[i/k*w.rowBytes:], i%k, bits, false) - 1<<(bits-1))
	}
	return w
}

// TestNBitsRoundedSpecial uses blocks that are zero, tiny, of the largest floats, or with
// infinities and NaNs, and codes and rows of the largest magnitudes.
func TestNBitsRoundedSpecial(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(43, 44))
	for _, bits := range []int{2, 4, 8} {
		w := makeWeights(r, nbitsWords{n: 9, k: 150, bits: bits, block: 32, scales: tensor.F32}, nil)
		a := quarters(r, 5*150)
		clear(a[:32])
		for i := range 32 {
			a[150+i], a[300+i] = float64(1e-40*float32(i)), float64(float32(1e36))
			a[332+i] = float64(float32(-1e-30))
		}
		a[450+149], a[600+3], a[600+70] = math.NaN(), math.Inf(1), math.Inf(-1)
		w.checkRounded(t, pool, a, quarters(r, 9))
		w = extremeWeights(9, 150, bits)
		for i := range a {
			a[i] = float64(1 - i/3%2*2)
		}
		w.checkRounded(t, pool, a, make([]float64, 9))
	}
}

// checkRounded calls check for i8_block_panels with 5 rows. All variants must fit.
func (w *weights) checkRounded(t *testing.T, pool *bindings.Pool, a, bias []float64) {
	t.Helper()
	if n := w.check(t, "i8_block_panels", pool, 5, a, bias); n != len(runnable(t, "i8_block_panels")) {
		t.Fatalf("%d variants fit", n)
	}
}

// TestNBitsSpecial checks which results infinities and NaNs reach.
func TestNBitsSpecial(t *testing.T) {
	r := rand.New(rand.NewPCG(37, 38))
	pool := testPool(t)
	for _, m := range []int{1, 3, 30} {
		w := makeWeights(r, nbitsWords{n: 5, k: 70, bits: 4, block: 32, from: zerosCodes, scales: tensor.F32}, nil)
		for _, special := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
			a := quarters(r, m*70)
			a[67] = special
			for _, k := range append(runnable(t, "f32_nbits"), runnable(t, "f32_block_panels")...) {
				got, ok := w.run(t, k, pool, m, a, nil)
				if !ok {
					continue
				}
				for j, v := range got[:5] {
					x := w.values[j*70+67] * special
					if ok := math.IsNaN(x) && v != v || v == x; !ok {
						t.Errorf("%s: %d rows: column %d is %v, not %v", k.Variant(), m, j, v, x)
					}
				}
				for _, v := range got[5:] {
					if v != v || math.IsInf(v, 0) {
						t.Errorf("%s: %d rows: another row has %v", k.Variant(), m, v)
					}
				}
			}
		}
	}
}
