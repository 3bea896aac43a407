package quant

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// lstmCases accepts a state that rounds to the next code.
func lstmCases(s *cases.Suite) {
	for i, d := range byteCodes {
		for _, columns := range []bool{false, true} {
			lstmCase(s, d, "forward", i == 0, columns)
			lstmCase(s, d, "reverse", i != 0, columns)
			lstmCase(s, d, "bidirectional", true, columns)
		}
	}
	x, w, r := s.Any(tensor.F32, 2, 3, 5), codesOf(s, tensor.I8, 1, 5, 24), codesOf(s, tensor.I8, 1, 6, 24)
	one, zero := scales(s, tensor.F32, tensor.I8, 1), codesOf(s, tensor.I8, 1)
	fails := func(kind error, note string, last ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "DynamicQuantizeLSTM", Version: 1, Note: note, Attrs: cases.Attrs("hidden_size", 6), Fails: kind,
			In: append(cases.In(x, w, r, nil, nil, nil, nil, nil), last...)})
	}
	fails(graph.ErrFormat, "no scale", nil, zero, one, zero)
	fails(graph.ErrShape, "scales of another number", scales(s, tensor.F32, tensor.I8, 2), zero, one, zero)
	fails(graph.ErrShape, "columns of another number", one, zero, scales(s, tensor.F32, tensor.I8, 1, 6), zero)
	fails(graph.ErrShape, "zero point of another type", one, tensor.New(tensor.U8, 1), one, zero)
	fails(graph.ErrShape, "scales of another type", one, zero, s.Any(tensor.F16, 1), zero)
}

// dynamicCodes quantises numbers as a whole and dequantises them.
func dynamicCodes(list []float64) []float64 {
	step, zero := dynamicScale(cases.FromNumbers(tensor.F32, list, len(list)))
	out := make([]float64, len(list))
	for i, v := range list {
		code := math.RoundToEven(float64(float32(v)/step)) + zero
		out[i] = (math.Min(math.Max(code, 0), 255) - zero) * float64(step)
	}
	return out
}

func lstmCase(s *cases.Suite, d tensor.DType, direction string, all, columns bool) {
	const steps, batch, input, hidden, width = 4, 3, 5, 6, 24
	dirs := 1
	if direction == "bidirectional" {
		dirs = 2
	}
	shape := []int{dirs}
	if columns {
		shape = []int{dirs, width}
	}
	x := s.Any(tensor.F32, steps, batch, input)
	w, r := codesOf(s, d, dirs, input, width), codesOf(s, d, dirs, hidden, width)
	weights := cases.In(s.Between(tensor.F32, 0.002, 0.004, shape...), codesOf(s, d, shape...),
		s.Between(tensor.F32, 0.002, 0.004, shape...), codesOf(s, d, shape...))
	bias, lengths, h0, c0, peep := tensor.New(tensor.F32, dirs, 2*width), cases.Vector(tensor.I32, steps, steps, steps), tensor.New(tensor.F32, dirs, batch, hidden),
		tensor.New(tensor.F32, dirs, batch, hidden), tensor.New(tensor.F32, dirs, 3*hidden)
	rest := cases.In(nil, nil, nil, nil, nil)
	if all {
		bias, lengths, peep = s.Any(tensor.F32, dirs, 2*width), cases.Vector(tensor.I32, 2, 0, 3),
			s.Any(tensor.F32, dirs, 3*hidden)
		h0, c0 = s.Any(tensor.F32, dirs, batch, hidden), s.Any(tensor.F32, dirs, batch, hidden)
		rest = cases.In(bias, lengths, h0, c0, peep)
	}
	longest := 0
	for _, n := range cases.Numbers(lengths) {
		longest = max(longest, int(n))
	}
	xs := dynamicCodes(cases.Numbers(x)[:longest*batch*input])
	y := tensor.New(tensor.F32, steps, dirs, batch, hidden)
	h, c := cases.Numbers(h0), cases.Numbers(c0)
	weight := func(codes, scale, zero *tensor.Tensor, dir, k, j int) float64 {
		at := dir
		if columns {
			at = dir*width + j
		}
		return (cases.Number(codes, cases.Flat(codes.Shape(), dir, k, j)) - cases.Number(zero, at)) * cases.Number(scale, at)
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for dir := range dirs {
		for step := range longest {
			states := make([]float64, batch*hidden)
			for b := range batch {
				if step <= int(cases.Number(lengths, b)) {
					copy(states[b*hidden:][:hidden], h[(dir*batch+b)*hidden:])
				}
			}
			states = dynamicCodes(states)
			for b := range batch {
				n := int(cases.Number(lengths, b))
				if step >= n {
					continue
				}
				t := step
				if direction == "reverse" || dir == 1 {
					t = n - 1 - step
				}
				for i := range hidden {
					at := (dir*batch+b)*hidden + i
					sum := func(gate int) float64 {
						j := gate*hidden + i
						v := cases.Number(bias, dir*2*width+j) + cases.Number(bias, (dir*2+1)*width+j)
						for k := range input {
							v += xs[(t*batch+b)*input+k] * weight(w, weights[0], weights[1], dir, k, j)
						}
						for k := range hidden {
							v += states[b*hidden+k] * weight(r, weights[2], weights[3], dir, k, j)
						}
						return v
					}
					p := func(gate int) float64 { return cases.Number(peep, (dir*3+gate)*hidden+i) }
					in, forget := sigmoid(sum(0)+p(0)*c[at]), sigmoid(sum(2)+p(2)*c[at])
					c[at] = forget*c[at] + in*math.Tanh(sum(3))
					h[at] = sigmoid(sum(1)+p(1)*c[at]) * math.Tanh(c[at])
					cases.SetNumber(y, cases.Flat(y.Shape(), t, dir, b, i), h[at])
				}
			}
		}
	}
	states := func(list []float64) *tensor.Tensor { return cases.FromNumbers(tensor.F32, list, dirs, batch, hidden) }
	s.Add(cases.Case{Domain: cases.Microsoft, Op: "DynamicQuantizeLSTM", Version: 1, Note: direction, Attrs: cases.Attrs("hidden_size", hidden, "direction", direction),
		In: append(append(cases.In(x, w, r), rest...), weights...), Want: cases.Want(y, states(h), states(c)), Ulps: 5e-3 / 0x1p-23})
}
