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

// rnnCase is a network of doubles and what it gives.
type rnnCase struct {
	RNNF64
	name string
}

var (
	boundedFunctions = []RNNActivation{RNNTanh, RNNSigmoid, RNNScaledTanh, RNNHardSigmoid, RNNSoftsign}
	allFunctions     = append(slices.Clone(boundedFunctions), RNNRelu, RNNAffine, RNNLeakyRelu, RNNThresholdedRelu, RNNElu, RNNSoftplus)
)

func doubleFloats(list []float32) []float64 {
	if list == nil {
		return nil
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

func singleFloats(list []float64) []float32 {
	if list == nil {
		return nil
	}
	out := make([]float32, len(list)+1)[1:] // at an odd address
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}

// randomRNN draws what is not in the extents: attributes and operands, numbers
// that floats hold.
func randomRNN(r *rand.Rand, gates, steps, batch, input, hidden int) *rnnCase {
	coin := func() bool { return r.IntN(2) == 0 }
	c := &rnnCase{}
	c.RNN = RNN{Gates: gates, Steps: steps, Batch: batch, Input: input, Hidden: hidden, Directions: 1 + r.IntN(2), BatchFirst: coin()}
	c.Reverse = c.Directions == 1 && coin()
	c.Linear = gates == 3 && coin()
	for d := range c.Cells {
		cell := &c.Cells[d]
		cell.Functions = [3]RNNFunction{{Kind: RNNSigmoid}, {Kind: RNNTanh}, {Kind: RNNTanh}}
		if gates == 1 {
			cell.Functions[0].Kind = RNNTanh
		}
		if coin() {
			kinds := boundedFunctions
			if steps < 5 { // the others may grow without bound
				kinds = allFunctions
			}
			for i := range cell.Functions {
				cell.Functions[i] = RNNFunction{kinds[r.IntN(len(kinds))], r.Float32(), r.Float32() / 2}
			}
		}
		cell.Clip = inf32
		if coin() {
			cell.Clip = 0.3 + r.Float32()
		}
		cell.InputForget = gates == 4 && coin()
	}
	numbers := func(n int, scale float32) []float64 {
		list := randomFloats(r, n)
		for i := range list {
			list[i] *= scale
		}
		return doubleFloats(list)
	}
	width, states := gates*hidden, c.Directions*batch*hidden
	c.X = numbers(steps*batch*input, 0.2)
	c.W = numbers(c.Directions*width*input, float32(0.2/math.Sqrt(float64(input))))
	c.R = numbers(c.Directions*width*hidden, float32(0.2/math.Sqrt(float64(hidden))))
	if coin() {
		c.Bias = numbers(c.Directions*2*width, 0.1)
	}
	if gates == 4 && coin() {
		c.Peepholes = numbers(c.Directions*3*hidden, 0.1)
	}
	if coin() {
		c.H0 = numbers(states, 0.2)
	}
	if gates == 4 && coin() {
		c.C0 = numbers(states, 0.2)
	}
	if coin() && batch > 0 {
		c.Lengths = make([]int32, batch)
		for b := range c.Lengths {
			c.Lengths[b] = int32(r.IntN(steps + 1))
		}
	}
	c.Y, c.YH = make([]float64, steps*states), make([]float64, states)
	if gates == 4 {
		c.YC = make([]float64, states)
	}
	c.name = fmt.Sprintf("%d gates %d×%d×%d→%d, %d directions, reverse %v, batch first %v, linear %v, lengths %v, %v", gates, steps, batch,
		input, hidden, c.Directions, c.Reverse, c.BatchFirst, c.Linear, c.Lengths, c.Cells)
	return c
}

// single is the network with floats, its outputs in one list.
func (c *rnnCase) single(gemm, cell Kernel, out []float32) *RNNF32 {
	n := &RNNF32{RNN: c.RNN, Gemm: gemm, Cell: cell, Bias: singleFloats(c.Bias), Peepholes: singleFloats(c.Peepholes),
		H0: singleFloats(c.H0), C0: singleFloats(c.C0)}
	x := singleFloats(c.X)
	n.X = unsafe.Pointer(unsafe.SliceData(x))
	width := c.Gates * c.Hidden
	n.W = packEach(gemm, singleFloats(c.W), c.Directions, width, c.Input)
	n.R = packEach(gemm, singleFloats(c.R), c.Directions*c.Gates, c.Hidden, c.Hidden)
	n.Y, n.YH, n.YC = out[:len(c.Y)], out[len(c.Y):][:len(c.YH)], nil
	if c.YC != nil {
		n.YC = out[len(c.Y)+len(c.YH):]
	}
	return n
}

// packEach packs that many matrices of [n,k], transposed.
func packEach(k Kernel, list []float32, count, n, depth int) []float32 {
	size := k.PackedB(n, depth)
	out := make([]float32, count*size)
	for i := range count {
		to := unsafe.Slice((*byte)(unsafe.Pointer(&out[i*size])), 4*size)
		k.PackB(n, depth, Operand{Row: 1, Col: depth}, unsafe.Pointer(&list[i*n*depth]), to)
	}
	return out
}

func (c *rnnCase) check(t *testing.T, gemm, cell Kernel, pool *Pool) {
	t.Helper()
	want := slices.Concat(c.Y, c.YH, c.YC)
	var first []float32
	for _, p := range []*Pool{nil, pool} {
		got, intact := guardedFloats(len(want))
		n := c.single(gemm, cell, got)
		scratch := Alloc(4 * n.Scratch(p))
		for i := range scratch {
			scratch[i] = 0xff // floats that are no numbers
		}
		n.Run(p, unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(scratch))), len(scratch)/4))
		Free(scratch)
		if !intact() {
			t.Fatalf("%s: wrote outside", c.name)
		}
		for i, w := range want {
			if !(math.Abs(float64(got[i])-w) <= 2e-5+2e-5*math.Abs(w)) {
				t.Fatalf("%s: element %d is %v, not %v", c.name, i, got[i], w)
			}
		}
		if first != nil && !slices.Equal(first, got) {
			t.Fatalf("%s: depends on the number of threads", c.name)
		}
		first = got
	}
}

// TestRNNVariants compares networks of floats with those of doubles.
func TestRNNVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	pool := newTestPool(t)
	shapes := [][4]int{{1, 1, 1, 1}, {3, 1, 5, 4}, {5, 2, 3, 17}, {4, 3, 8, 33}, {2, 5, 7, 16}, {7, 16, 2, 9}, {0, 2, 3, 5}, {70, 1, 3, 8},
		{3, 40, 4, 20}, {70, 16, 5, 64}, {3, 2, 20, 310}}
	if testing.Short() {
		shapes = shapes[:9]
	}
	for _, s := range shapes {
		for _, gates := range []int{1, 3, 4} {
			for range 6 {
				c := randomRNN(r, gates, s[0], s[1], s[2], s[3])
				c.Run(pool, make([]float64, c.Scratch(pool)))
				for _, cell := range usable(t, "f32_rnn_cell") {
					c.check(t, scalarOf(t, "f32_gemm"), cell, pool)
				}
				for _, gemm := range usable(t, "f32_gemm") {
					c.check(t, gemm, scalarOf(t, "f32_rnn_cell"), pool)
				}
			}
		}
	}
}

// TestRNNFunctions gives every function numbers at which it has edges, and clips
// some of them.
func TestRNNFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	values := append(slices.Clone(specials), randomFloats(r, 200)...)
	n := len(values)
	gemm := scalarOf(t, "f32_gemm")
	one := []float32{1}
	for kind := RNNRelu; kind <= RNNSoftplus; kind++ {
		for _, clip := range []float32{inf32, 2.5} {
			run := func(cell Kernel, out []float32) {
				net := RNNF32{RNN: RNN{Gates: 1, Steps: 1, Batch: 1, Input: 1, Hidden: n, Directions: 1}, Gemm: gemm, Cell: cell,
					X: unsafe.Pointer(&one[0]), W: packEach(gemm, values, 1, n, 1), R: packEach(gemm, make([]float32, n*n), 1, n, n), YH: out}
				net.Cells[0] = RNNCell{Functions: [3]RNNFunction{{kind, 0.75, 1.5}}, Clip: clip}
				net.Run(nil, make([]float32, net.Scratch(nil)))
			}
			want := make([]float32, n)
			run(scalarOf(t, "f32_rnn_cell"), want)
			for _, cell := range usable(t, "f32_rnn_cell") {
				got, intact := guardedFloats(n)
				run(cell, got)
				for i := range got {
					if !within(float64(got[i]), float64(want[i]), 4, 2e-7) {
						t.Errorf("%s: function %d of %g, clip %g, is %g, not %g", cell.Variant(), kind, values[i], clip, got[i], want[i])
					}
				}
				if !intact() {
					t.Errorf("%s: wrote outside", cell.Variant())
				}
			}
		}
	}
}

// TestRNNHalf reads inputs of 16 bits.
func TestRNNHalf(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	gemm, cell := best(t, "f32_gemm"), scalarOf(t, "f32_rnn_cell")
	for _, ft := range []FloatType{Float16, BFloat16} {
		c := randomRNN(r, 4, 3, 2, 5, 6)
		x := singleFloats(c.X)
		roundFloats(x, ft)
		c.X = doubleFloats(x)
		want, got := make([]float32, len(c.Y)+2*len(c.YH)), make([]float32, len(c.Y)+2*len(c.YH))
		a, b := c.single(gemm, cell, want), c.single(gemm, cell, got)
		b.X, b.XType = stored(x, ft), ft
		a.Run(nil, make([]float32, a.Scratch(nil)))
		b.Run(nil, make([]float32, b.Scratch(nil)))
		if !slices.Equal(got, want) {
			t.Errorf("type %d: %v, not %v", ft, got, want)
		}
	}
}
