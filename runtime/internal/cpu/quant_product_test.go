package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteCase is a product of codes, a of extents left by b of extents right.
type byteCase struct {
	left, right    []int
	aType, bType   tensor.DType
	aCount, bCount int // scales and zero points of a and of b; 0 for one scale, no zero point
	bias, add      bool

	a, b, aZero, bZero []byte
	aScale, bScale     []float64
	biases             []int
	adds               []float64
}

func byteCases(r *rand.Rand) []*byteCase {
	var list []*byteCase
	for _, s := range [][2][]int{
		{{1, 1}, {1, 1}}, {{3, 7}, {7, 5}}, {{2, 300}, {300, 130}}, {{17, 33}, {33, 65}}, {{64, 130}, {130, 96}}, {{29, 1}, {1, 17}},
		{{5, 0}, {0, 9}}, {{1, 600}, {600, 1300}}, {{2, 3, 4, 9}, {3, 9, 6}}, {{2, 5, 8}, {8, 11}}, {{4, 8}, {3, 8, 5}}, {{150, 260}, {260, 200}},
	} {
		for v := range 8 {
			c := &byteCase{left: s[0], right: s[1], aType: byteCodes[v&1], bType: byteCodes[v>>1&1], add: v&4 != 0,
				bias: v&4 != 0}
			m, n := s[0][len(s[0])-2], s[1][len(s[1])-1]
			switch {
			case v&4 != 0 && v&1 != 0:
				c.aCount, c.bCount = volume(s[0][:len(s[0])-1]), volume(s[1])/max(1, s[1][len(s[1])-2])
			case v&2 != 0:
				c.aCount, c.bCount = m, n
			case v != 0:
				c.aCount, c.bCount = 1, 1
			}
			if s[0][len(s[0])-1] == 0 && c.bCount > 0 {
				c.bCount = n
			}
			c.fill(r)
			list = append(list, c)
		}
	}
	return list
}

func (c *byteCase) fill(r *rand.Rand) {
	c.a, c.b = someBytes(r, volume(c.left)), someBytes(r, volume(c.right))
	if c.aCount > 0 {
		c.aZero, c.bZero = someBytes(r, c.aCount), someBytes(r, c.bCount)
	}
	for range max(1, c.aCount) {
		c.aScale = append(c.aScale, float64(1+r.IntN(15))/256)
	}
	for range max(1, c.bCount) {
		c.bScale = append(c.bScale, float64(1+r.IntN(15))/256)
	}
	n := c.right[len(c.right)-1]
	for range n {
		c.biases = append(c.biases, r.IntN(4000)-2000)
		c.adds = append(c.adds, float64(r.IntN(64)))
	}
}

func (c *byteCase) product() *lower.Product {
	dims := [2]graph.Dims{known(c.left...), known(c.right...)}
	return lower.ProductOf([2]arith.AxisOrder{}, dims, dims)
}

// sums computes the formula. For element i of the result, rows has its row among all matrices of a,
// and cols its column.
func (c *byteCase) sums() (sums []int32, rows, cols []int) {
	p := c.product()
	value := func(d graph.Dim) int { n, _ := d.Value(); return n }
	m, n, k := value(p.M), value(p.N), value(p.K)
	var list []int64
	for _, d := range (&byteProduct{Product: p}).words()[len((&byteProduct{Product: &lower.Product{}}).words()):] {
		list = append(list, int64(value(d)))
	}
	rank, count := len(list)/3, 1
	for _, x := range list[:rank] {
		count *= int(x)
	}
	for q := range count {
		left, right, index := 0, 0, q
		for d := rank - 1; d >= 0; d-- {
			left += index % int(list[d]) * int(list[rank+d])
			right += index % int(list[d]) * int(list[2*rank+d])
			index /= int(list[d])
		}
		for i := range m {
			for j := range n {
				row, col := i+left/max(1, k), j+right/max(1, k*n)*n
				sum := int32(0)
				for x := range k {
					u, v := codeOf(c.aType, c.a[left+i*k+x]), codeOf(c.bType, c.b[right+x*n+j])
					if c.aCount > 0 {
						u -= codeOf(c.aType, c.aZero[row%c.aCount])
						v -= codeOf(c.bType, c.bZero[col%c.bCount])
					}
					sum += int32(u * v)
				}
				if c.bias {
					sum += int32(c.biases[j])
				}
				sums, rows, cols = append(sums, sum), append(rows, row), append(cols, col)
			}
		}
	}
	return sums, rows, cols
}

func (c *byteCase) job(result tensor.DType) *byteProduct {
	g := &byteProduct{
		Product: c.product(), aSigned: c.aType == tensor.I8, bSigned: c.bType == tensor.I8, result: result, alpha: 0.5,
		aScale: quantNumbers{tensor.F32, graph.Known(len(c.aScale))}, bScale: quantNumbers{tensor.F32, graph.Known(len(c.bScale))},
		aZero: quantNumbers{c.aType, graph.Known(len(c.aZero))}, bZero: quantNumbers{c.bType, graph.Known(len(c.bZero))},
	}
	g.bStep = g.K.Mul(g.N)
	if c.bias {
		g.biasCol = graph.Known(1)
	}
	return g
}

func (c *byteCase) operands(right []byte) [][]byte {
	list := [][]byte{c.a, stored(tensor.F32, c.aScale), c.aZero, right, stored(tensor.F32, c.bScale), c.bZero,
		stored(tensor.F32, []float64{2}), {5}, nil, nil}
	if c.bias {
		list[8] = codesIn(tensor.I32, c.biases)
	}
	if c.add {
		list[9] = stored(tensor.F32, c.adds)
	}
	return list
}

// TestByteProducts compares products by lines and by tiles to the formula, with plain and packed
// right operands.
func TestByteProducts(t *testing.T) {
	pool := testPool(t)
	fits := map[string]bool{}
	for _, c := range byteCases(rand.New(rand.NewPCG(7, 8))) {
		t.Run(fmt.Sprint(c.left, c.right, c.aType, c.bType, c.aCount, c.bCount), func(t *testing.T) {
			sums, rows, cols := c.sums()
			for _, d := range []tensor.DType{tensor.I32, tensor.F32, tensor.U8, tensor.I8} {
				want := c.result(d, sums, rows, cols)
				for _, op := range []string{"i8_gemm", "i8_gemv"} {
					for _, k := range runnable(t, op) {
						fits[op] = c.check(t, pool, k, d, want) || fits[op]
					}
				}
			}
		})
	}
	if !fits["i8_gemm"] || !fits["i8_gemv"] {
		t.Errorf("a kernel fits no case: %v", fits)
	}
}

// result converts sums to results of type d.
func (c *byteCase) result(d tensor.DType, sums []int32, rows, cols []int) []byte {
	b := make([]byte, d.Bytes(len(sums)))
	n := c.right[len(c.right)-1]
	for i, s := range sums {
		if d == tensor.I32 {
			viewAs[int32](b)[i] = s
			continue
		}
		row, col, divisor := float32(1), float32(0.5), float32(2)
		if d == tensor.F32 {
			divisor = 1
		}
		if len(c.aScale) == 1 {
			col *= float32(c.aScale[0])
		} else {
			row = float32(c.aScale[rows[i]%len(c.aScale)])
		}
		col = col * float32(c.bScale[cols[i]%len(c.bScale)]) / divisor
		v := float32(float32(s) * (row * col))
		if d != tensor.F32 {
			b[i] = saturated(d, math.RoundToEven(float64(v))+5)
			continue
		}
		if c.add {
			v += float32(c.adds[i%n])
		}
		viewAs[float32](b)[i] = v
	}
	return b
}

// check compares a kernel to want. It reports whether the kernel fits.
func (c *byteCase) check(t *testing.T, pool *bindings.Pool, k bindings.Kernel, d tensor.DType, want []byte) bool {
	t.Helper()
	g := c.job(d)
	ops := c.operands(c.b)
	if d == tensor.F32 || d == tensor.I32 {
		ops[6], ops[7] = nil, nil
	}
	if d == tensor.I32 {
		ops[1], ops[4] = nil, nil
		g.aScale, g.bScale = quantNumbers{}, quantNumbers{}
	}
	if !k.Fits(numbersOf(t, g.words())) {
		return false
	}
	if got := runGuarded(t, k, g.words(), pool, len(want), d.Bytes(1), ops...); !bytes.Equal(got, want) {
		t.Fatalf("%s/%s of %v: wrong", k.Op(), k.Variant(), d)
	}
	form := numbersOf(t, g.forPacking(false))
	n := k.Packed(form, byteRight)
	if n == 0 || len(c.b) == 0 {
		return true
	}
	right := bindings.Alloc(n)
	defer bindings.Free(right)
	k.Pack(form, byteRight, c.b, right)
	if err := g.pack(&binder{Binding: &device.Binding{}}, k); err != nil {
		t.Fatal(err)
	}
	ops[3] = right
	if got := runGuarded(t, k, g.words(), pool, len(want), d.Bytes(1), ops...); !bytes.Equal(got, want) {
		t.Fatalf("%s/%s of %v, packed: wrong", k.Op(), k.Variant(), d)
	}
	return true
}
