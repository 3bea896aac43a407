//go:build cgo

package bindings

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestQuantPairs(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(15, 16))
	axes := [][]int{{40000, 1, 1}, {7, 0, 1}, {7, 1, 0}, {3, 5, 5, 1, 0, 1}, {2, 3, 4, 4, 0, 1, 3, 1, 0}, {3, 0, 1, 1, 1, 1}}
	for _, list := range axes {
		rank := len(list) / 3
		n := 1
		for _, e := range list[:rank] {
			n *= e
		}
		a, b := make([]byte, 40000), make([]byte, 40000)
		for i := range a {
			a[i], b[i] = byte(r.Uint32()), byte(r.Uint32())
		}
		for v := range 8 {
			ratios := [][2]float32{{0.3, 0.7}, {0.5, 0.25}}[v>>2]
			p := QuantPair{Signed: v&1 != 0, Product: v&2 != 0, AZero: 3, BZero: -7, CZero: 11, ARatio: ratios[0], BRatio: ratios[1]}
			for _, k := range usable(t, "f32_quantize") {
				for _, pl := range []*Pool{nil, pool} {
					got := guardedBytes(t, n, func(out unsafe.Pointer) { QuantPairs(k, pl, &p, list, bytesAt(a), bytesAt(b), out) })
					for i, g := range got {
						if want := pairOf(&p, list, a, b, i); byteOf(g, p.Signed) != want {
							t.Fatalf("%v %v %s: element %d is %d, want %d", list, p, k.Variant(), i, byteOf(g, p.Signed), want)
						}
					}
				}
			}
		}
	}
}

// pairOf is element i of a result by the formula.
func pairOf(p *QuantPair, axes []int, a, b []byte, i int) int32 {
	rank, at, bt := len(axes)/3, 0, 0
	for d := rank - 1; d >= 0; d-- {
		at += i % axes[d] * axes[rank+d]
		bt += i % axes[d] * axes[2*rank+d]
		i /= axes[d]
	}
	u, v := byteOf(a[at], p.Signed)-p.AZero, byteOf(b[bt], p.Signed)-p.BZero
	left, right := float32(float32(u)*p.ARatio), float32(float32(v)*p.BRatio)
	x := left + right
	if p.Product {
		x = float32(u*v) * p.ARatio
	}
	low := 0.0
	if p.Signed {
		low = -128
	}
	return int32(min(max(math.RoundToEven(float64(float32(x)+float32(p.CZero))), low), low+255))
}

func TestQuantLookup(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(17, 18))
	var table [256]byte
	for i := range table {
		table[i] = byte(r.Uint32())
	}
	for _, c := range []struct{ rows, n, xRow, yRow int }{{1, 0, 0, 0}, {0, 5, 5, 5}, {1, 256, 256, 256}, {1, 100001, 100001, 100001},
		{300, 7, 7, 7}, {301, 65, 65, 70}, {302, 190, 200, 190}, {3, 70001, 70003, 70002}, {5, 1, 2, 3}} {
		x := make([]byte, max(c.rows-1, 0)*c.xRow+c.n)
		for i := range x {
			x[i] = byte(r.Uint32())
			if c.n == 256 {
				x[i] = byte(i)
			}
		}
		want := bytes.Repeat([]byte{0xa5}, max(c.rows-1, 0)*c.yRow+c.n)
		for row := range c.rows {
			for i := range c.n {
				want[row*c.yRow+i] = table[x[row*c.xRow+i]]
			}
		}
		for _, k := range usable(t, "i8_lookup") {
			for _, p := range []*Pool{nil, pool} {
				got := guardedBytes(t, len(want), func(y unsafe.Pointer) { QuantLookup(k, p, c.rows, c.n, c.xRow, c.yRow, bytesAt(x), &table, y) })
				if !bytes.Equal(got, want) {
					t.Errorf("%s: %+v differs", k.Variant(), c)
				}
				if c.xRow == c.yRow {
					same := bytes.Clone(x)
					QuantLookup(k, p, c.rows, c.n, c.xRow, c.yRow, bytesAt(same), &table, bytesAt(same))
					if c.rows > 0 && c.xRow == c.n && !bytes.Equal(same, want) {
						t.Errorf("%s: %+v differs in place", k.Variant(), c)
					}
				}
			}
		}
	}
}

func TestQuantSoftmax(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(19, 20))
	for i, dims := range [][3]int{{3, 1, 1}, {5, 10, 1}, {40, 255, 1}, {9, 256, 1}, {2, 40001, 1}, {2, 7, 3}, {3, 300, 65}, {1, 4, 130}, {0, 3, 3}, {3, 0, 1}} {
		for v := range 4 {
			signed := v&1 != 0
			s := QuantSoftmax{Ratio: 256, Zero: int32(v&1) * -128}
			if v&2 != 0 {
				s.Ratio, s.Zero = 700, int32(i)-5
			}
			for d := range s.Weights {
				s.Weights[d] = float32(math.Exp(-0.05 * float64(d)))
			}
			n := dims[0] * dims[1] * dims[2]
			x, want := make([]byte, n), make([]byte, n)
			for i := range x {
				x[i] = byte(r.Uint32())
			}
			softmaxOf(&s, signed, dims, x, want)
			for _, k := range usable(t, "i8_lookup") {
				for _, p := range []*Pool{nil, pool} {
					got := guardedBytes(t, n, func(y unsafe.Pointer) { s.Run(k, p, signed, dims[0], dims[1], dims[2], bytesAt(x), y) })
					if !bytes.Equal(got, want) {
						t.Errorf("%s: %v differs", k.Variant(), dims)
					}
				}
			}
		}
	}
}

// softmaxOf is the formula.
func softmaxOf(s *QuantSoftmax, signed bool, dims [3]int, x, y []byte) {
	low := 0.0
	if signed {
		low = -128
	}
	for slice := range dims[0] * dims[2] {
		at := func(k int) int { return (slice/dims[2]*dims[1]+k)*dims[2] + slice%dims[2] }
		top, sum := int32(-128), 0.0
		for k := range dims[1] {
			top = max(top, byteOf(x[at(k)], signed))
		}
		for k := range dims[1] {
			sum += float64(s.Weights[top-byteOf(x[at(k)], signed)])
		}
		for k := range dims[1] {
			q := math.RoundToEven(float64(s.Weights[top-byteOf(x[at(k)], signed)] * s.Ratio / float32(sum)))
			y[at(k)] = byte(int(min(max(q+float64(s.Zero), low), low+255)))
		}
	}
}
