package cpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codedBlock is the number of elements that share a scale.
const codedBlock = 32

// codedWidth returns the bytes of a row of d elements in a cache of int8.
func codedWidth(d int) int { return d + 2*((d+codedBlock-1)/codedBlock) }

// codedRows returns rows of d elements as a cache of int8 stores them.
func codedRows(list []float64, d int) []byte {
	rows, width := len(list)/d, codedWidth(d)
	out, _ := guardedBytes(rows*width, 1)
	for r := range rows {
		row := out[r*width : (r+1)*width]
		for from := 0; from < d; from += codedBlock {
			block, most := list[r*d+from:r*d+min(from+codedBlock, d)], float32(0)
			for _, v := range block {
				most = max(most, float32(math.Abs(v)))
			}
			high := (math.Float32bits(most/127) + 0xffff) >> 16
			if math.IsInf(float64(most), 0) || math.IsNaN(float64(most)) {
				high = 0x7fc0
			}
			scale := math.Float32frombits(high << 16)
			for e, v := range block {
				row[from+e] = 0
				if scale > 0 {
					row[from+e] = byte(int8(math.RoundToEven(float64(float32(v) / scale))))
				}
			}
			binary.LittleEndian.PutUint16(row[d+2*(from/codedBlock):], uint16(high))
		}
	}
	return out
}

// TestAttentionCodes compares attention with keys and values of int8.
func TestAttentionCodes(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(61, 62))
	for _, s := range [][6]int{{4, 2, 1, 9, 8, 5}, {4, 2, 3, 1100, 33, 17}, {2, 2, 40, 70, 16, 33}, {3, 3, 1, 40, 128, 64},
		{2, 1, 61, 1300, 20, 8}, {1, 1, 5, 1, 1, 1}, {2, 2, 9, 33, 260, 200},
		{4, 1, 1, 50, 80, 96}, {8, 1, 1, 37, 64, 40}, {17, 1, 1, 21, 96, 72}, {2, 2, 4, 19, 48, 112}} {
		queries, keys := s[2], s[3]
		for i, set := range []func(a *lower.Attention){
			nil,
			func(a *lower.Attention) { a.Causal, a.Past = true, graph.Known(keys-min(queries, keys)) },
			func(a *lower.Attention) { a.Causal, a.Window, a.Cap, a.Past = true, 7, 5, graph.Known(3) },
		} {
			c := &attentionCase{heads: s[0], kvHeads: s[1], queries: queries, keys: keys, d: s[4], dv: s[5], codes: true,
				dtype: floatKinds[i%3].t, set: set}
			c.check(t, r, pool, fmt.Sprint("codes ", s, " setting ", i))
		}
	}
	c := &attentionCase{heads: 4, kvHeads: 2, queries: 1, keys: 1500, d: 8, dv: 8, codes: true, dtype: tensor.F32,
		lengths: []int64{20, 1399, 21, 1400, 1400}, set: func(a *lower.Attention) { a.Causal = true }}
	c.check(t, r, pool, "codes with lengths")
}

// TestAppendCodes compares rows of int8 that every level of conversions stores to the definition,
// byte by byte. Rows hold zeros, ties, subnormal numbers, and numbers that are not finite.
func TestAppendCodes(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(63, 64))
	k := runnable(t, "attention_append")[0]
	for _, half := range parts(t, "half") {
		for _, xType := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
			for _, d := range []int{1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 129} {
				c := appendCase{heads: 2, rows: 8, d: d, past: 3, room: 13, dtype: tensor.I8, xType: xType}
				past := codedRows(attentionNormals(r, 2*c.heads*c.past*d), d)
				x := attentionNormals(r, 2*c.heads*c.rows*d)
				for e := range d {
					x[e] = 0
					x[d+e] = float64(e%codedBlock) - 15.5 // ties of a block whose scale is 1
					x[3*d+e] *= 0x1p-130
				}
				for e := 0; e < d; e += codedBlock {
					x[d+e] = 127
				}
				x[4*d+d-1], x[5*d], x[6*d+d/2] = math.NaN(), math.Inf(1), math.Inf(-1)
				x = rounded(xType, x)
				new := codedRows(x, d)
				width := codedWidth(d)
				want := make([]byte, 2*c.heads*c.room*width)
				for head := range 2 * c.heads {
					copy(want[head*c.room*width:], past[head*c.past*width:(head+1)*c.past*width])
					copy(want[(head*c.room+c.past)*width:], new[head*c.rows*width:(head+1)*c.rows*width])
				}
				w := c.coded(t, half)
				for _, p := range []*bindings.Pool{nil, pool} {
					got, intact := guardedBytes(len(want), 1)
					if f, failed := runCommand(t, k, w, p, past, stored(xType, x), nil, nil, got); failed || !intact() {
						t.Fatal(failure(f), intact())
					}
					for i := 0; i < len(got); i += width {
						if !bytes.Equal(got[i:i+width], want[i:i+width]) {
							t.Fatalf("%s, %v, size %d: row %d is %v, want %v", half.Variant(), xType, d, i/width, got[i:i+width],
								want[i:i+width])
						}
					}
				}
			}
		}
	}
}

// TestWidenCodes compares rows of int8 that every level of conversions widens, in memory with room,
// to the definition. Products of codes and scales are exact.
func TestWidenCodes(t *testing.T) {
	pool := testPool(t)
	r := rand.New(rand.NewPCG(65, 66))
	const heads, rows, room = 3, 7, 9
	for _, half := range parts(t, "half") {
		for _, k := range floatKinds {
			for _, d := range []int{1, 7, 15, 16, 17, 31, 32, 33, 40, 64, 129} {
				list := attentionNormals(r, heads*room*d)
				list[d], list[3*d] = math.Inf(1), 0x1p-130
				codes, width := codedRows(list, d), codedWidth(d)
				b := testBinder(t, bindings.DetectISA(), []*op.Value{valueOf(tensor.I8, heads, rows, width)},
					[]*op.Value{valueOf(k.t, heads, rows, d)})
				b.dev.half, b.InRoom = half, []graph.Dims{graph.DimsOf([]int{heads, room, width})}
				w := wordsOf(t, b, func() error { return bindWidenCodes(nil, b) })
				want := make([]float64, 0, heads*rows*d)
				for head := range heads {
					for i := range rows {
						row := codes[(head*room+i)*width:][:width]
						for e := range d {
							scale := math.Float32frombits(uint32(binary.LittleEndian.Uint16(row[d+e/codedBlock*2:])) << 16)
							want = append(want, float64(int8(row[e]))*float64(scale))
						}
					}
				}
				want = rounded(k.t, want)
				out := []output{{at: 1, dtype: k.t, n: len(want)}}
				got := runOutputs(t, runnable(t, "codes_widen")[0], w, pool, out, codes, nil)
				if i := differ(got, want, 0, 0); i >= 0 {
					t.Fatalf("%s, %v, size %d: element %d is %v, want %v", half.Variant(), k.t, d, i, got[i], want[i])
				}
			}
		}
	}
}

// coded returns the words for a cache of int8 with a level of conversions.
func (c *appendCase) coded(t *testing.T, half bindings.Kernel) words {
	t.Helper()
	b := testBinder(t, bindings.DetectISA(), nil, nil)
	b.dev.half = half
	h := attention.WholeHeads(graph.DimsOf(tensor.Shape{2, c.heads, c.rows, c.d}))
	a := &lower.Append{PastRows: graph.Known(c.past), Kept: graph.Known(c.past), DType: c.dtype, Room: graph.Known(c.room)}
	return wordsOf(t, b, func() error {
		_, err := b.Append(lower.Heads{HeadRows: h, DType: c.xType}, a)
		return err
	})
}
