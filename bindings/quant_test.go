package bindings

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// byteCase is a product of bytes; a is transposed, and operands are packed, as
// it says.
type byteCase struct {
	m, n, k            int
	aSigned, bSigned   bool
	aT, bT             bool
	packA, packB       bool
	perRow, perCol     bool // zero points differ
	batch              int  // products; b is shared by them
	bias               int  // axes that it has: 0 for none, 1 for columns, 2
	a, b               []byte
	aZero, bZero       []int32
	rowScale, colScale []float32
	biases             []int32
}

func (c *byteCase) name() string {
	return fmt.Sprintf("%dx%dx%d signed %t,%t transposed %t,%t packed %t,%t zeros %t,%t batch %d bias %d",
		c.m, c.n, c.k, c.aSigned, c.bSigned, c.aT, c.bT, c.packA, c.packB, c.perRow, c.perCol, c.batch, c.bias)
}

func byteCases(r *rand.Rand) []*byteCase {
	var list []*byteCase
	shapes := [][3]int{{1, 1, 1}, {1, 33, 7}, {3, 130, 9}, {2, 70, 5}, {4, 32, 40}, {5, 31, 16}, {14, 32, 5}, {15, 33, 101}, {29, 65, 3},
		{6, 16, 12}, {7, 17, 13}, {8, 12, 31}, {33, 1, 29}, {4, 5, 0}, {0, 3, 3}, {3, 0, 3}, {1, 1100, 20}, {20, 40, 1030}, {40, 300, 70}}
	for i, s := range shapes {
		for v := range 12 {
			c := &byteCase{
				m: s[0], n: s[1], k: s[2], aSigned: v&1 != 0, bSigned: v&2 != 0, aT: v%5 == 1, bT: v%3 == 2,
				packA: v%4 == 3, packB: v%3 == 1, perRow: v%2 == 0, perCol: v%4 == 1, batch: 1 + (i+v)%2*2, bias: v % 3,
			}
			c.fill(r)
			list = append(list, c)
		}
	}
	return list
}

// fill makes the operands, extremes often among them.
func (c *byteCase) fill(r *rand.Rand) {
	random := func(n int) []byte {
		b := make([]byte, n+1)
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(3) == 0 {
				b[i] = []byte{0, 127, 128, 255}[r.IntN(4)]
			}
		}
		return b[1:]
	}
	zero := func(signed bool) int32 {
		if signed {
			return int32(r.IntN(256) - 128)
		}
		return int32(r.IntN(256))
	}
	c.a, c.b = random(c.batch*c.m*c.k), random(c.k*c.n)
	c.aZero, c.bZero = make([]int32, c.m), make([]int32, c.n)
	c.rowScale, c.colScale = make([]float32, c.m), make([]float32, c.n)
	az, bz := zero(c.aSigned), zero(c.bSigned)
	for i := range c.aZero {
		if c.aZero[i] = az; c.perRow {
			c.aZero[i] = zero(c.aSigned)
		}
		c.rowScale[i] = r.Float32() / 100
	}
	for i := range c.bZero {
		if c.bZero[i] = bz; c.perCol {
			c.bZero[i] = zero(c.bSigned)
		}
		c.colScale[i] = r.Float32() / 100
	}
	if c.bias > 0 {
		c.biases = make([]int32, c.n*max(1, (c.bias-1)*c.m))
		for i := range c.biases {
			c.biases[i] = int32(r.IntN(20001) - 10000)
		}
	}
}

func byteOf(b byte, signed bool) int32 {
	if signed {
		return int32(int8(b))
	}
	return int32(b)
}

// sums are what the formula gives.
func (c *byteCase) sums() []int32 {
	list := make([]int32, c.batch*c.m*c.n)
	as, bs := strides2(c.m, c.k, c.aT), strides2(c.k, c.n, c.bT)
	for q := range c.batch {
		for i := range c.m {
			for j := range c.n {
				sum := int32(0)
				switch c.bias {
				case 1:
					sum = c.biases[j]
				case 2:
					sum = c.biases[i*c.n+j]
				}
				for p := range c.k {
					u := byteOf(c.a[q*c.m*c.k+i*as[0]+p*as[1]], c.aSigned) - c.aZero[i]
					sum += u * (byteOf(c.b[p*bs[0]+j*bs[1]], c.bSigned) - c.bZero[j])
				}
				list[(q*c.m+i)*c.n+j] = sum
			}
		}
	}
	return list
}

// run computes the product with a kernel; the bytes of the result.
func (c *byteCase) run(t *testing.T, k Kernel, pool *Pool, kind QuantType) []byte {
	as, bs := strides2(c.m, c.k, c.aT), strides2(c.k, c.n, c.bT)
	g := ByteGemm{Kernel: k, M: c.m, N: c.n, K: c.k, Rows: 1, Cols: 1, Type: kind, Zero: 5,
		A: ByteOperand{Signed: c.aSigned, Row: as[0], Col: as[1]}, B: ByteOperand{Signed: c.bSigned, Row: bs[0], Col: bs[1]}}
	v := ByteVectors{AZero: c.aZero, BZero: c.bZero, RowScale: c.rowScale, ColScale: c.colScale, Bias: c.biases}
	if c.bias > 0 {
		g.BiasCol, g.BiasRow = 1, (c.bias-1)*c.n
	}
	if kind == QuantF32 {
		v.Add = c.colScale
	}
	a, b, step := bytesAt(c.a), bytesAt(c.b), c.m*c.k
	if c.packA {
		step = k.PackedBytesA(c.m, c.k)
		packed := Alloc(c.batch * step)
		defer Free(packed)
		for q := range c.batch {
			k.PackBytesA(c.m, c.k, g.A, unsafe.Add(a, q*c.m*c.k), packed[q*step:][:step])
		}
		a, g.A.Packed = bytesAt(packed), true
	}
	if c.packB {
		packed := Alloc(k.PackedBytesB(c.n, c.k))
		defer Free(packed)
		k.PackBytesB(c.n, c.k, g.B, b, packed)
		b, g.B.Packed = bytesAt(packed), true
	}
	g.Batch = []int{c.batch, step, 0}
	scratch := Alloc(g.Scratch(pool))
	defer Free(scratch)
	return guardedBytes(t, c.batch*c.m*c.n*quantBytes(kind), func(out unsafe.Pointer) { g.Run(pool, a, b, &v, out, scratch) })
}

func quantBytes(t QuantType) int {
	switch t {
	case QuantU8, QuantI8:
		return 1
	case QuantU16, QuantI16:
		return 2
	}
	return 4
}

// guardedBytes returns the n bytes that write fills, and reports writing outside.
func guardedBytes(t *testing.T, n int, write func(out unsafe.Pointer)) []byte {
	const guard = 64
	buffer := bytes.Repeat([]byte{0xa5}, n+2*guard+4)
	start := guard + int(-uintptr(bytesAt(buffer))%4)
	write(bytesAt(buffer[start:]))
	for i, b := range buffer {
		if (i < start || i >= start+n) && b != 0xa5 {
			t.Fatalf("wrote %d bytes beside %d", i-start, n)
		}
	}
	return buffer[start : start+n]
}

func viewAs[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(bytesAt(b)), len(b)/int(unsafe.Sizeof(zero)))
}

func TestByteGemm(t *testing.T) {
	pool := newTestPool(t)
	for _, c := range byteCases(rand.New(rand.NewPCG(7, 8))) {
		t.Run(c.name(), func(t *testing.T) {
			want := c.sums()
			results := map[QuantType][]byte{}
			for _, k := range usable(t, "i8_gemm") {
				got := c.run(t, k, nil, QuantI32)
				if i := slices.Compare(viewAs[int32](got), want); i != 0 {
					t.Fatalf("%s: wrong sums", k.Variant())
				}
				for _, kind := range []QuantType{QuantF32, QuantU8, QuantI8} {
					got := c.run(t, k, nil, kind)
					if !bytes.Equal(got, c.run(t, k, pool, kind)) {
						t.Errorf("%s: three threads give another result", k.Variant())
					}
					if results[kind] == nil {
						results[kind] = got
					} else if !bytes.Equal(got, results[kind]) {
						t.Errorf("%s: another result than %s", k.Variant(), usable(t, "i8_gemm")[0].Variant())
					}
				}
			}
			c.checkFinish(t, want, results)
		})
	}
}

// checkFinish compares what became of the sums with the formula.
func (c *byteCase) checkFinish(t *testing.T, sums []int32, results map[QuantType][]byte) {
	for at, s := range sums {
		i, j := at/c.n%c.m, at%c.n
		x := float32(float32(s) * (c.rowScale[i] * c.colScale[j])) // one rounding, where sums could be fused
		u8 := byte(min(max(math.RoundToEven(float64(x))+5, 0), 255))
		i8 := int8(min(max(math.RoundToEven(float64(x))+5, -128), 127))
		f := x + c.colScale[j]
		if got := results[QuantU8][at]; got != u8 {
			t.Fatalf("uint8 element %d is %d, want %d", at, got, u8)
		}
		if got := int8(results[QuantI8][at]); got != i8 {
			t.Fatalf("int8 element %d is %d, want %d", at, got, i8)
		}
		if got := viewAs[float32](results[QuantF32])[at]; got != f {
			t.Fatalf("float32 element %d is %g, want %g", at, got, f)
		}
	}
}

func TestByteConv(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(9, 10))
	for _, s := range []ConvShape{
		{2, 1, 3, 5, []int{7, 9}, []int{7, 9}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}},
		{1, 2, 4, 6, []int{9, 11}, []int{4, 5}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{0, 1}},
		{2, 6, 1, 1, []int{14, 13}, []int{14, 13}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}},
		{1, 5, 1, 1, []int{33, 35}, []int{17, 18}, []int{5, 5}, []int{2, 2}, []int{1, 1}, []int{2, 2}},
		{1, 4, 1, 1, []int{70, 75}, []int{70, 75}, []int{7, 7}, []int{1, 1}, []int{1, 1}, []int{3, 3}},
		{1, 2, 1, 1, []int{19, 40}, []int{7, 11}, []int{4, 6}, []int{2, 3}, []int{2, 2}, []int{1, 2}},
		{1, 2, 1, 6, []int{20, 40}, []int{5, 25}, []int{16, 16}, []int{1, 1}, []int{1, 1}, []int{0, 0}},
		{1, 2, 1, 1, []int{20, 40}, []int{4, 25}, []int{17, 16}, []int{1, 1}, []int{1, 1}, []int{0, 0}},
		{1, 3, 1, 2, []int{20}, []int{16}, []int{3}, []int{1}, []int{2}, []int{0}},
		{2, 1, 17, 33, []int{12, 12}, []int{12, 12}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}},
		{1, 1, 2, 4, []int{5, 4, 6}, []int{4, 3, 5}, []int{2, 2, 2}, []int{1, 1, 1}, []int{1, 1, 1}, []int{0, 0, 0}},
		{1, 1, 3, 7, []int{3, 300}, []int{3, 300}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}},
		{1, 2, 3, 4, []int{5, 9}, []int{5, 11}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}},
	} {
		for v := range 8 {
			byteConvCase(t, r, pool, s, v&1 != 0, v&2 != 0, v&4 != 0)
		}
	}
}

func byteConvCase(t *testing.T, r *rand.Rand, pool *Pool, s ConvShape, xSigned, wSigned, pack bool) {
	taps, plane, out := 1, 1, 1
	for d := range s.Kernel {
		taps, plane, out = taps*s.Kernel[d], plane*s.In[d], out*s.Out[d]
	}
	x, w := make([]byte, s.Images*s.Groups*s.Channels*plane), make([]byte, s.Groups*s.Filters*s.Channels*taps)
	for i := range x {
		x[i] = byte(r.Uint32())
	}
	for i := range w {
		w[i] = byte(r.Uint32())
	}
	filters := s.Groups * s.Filters
	vectors := ByteVectors{AZero: make([]int32, filters), BZero: make([]int32, out), Bias: make([]int32, filters)}
	xZero := byteOf(byte(r.Uint32()), xSigned)
	for i := range vectors.BZero {
		vectors.BZero[i] = xZero
	}
	for i := range filters {
		vectors.Bias[i] = int32(r.IntN(2000))
		if !wSigned || r.IntN(2) == 0 {
			vectors.AZero[i] = byteOf(byte(r.Uint32()), wSigned)
		}
	}
	want := byteConvolution(&s, x, w, &vectors, xSigned, wSigned, xZero)
	for _, k := range usable(t, "i8_gemm") {
		taps, err := Select("f32_conv_depthwise", k.ISA())
		if err != nil {
			t.Fatal(err)
		}
		v := ByteConv{ConvShape: s, Taps: taps, XSigned: xSigned, XZero: xZero,
			Gemm: ByteGemm{Kernel: k, A: ByteOperand{Signed: wSigned, Packed: pack}, BiasRow: 1, Type: QuantI32}}
		weights := w
		if pack {
			weights = Alloc(v.PackedWeights())
			defer Free(weights)
			v.Pack(bytesAt(w), weights)
		}
		for _, p := range []*Pool{nil, pool} {
			scratch := Alloc(v.Scratch(p))
			got := guardedBytes(t, 4*len(want), func(out unsafe.Pointer) { v.Run(p, bytesAt(x), bytesAt(weights), &vectors, out, scratch) })
			Free(scratch)
			if !slices.Equal(viewAs[int32](got), want) {
				t.Errorf("%v signed %t,%t packed %t %s, %d threads: wrong", s, xSigned, wSigned, pack, k.Variant(), p.Threads())
			}
		}
	}
}

// byteConvolution is the formula.
func byteConvolution(s *ConvShape, x, w []byte, v *ByteVectors, xSigned, wSigned bool, xZero int32) []int32 {
	axes := len(s.Kernel)
	place := func(index int, extents []int) []int {
		at := make([]int, axes)
		for d := axes - 1; d >= 0; d-- {
			at[d] = index % extents[d]
			index /= extents[d]
		}
		return at
	}
	count := func(extents []int) int {
		n := 1
		for _, e := range extents {
			n *= e
		}
		return n
	}
	taps, plane, out := count(s.Kernel), count(s.In), count(s.Out)
	var list []int32
	for i := range s.Images * s.Groups * s.Filters * out {
		o, filter := place(i%out, s.Out), i/out%(s.Groups*s.Filters)
		image, group := i/out/(s.Groups*s.Filters), filter/s.Filters
		sum := v.Bias[filter]
		for p := range s.Channels * taps {
			tap, channel := place(p%taps, s.Kernel), p/taps
			at, inside := 0, true
			for d := range axes {
				q := o[d]*s.Stride[d] + tap[d]*s.Dilation[d] - s.Pad[d]
				inside = inside && q >= 0 && q < s.In[d]
				at = at*s.In[d] + q
			}
			if inside {
				u := byteOf(x[((image*s.Groups+group)*s.Channels+channel)*plane+at], xSigned) - xZero
				sum += u * (byteOf(w[filter*s.Channels*taps+p], wSigned) - v.AZero[filter])
			}
		}
		list = append(list, sum)
	}
	return list
}
