package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBlockTypes compares the rows of csrc/blocks/types.inc with packed.BlockTypes.
func TestBlockTypes(t *testing.T) {
	text, err := os.ReadFile("../../../csrc/blocks/types.inc")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^NACRE_BLOCK_TYPE\((\w+), (\d+), (\d+)\)$`).FindAllStringSubmatch(string(text), -1)
	if len(rows) != len(packed.BlockTypes) {
		t.Fatalf("%d rows of %d types", len(rows), len(packed.BlockTypes))
	}
	for i, b := range packed.BlockTypes {
		if row := rows[i]; row[1] != b.Name || row[2] != strconv.Itoa(b.Elements) || row[3] != strconv.Itoa(b.Bytes) || blockType(b) != i {
			t.Errorf("row %d is %v, not %s of %d elements in %d bytes", i, row[1:], b.Name, b.Elements, b.Bytes)
		}
	}
}

// guardedBlocks returns a copy of data at an odd address, and the code book of b.
func guardedBlocks(b *packed.Blocks, data []byte) (blocks, book []byte) {
	blocks, _ = guardedBytes(len(data), 1)
	copy(blocks, data)
	return blocks, bookOf(b).Data
}

// TestUnpackBlocks compares blocks of every type that kernels unpack to packed.Blocks, bit by bit.
// Every byte has every value.
func TestUnpackBlocks(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(51, 52))
	for _, b := range packed.BlockTypes {
		const count = 2*256 + 3
		data := make([]byte, count*b.Bytes)
		for p := range b.Bytes {
			for block, value := range append(append(r.Perm(256), r.Perm(256)...), r.Perm(3)...) {
				data[block*b.Bytes+p] = byte(value)
			}
		}
		want := make([]float32, count*b.Elements)
		b.Unpack(want, data)
		blocks, book := guardedBlocks(b, data)
		var w words
		w.int(len(want), blockType(b))
		for _, k := range runnable(t, "unpack_blocks") {
			got := viewAs[float32](runGuarded(t, k, w, pool, 4*len(want), 4, blocks, book))
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
					t.Errorf("%s: element %d of %s is %g, want %g", k.Variant(), i, b.Name, got[i], want[i])
					break
				}
			}
		}
	}
}

// TestBlocks compares products with blocks of every type to sums of products in float64.
func TestBlocks(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(53, 54))
	for _, b := range packed.BlockTypes {
		for i, m := range []int{1, 3, 4, 6, 24, 25, 70} {
			n, k := []int{1, 7, 33, 70}[i%4], []int{1, 3, 9}[i%3]*b.Elements
			checkBlocks(t, &blocksWords{m: graph.Known(m), n: n, k: k, of: b, alpha: []float32{1, 0.5}[i%2]}, m, pool, r)
		}
	}
}

func checkBlocks(t *testing.T, v *blocksWords, m int, pool *bindings.Pool, r *rand.Rand) {
	t.Helper()
	x := cases.NewSource(fmt.Sprint(v.of.Name, m)).Any(tensor.OfBlocks(v.of), v.n, v.k)
	weights := make([]float32, x.Len())
	v.of.Unpack(weights, x.Bytes())
	a, bias := quarters(r, m*v.k), quarters(r, v.n)
	want, size := make([]float64, m*v.n), make([]float64, m*v.n)
	for i := range want {
		row, j := i/v.n, i%v.n
		for p := range v.k {
			y := a[row*v.k+p] * float64(weights[j*v.k+p]) * float64(v.alpha)
			want[i], size[i] = want[i]+y, size[i]+math.Abs(y)
		}
		want[i], size[i] = want[i]+bias[j], size[i]+math.Abs(bias[j])
	}
	blocks, book := guardedBlocks(v.of, x.Bytes())
	fit := 0
	for _, k := range runnable(t, "f32_blocks") {
		v.gemm = partOf(t, "f32_gemm", k.ISA())
		if !k.Fits(numbersOf(t, v.words())) {
			continue
		}
		fit++
		c := runGuarded(t, k, v.words(), pool, m*v.n*4, 4, stored(tensor.F32, a), blocks, book, stored(tensor.F32, bias))
		for i, got := range loaded(tensor.F32, c) {
			if !(math.Abs(got-want[i]) <= 1e-6*size[i]) {
				t.Fatalf("%s, %s, %d rows by %d columns of %d: element %d is %v, not %v", k.Variant(), v.of.Name, m, v.n, v.k, i, got, want[i])
			}
		}
	}
	if fit < 2 && m <= 24 {
		t.Fatalf("%d variants fit %d rows", fit, m)
	}
}
