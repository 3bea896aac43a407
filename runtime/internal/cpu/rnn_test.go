package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rnnCase is a network and its operands; one left out is nil.
type rnnCase struct {
	recurrent
	in      [8][]float64 // without lengths
	lengths []byte
	outs    [3]int // elements of y, y_h and y_c
}

// rnnFunctions lists the activations of recurrent networks.
func rnnFunctions() (list []string) {
	for _, a := range kit.Activations() {
		if a.Of != nil {
			list = append(list, a.Name)
		}
	}
	return list
}

var boundedFunctions = []string{"Tanh", "Sigmoid", "ScaledTanh", "HardSigmoid", "Softsign"}

// randomRNN draws attributes and operands for given extents.
func randomRNN(r *rand.Rand, gates, steps, batch, input, hidden int) *rnnCase {
	coin := func() bool { return r.IntN(2) == 0 }
	o := &nn.Recurrent{Gates: gates, Directions: 1 + r.IntN(2), BatchFirst: coin()}
	o.Reverse = o.Directions == 1 && coin()
	o.Linear = gates == 3 && coin()
	clip := float32(math.Inf(1))
	if coin() {
		clip = 0.3 + r.Float32()
	}
	forget := gates == 4 && coin()
	for d := range o.Cells {
		o.Cells[d] = nn.RecurrentCell{Clip: clip, InputForget: forget,
			Functions: [3]nn.RecurrentFunction{{Name: "Sigmoid"}, {Name: "Tanh"}, {Name: "Tanh"}}}
		if gates == 1 {
			o.Cells[d].Functions[0].Name = "Tanh"
		}
		if !coin() {
			continue
		}
		names := boundedFunctions
		if steps < 5 { // others may grow without bound
			names = rnnFunctions()
		}
		for i := range o.Cells[d].Functions {
			o.Cells[d].Functions[i] = nn.RecurrentFunction{Name: names[r.IntN(len(names))], Alpha: r.Float32(),
				Beta: r.Float32() / 2}
		}
	}
	c := &rnnCase{recurrent: recurrent{Recurrent: o, steps: graph.Known(steps), batch: graph.Known(batch),
		input: graph.Known(input), hidden: graph.Known(hidden)}}
	width, states := gates*hidden, o.Directions*batch*hidden
	numbers := func(n int, scale float64) []float64 { return rounded(tensor.F32, normals(r, n, 0, scale)) }
	c.in[0] = numbers(steps*batch*input, 0.4)
	c.in[1] = numbers(o.Directions*width*input, 0.4/math.Sqrt(float64(input)))
	c.in[2] = numbers(o.Directions*width*hidden, 0.4/math.Sqrt(float64(hidden)))
	if coin() {
		c.in[3] = numbers(o.Directions*2*width, 0.2)
	}
	if coin() {
		c.in[5] = numbers(states, 0.4)
	}
	if gates == 4 && coin() {
		c.in[6] = numbers(states, 0.4)
	}
	if gates == 4 && coin() {
		c.in[7] = numbers(o.Directions*3*hidden, 0.2)
	}
	if coin() {
		c.lengths, _ = guardedBytes(4*batch, 4)
		for b := range batch {
			viewAs[int32](c.lengths)[b] = int32(r.IntN(steps + 1))
		}
	}
	c.outs = [3]int{steps * states, states, 0}
	if gates == 4 {
		c.outs[2] = states
	}
	return c
}

// operands returns the inputs with elements of type d.
func (c *rnnCase) operands(d tensor.DType) [][]byte {
	list := make([][]byte, 11)
	for i, x := range c.in {
		list[i] = stored(d, x)
	}
	list[4] = c.lengths
	return list
}

func (c *rnnCase) outputs(d tensor.DType) (list []output) {
	for i, n := range c.outs {
		if i < 2 || n > 0 {
			list = append(list, output{at: 8 + i, dtype: d, n: n})
		}
	}
	return list
}

// check runs a kernel with plain and packed weights.
func (c *rnnCase) check(
	t *testing.T, pool *bindings.Pool, k, gemm bindings.Kernel, d tensor.DType, want []float64, tolerance float64,
) {
	t.Helper()
	c.dtype, c.gemm, c.packed = d, gemm, [2]bool{}
	if !k.Fits(numbersOf(t, c.words())) {
		return
	}
	in := c.operands(d)
	plain := runOutputs(t, k, c.words(), pool, c.outputs(d), in...)
	if i := differ(plain, want, tolerance, tolerance); i >= 0 {
		t.Fatalf("%s %s %+v of %v: element %d is %v, not %v", k.Variant(), gemm.Variant(), c.Recurrent, d, i, plain[i],
			want[i])
	}
	for i := range c.packed {
		n := k.Packed(numbersOf(t, c.words()), 1+i)
		if n == 0 || len(in[1+i]) == 0 {
			continue
		}
		dst := bindings.Alloc(n)
		defer bindings.Free(dst)
		k.Pack(numbersOf(t, c.words()), 1+i, in[1+i], dst)
		in[1+i], c.packed[i] = dst, true
	}
	packed := runOutputs(t, k, c.words(), pool, c.outputs(d), in...)
	if i := differ(packed, plain, 0, 0); i >= 0 {
		t.Fatalf("%s %+v of %v: packed weights give another element %d", k.Variant(), c.Recurrent, d, i)
	}
}

// checkRounded compares a network of 16-bit floats to one of float32 with the same numbers.
func (c *rnnCase) checkRounded(t *testing.T, pool *bindings.Pool, k, gemm bindings.Kernel, d tensor.DType) {
	t.Helper()
	for i, x := range c.in {
		if x != nil {
			c.in[i] = rounded(d, x)
		}
	}
	c.dtype, c.gemm, c.packed = tensor.F32, gemm, [2]bool{}
	want := runOutputs(t, k, c.words(), pool, c.outputs(tensor.F32), c.operands(tensor.F32)...)
	c.check(t, pool, k, gemm, d, rounded(d, want), 0)
}

// TestRNN compares networks of float32 to float64, and networks of 16-bit floats to float32.
func TestRNN(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(31, 32))
	shapes := [][4]int{{1, 1, 1, 1}, {3, 1, 5, 4}, {5, 2, 3, 17}, {4, 3, 8, 33}, {2, 5, 7, 16}, {7, 16, 2, 9}, {0, 2, 3, 5}, {70, 1, 3, 8},
		{3, 40, 4, 20}, {70, 16, 5, 64}, {3, 2, 20, 310}, {40, 1, 9, 130}}
	if testing.Short() {
		shapes = shapes[:9]
	}
	kernels, gemms := runnable(t, "f32_rnn"), parts(t, "f32_gemm")
	scalar, scalarGemm := kernels[len(kernels)-1], gemms[len(gemms)-1]
	for _, s := range shapes {
		for _, gates := range []int{1, 3, 4} {
			for range 4 {
				c := randomRNN(r, gates, s[0], s[1], s[2], s[3])
				want := runOutputs(t, runnable(t, "f64_rnn")[0], c.words(), pool, c.outputs(tensor.F64), c.operands(tensor.F64)...)
				for _, k := range kernels {
					c.check(t, pool, k, scalarGemm, tensor.F32, want, 2e-5)
				}
				for _, g := range gemms {
					c.check(t, pool, scalar, g, tensor.F32, want, 2e-5)
				}
				for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
					c.checkRounded(t, pool, kernels[0], tilesOf(t), d)
				}
			}
		}
	}
}

// TestRNNFunctions gives every function numbers at its edges, and clips some of them.
func TestRNNFunctions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(33, 34))
	inf := math.Inf(1)
	values := append([]float64{0, math.Copysign(0, -1), inf, -inf, math.NaN(), 1, -1, 0.75, -0.75, 2.5, -2.5, 1e-45, -1e-40, 20, -20, 88, -88, 1e30, -1e30},
		normals(r, 200, 0, 2)...)
	n := len(values)
	for _, name := range rnnFunctions() {
		for _, clip := range []float64{inf, 2.5} {
			o := &nn.Recurrent{Gates: 1, Directions: 1}
			o.Cells[0] = nn.RecurrentCell{Clip: float32(clip),
				Functions: [3]nn.RecurrentFunction{{Name: name, Alpha: 0.75, Beta: 1.5}}}
			one := graph.Known(1)
			net := recurrent{Recurrent: o, steps: one, batch: one, input: one, hidden: graph.Known(n), gemm: tilesOf(t)}
			in := make([][]byte, 11)
			in[0], in[1], in[2] = stored(tensor.F32, []float64{1}), stored(tensor.F32, values),
				stored(tensor.F32, make([]float64, n*n))
			checkVariants(t, "f32_rnn", fmt.Sprint(name, clip), net.words(), pool, 2e-7, 6e-7,
				[]output{{at: 9, dtype: tensor.F32, n: n}}, in...)
		}
	}
}

// TestRNNLengths checks that runs fail on sequence lengths out of range.
func TestRNNLengths(t *testing.T) {
	testPool(t)
	r := rand.New(rand.NewPCG(37, 38))
	for _, length := range []int32{-1, 4} {
		c := randomRNN(r, 4, 3, 2, 5, 6)
		c.gemm = tilesOf(t)
		for _, name := range []string{"f32_rnn", "f64_rnn"} {
			d := map[string]tensor.DType{"f32_rnn": tensor.F32, "f64_rnn": tensor.F64}[name]
			for _, k := range runnable(t, name) {
				in := slices.Clone(c.operands(d))
				in[4], _ = guardedBytes(8, 4)
				copy(viewAs[int32](in[4]), []int32{3, length})
				f, failed := runCommand(t, k, c.words(), nil, in...)
				if !failed || f.Args[0] != 1 || f.Args[1] != int(length) || f.Args[2] != 3 {
					t.Errorf("%s: length %d of 3 steps: %v, %v", name, length, failed, f)
				}
			}
		}
	}
}
