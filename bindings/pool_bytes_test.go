//go:build cgo

package bindings

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestBytePooling compares all variants with the formula.
func TestBytePooling(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(15, 16))
	for i, base := range poolings {
		for v := range 24 {
			p := BytePooling{Pooling: base, Inner: []int{1, 2, 37}[v%3], Signed: v&1 != 0, XZero: int32(r.IntN(200) - 100),
				Ratio: []float32{0.3, 1, 2.5, 40}[v%4], Before: int32(r.IntN(9) - 4)}
			p.Max, p.CountPad = v&2 != 0, v&4 != 0
			if v&8 != 0 {
				p.Before, p.After = 0, p.Before
			}
			in, out := p.Planes*p.Inner, p.Planes*p.Inner
			for _, a := range p.Axes {
				in, out = in*a.In, out*a.Out
			}
			x := make([]byte, in)
			for i := range x {
				x[i] = byte(r.Uint32())
			}
			want := bytePoolingWant(&p, x, out)
			for _, k := range usable(t, "i8_pooling") {
				for _, threads := range []*Pool{nil, pool} {
					scratch := scratchBytes(t, p.Scratch(k, threads))
					got := guardedBytes(t, out, func(y unsafe.Pointer) { p.Run(k, threads, bytesAt(x), scratch, y) })
					for at := range got {
						if got[at] != want[at] {
							t.Fatalf("%d %+v %s: code %d is %d, want %d", i, p, k.Variant(), at, got[at], want[at])
						}
					}
				}
			}
		}
	}
}

func bytePoolingWant(p *BytePooling, x []byte, n int) []byte {
	least := 0
	if p.Signed {
		least = -128
	}
	y := make([]byte, n)
	for i := range y {
		inner, cell := i%p.Inner, i/p.Inner
		at := make([]int, len(p.Axes))
		for a := len(at) - 1; a >= 0; a-- {
			at[a] = cell % p.Axes[a].Out
			cell /= p.Axes[a].Out
		}
		places, counted := []int{cell}, 1
		for a, axis := range p.Axes {
			var next []int
			count := 0
			for tap := range axis.Taps {
				q := at[a]*axis.Stride + tap*axis.Dilation - axis.Pad
				if q >= 0 && q < axis.In {
					for _, place := range places {
						next = append(next, place*axis.In+q)
					}
				}
				if q >= 0 && q < axis.In || p.CountPad && q < axis.In+axis.PadEnd {
					count++
				}
			}
			places, counted = next, counted*max(count, 1)
		}
		best, sum := int32(least), int32(0)
		for _, place := range places {
			code := byteOf(x[place*p.Inner+inner], p.Signed)
			best, sum = max(best, code), sum+code-p.XZero
		}
		if !p.Max {
			v := math.RoundToEven(float64(float32(float32(sum)/float32(counted)*p.Ratio)+float32(p.Before))) + float64(p.After)
			best = int32(min(max(v, float64(least)), float64(least+255)))
		}
		y[i] = byte(best)
	}
	return y
}

// scratchBytes returns n bytes that hold what no code should read before it is
// written.
func scratchBytes(t *testing.T, n int) []byte {
	b := Alloc(n)
	t.Cleanup(func() { Free(b) })
	for i := range b {
		b[i] = 0xa5
	}
	return b
}
