package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// quantizedWhole quantizes floats as DynamicQuantizeLinear does.
func quantizedWhole(x []float32) (codes []byte, scale float32, zero int32) {
	low, high := float32(0), float32(0)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	if scale = (high - low) / 255; high == low {
		scale = 1 / float32(255)
	}
	zero = int32(math.RoundToEven(float64(min(max(-low/scale, 0), 255))))
	codes = make([]byte, len(x))
	for i, v := range x {
		codes[i] = byte(min(max(math.RoundToEven(float64(v/scale))+float64(zero), 0), 255))
	}
	return codes, scale, zero
}

// byteLSTMCase is a layer and its operands.
type byteLSTMCase struct {
	byteLSTM
	steps, batch, input, hidden, width int
	in                                 [15][]byte
}

func randomByteLSTM(r *rand.Rand, i int) *byteLSTMCase {
	c := &byteLSTMCase{steps: 1 + i%5, batch: []int{1, 3, 17}[i%3], input: 1 + i, hidden: 5 + 7*i}
	c.width = 4 * c.hidden
	o := &nn.Recurrent{Gates: 4, Directions: 1 + i%2, Reverse: i%4 == 2}
	for d := range o.Cells {
		o.Cells[d] = nn.RecurrentCell{Clip: float32(math.Inf(1)),
			Functions: [3]nn.RecurrentFunction{{Name: "Sigmoid"}, {Name: "Tanh"}, {Name: "Tanh"}}}
	}
	c.recurrent = recurrent{Recurrent: o, steps: graph.Known(c.steps), batch: graph.Known(c.batch),
		input: graph.Known(c.input), hidden: graph.Known(c.hidden)}
	c.signed = [2]bool{i%2 != 0, i%2 != 0}
	floats := func(n int, low, high float64) []byte {
		list := make([]float64, n)
		for i := range list {
			list[i] = low + (high-low)*r.Float64()
		}
		return stored(tensor.F32, list)
	}
	codes := func(n int) []byte {
		b, _ := guardedBytes(n, 1)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	dirs, states := o.Directions, o.Directions*c.batch*c.hidden
	c.in[0], c.in[1], c.in[2] = floats(c.steps*c.batch*c.input, -4, 4), codes(dirs*c.input*c.width),
		codes(dirs*c.hidden*c.width)
	c.in[3], c.in[5], c.in[6], c.in[7] = floats(dirs*2*c.width, -4, 4), floats(states, -4, 4), floats(states, -4, 4),
		floats(dirs*3*c.hidden, -4, 4)
	c.in[4], _ = guardedBytes(4*c.batch, 4)
	for b := range c.batch {
		viewAs[int32](c.in[4])[b] = int32(r.IntN(c.steps + 1))
	}
	for k := range c.scales {
		n := dirs
		if i%3 != 0 {
			n *= c.width
		}
		c.scales[k], c.zeros[k] = graph.Known(n), graph.Known(n)
		c.in[11+2*k], c.in[12+2*k] = floats(n, 0.001, 0.002), codes(n)
	}
	return c
}

func (c *byteLSTMCase) outputs() []output {
	states := c.Directions * c.batch * c.hidden
	return []output{{at: 8, dtype: tensor.F32, n: c.steps * states}, {at: 9, dtype: tensor.F32, n: states},
		{at: 10, dtype: tensor.F32, n: states}}
}

// weights returns the numbers that a direction's codes stand for: weights of x (0) or of the states
// (1).
func (c *byteLSTMCase) weights(which, dir, depth int) []float64 {
	scales, zeros := viewAs[float32](c.in[11+2*which]), c.in[12+2*which]
	number := func(b byte) float64 {
		if c.signed[which] {
			return float64(int8(b))
		}
		return float64(b)
	}
	list := make([]float64, depth*c.width)
	for i := range list {
		at := (dir*c.width + i%c.width) * len(zeros) / (c.Directions * c.width)
		list[i] = (number(c.in[1+which][dir*len(list)+i]) - number(zeros[at])) * float64(scales[at])
	}
	return list
}

// numbersOfWhole returns the numbers that the codes of x stand for.
func numbersOfWhole(x []float32) []float64 {
	codes, scale, zero := quantizedWhole(x)
	list := make([]float64, len(codes))
	for i, q := range codes {
		list[i] = float64(int32(q)-zero) * float64(scale)
	}
	return list
}

// formula returns y, y_h and y_c.
func (c *byteLSTMCase) formula() []float64 {
	lengths, bias, peepholes := viewAs[int32](c.in[4]), loaded(tensor.F32, c.in[3]), loaded(tensor.F32, c.in[7])
	y := make([]float64, c.steps*c.Directions*c.batch*c.hidden)
	h, cells := loaded(tensor.F32, c.in[5]), loaded(tensor.F32, c.in[6])
	longest := int(slices.Max(lengths))
	x := numbersOfWhole(viewAs[float32](c.in[0])[:longest*c.batch*c.input])
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for d := range c.Directions {
		w, rec := c.weights(0, d, c.input), c.weights(1, d, c.hidden)
		for s := range longest {
			states := make([]float32, c.batch*c.hidden)
			for i := range states {
				// The last state of a sequence that has ended counts in one more range.
				if s <= int(lengths[i/c.hidden]) {
					states[i] = float32(h[d*len(states)+i])
				}
			}
			state := numbersOfWhole(states)
			for b := range c.batch {
				if s >= int(lengths[b]) {
					continue
				}
				at := s
				if d == 1 || c.Reverse {
					at = int(lengths[b]) - 1 - s
				}
				sum := func(j int) float64 {
					v := bias[d*2*c.width+j] + bias[(d*2+1)*c.width+j]
					for p := range c.input {
						v += x[(at*c.batch+b)*c.input+p] * w[p*c.width+j]
					}
					for p := range c.hidden {
						v += state[b*c.hidden+p] * rec[p*c.width+j]
					}
					return v
				}
				for i := range c.hidden {
					k := (d*c.batch+b)*c.hidden + i
					p := func(gate int) float64 { return peepholes[(d*3+gate)*c.hidden+i] }
					in, forget := sigmoid(sum(i)+p(0)*cells[k]), sigmoid(sum(2*c.hidden+i)+p(2)*cells[k])
					cells[k] = forget*cells[k] + in*math.Tanh(sum(3*c.hidden+i))
					h[k] = sigmoid(sum(c.hidden+i)+p(1)*cells[k]) * math.Tanh(cells[k])
					y[((at*c.Directions+d)*c.batch+b)*c.hidden+i] = h[k]
				}
			}
		}
	}
	return slices.Concat(y, h, cells)
}

// pack packs the weights for a kernel.
func (c *byteLSTMCase) pack(t *testing.T, k bindings.Kernel, in [][]byte) {
	list := numbersOf(t, c.words())
	for i := range c.packed {
		n := k.Packed(list, 1+i)
		if n == 0 {
			continue
		}
		dst := bindings.Alloc(n)
		t.Cleanup(func() { bindings.Free(dst) })
		k.Pack(list, 1+i, in[1+i], dst)
		in[1+i], c.packed[i] = dst, true
	}
}

// TestByteLSTM compares layers to the formula, with plain and packed weights. The tolerance allows
// a state to round to another code.
func TestByteLSTM(t *testing.T) {
	const tolerance = 5e-3
	pool, r := testPool(t), rand.New(rand.NewPCG(15, 16))
	kernels, fitted := runnable(t, "i8_lstm"), map[string]bool{}
	for i := range 24 {
		c := randomByteLSTM(r, i)
		want := c.formula()
		for _, c.gemm = range runnable(t, "i8_gemm") {
			for _, c.cell = range runnable(t, "f32_rnn_cell") {
				for _, c.quantize = range runnable(t, "f32_quantize") {
					in := slices.Clone(c.in[:])
					c.packed = [2]bool{}
					var plain []float64
					for _, k := range kernels {
						if !k.Fits(numbersOf(t, c.words())) {
							continue
						}
						fitted[k.Variant()] = true
						plain = runOutputs(t, k, c.words(), pool, c.outputs(), in...)
						if at := differ(plain, want, tolerance, 0); at >= 0 {
							t.Fatalf("case %d, %s %s %s %s: element %d is %g, not %g",
								i, k.Variant(), c.gemm.Variant(), c.quantize.Variant(), c.cell.Variant(), at, plain[at], want[at])
						}
					}
					k := kernels[len(kernels)-1]
					c.pack(t, k, in)
					packed := runOutputs(t, k, c.words(), pool, c.outputs(), in...)
					if at := differ(packed, plain, 0, 0); at >= 0 {
						t.Fatalf("case %d, %s: packed weights give another element %d", i, c.gemm.Variant(), at)
					}
				}
			}
		}
	}
	if len(fitted) != len(kernels) {
		t.Errorf("a kernel fits no case: %v", fitted)
	}
}

// TestByteLSTMLengths checks that runs fail on sequence lengths out of range.
func TestByteLSTMLengths(t *testing.T) {
	testPool(t)
	c := randomByteLSTM(rand.New(rand.NewPCG(17, 18)), 4)
	c.gemm, c.cell, c.quantize = runnable(t, "i8_gemm")[0], runnable(t, "f32_rnn_cell")[0], runnable(t, "f32_quantize")[0]
	kernels := runnable(t, "i8_lstm")
	for _, length := range []int32{-1, int32(c.steps) + 1} {
		viewAs[int32](c.in[4])[1] = length
		f, failed := runCommand(t, kernels[len(kernels)-1], c.words(), nil, c.in[:]...)
		if !failed || f.Args[0] != 1 || f.Args[1] != int(length) || f.Args[2] != c.steps {
			t.Errorf("length %d of %d steps: %v, %v", length, c.steps, failed, f)
		}
	}
}
