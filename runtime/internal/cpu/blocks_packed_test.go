package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBlocksPanels packs blocks of every type for every kernel, and compares products
// to sums of products in float64. Weights are packed in one piece and in several. All kernels give
// the same bits for rounded rows.
func TestBlocksPanels(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(57, 58))
	for _, of := range packed.BlockTypes {
		for i, m := range []int{1, 3, 6, 12, 26, 131} {
			n, k := []int{1, 7, 33, 70, 17, 9}[i], []int{1, 3, 9, 11, 2, 5}[i]*of.Elements
			x := cases.NewSource(fmt.Sprint(of.Name, m)).Any(tensor.OfBlocks(of), n, k)
			a, bias := quarters(r, m*k), quarters(r, n)
			for _, op := range []string{"i8_block_panels", "f32_block_panels"} {
				checkPanels(t, op, of, x, m, a, bias, pool)
			}
		}
	}
}

// checkPanels compares the variants of an op.
func checkPanels(t *testing.T, op string, of *packed.Blocks, x *tensor.Tensor, m int, a, bias []float64, pool *bindings.Pool) {
	t.Helper()
	n, k := x.Shape()[0], x.Shape()[1]
	values := make([]float32, x.Len())
	of.Unpack(values, x.Bytes())
	rows := a
	if op == "i8_block_panels" {
		rows = roundRows(a, k, 32)
	}
	var same []float64
	for _, kern := range runnable(t, op) {
		v := &panelsWords{m: graph.Known(m), n: n, k: k, of: of, gemm: partOf(t, "f32_gemm", kern.ISA())}
		list := numbersOf(t, v.words())
		if !kern.Fits(list) {
			continue
		}
		data, intact := guardedBytes(kern.Packed(list, panelsBlocks), 64)
		cut := blockPieces(kern, list, x)
		cut.step = kern.Panel()
		if err := cut.each(x, data, 1+m%3); err != nil || !intact() {
			t.Fatal(kern.Variant(), err, intact())
		}
		c := runGuarded(t, kern, v.words(), pool, m*n*4, 4, stored(tensor.F32, a), data, nil, nil, stored(tensor.F32, bias))
		got := loaded(tensor.F32, c)
		for i := range got {
			j := i % n
			want, size := bias[j], math.Abs(bias[j])
			for p := range k {
				y := rows[i/n*k+p] * float64(values[j*k+p])
				want, size = want+y, size+math.Abs(y)
			}
			if !(math.Abs(got[i]-want) <= 3e-6*size) {
				t.Fatalf("%s, %s, %d rows by %d columns of %d: element %d is %v, not %v", kern.Variant(), of.Name, m, n, k, i, got[i], want)
			}
			if op == "i8_block_panels" && same != nil && got[i] != same[i] {
				t.Fatalf("%s, %s: element %d is %v, and %v on another level", kern.Variant(), of.Name, i, got[i], same[i])
			}
		}
		same = got
	}
	if same == nil {
		t.Fatalf("no variant of %s fits %d rows", op, m)
	}
}

// TestBlocksPanelsLanes packs blocks of every type that has panels for every kernel, and compares the
// bytes of each lane to the scalar kernel's for its row alone. Lanes without a row are 0.
func TestBlocksPanelsLanes(t *testing.T) {
	t.Parallel()
	// The words of codes, and the numbers of 16 and of 8 bits, of a lane in a slab.
	forms := map[string][3]int{
		"q4_0": {4, 1, 0}, "q4_1": {4, 2, 0}, "q5_0": {5, 1, 0}, "q5_1": {5, 2, 0}, "q8_0": {8, 1, 0},
		"q2_k": {16, 2, 16}, "q3_k": {24, 1, 16}, "q4_k": {32, 2, 16}, "q5_k": {40, 2, 16}, "q6_k": {48, 1, 16},
		"iq2_xxs": {24, 1, 8}, "iq2_xs": {24, 1, 16}, "iq2_s": {24, 1, 16}, "iq3_xxs": {32, 1, 8}, "iq3_s": {32, 1, 8},
		"iq4_nl": {4, 1, 0}, "iq4_xs": {32, 1, 8}, "tq2_0": {16, 1, 0}, "mxfp4": {4, 1, 0}, "nvfp4": {8, 0, 4}, "q2_0": {4, 1, 0},
		"iq1_s": {24, 1, 8}, "iq1_m": {24, 1, 16}, "tq1_0": {16, 1, 0}, "q1_0": {4, 1, 0},
	}
	for _, of := range packed.BlockTypes {
		form, ok := forms[of.Name]
		if !ok {
			t.Errorf("no form of %s", of.Name)
			continue
		}
		for _, op := range []string{"i8_block_panels", "f32_block_panels"} {
			kernels := runnable(t, op)
			scalar := kernels[len(kernels)-1]
			for _, n := range []int{7, 33} {
				const blocks = 11
				x := cases.NewSource(fmt.Sprint(of.Name, op, n)).Any(tensor.OfBlocks(of), n, blocks*of.Elements)
				wants, row := make([][]byte, n), len(x.Bytes())/n
				for j := range wants {
					wants[j] = laneOf(form, blocks, scalar.Panel(), 0, packRows(t, scalar, of, x.Bytes()[j*row:][:row], 1))
				}
				for _, kern := range kernels {
					all := packRows(t, kern, of, x.Bytes(), n)
					for j := range (n + kern.Panel() - 1) / kern.Panel() * kern.Panel() {
						want := make([]byte, blocks*(4*form[0]+2*form[1]+form[2]))
						if j < n {
							want = wants[j]
						}
						if got := laneOf(form, blocks, kern.Panel(), j, all); !bytes.Equal(got, want) {
							t.Fatalf("%s, %s, %d rows: row %d is packed as %x, not %x", kern.Variant(), of.Name, n, j, got, want)
						}
					}
				}
			}
		}
	}
}

// packRows packs n rows of blocks, into memory that is not 0 before.
func packRows(t *testing.T, kern bindings.Kernel, of *packed.Blocks, rows []byte, n int) []byte {
	t.Helper()
	v := &panelsWords{m: graph.Known(1), n: n, k: len(rows) / n / of.Bytes * of.Elements, of: of}
	list := numbersOf(t, v.words())
	data, intact := guardedBytes(kern.Packed(list, panelsBlocks), 64)
	for i := range data {
		data[i] = 0xa5
	}
	// At an odd address: blocks need no alignment.
	src := append(make([]byte, 1, 1+len(rows)), rows...)[1:]
	kern.Pack(list, panelsBlocks, src, data)
	if !intact() {
		t.Fatalf("%s writes beside its panels", kern.Variant())
	}
	return data
}

// laneOf returns the bytes of row j in all slabs of its panel.
func laneOf(form [3]int, slabs, lanes, j int, panels []byte) []byte {
	slab := lanes * (4*form[0] + 2*form[1] + form[2])
	at := panels[j/lanes*((slabs*slab+63)/64*64):]
	var list []byte
	for range slabs {
		for part, size := range []int{4, 2, 1} {
			for range form[part] {
				list = append(list, at[j%lanes*size:][:size]...)
				at = at[lanes*size:]
			}
		}
	}
	return list
}
