package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// quantLSTMCases take a rounding of a state to the next code for right.
func quantLSTMCases(s *suite) {
	for i, d := range byteCodes {
		for _, columns := range []bool{false, true} {
			quantLSTMCase(s, d, "forward", i == 0, columns)
			quantLSTMCase(s, d, "reverse", i != 0, columns)
			quantLSTMCase(s, d, "bidirectional", true, columns)
		}
	}
	x, w, r := s.any(tensor.F32, 2, 3, 5), s.codesOf(tensor.I8, 1, 5, 24), s.codesOf(tensor.I8, 1, 6, 24)
	one, zero := s.scales(tensor.F32, tensor.I8, 1), s.codesOf(tensor.I8, 1)
	fails := func(kind error, note string, last ...*tensor.Tensor) {
		s.add(Case{Domain: microsoft, Op: "DynamicQuantizeLSTM", Version: 1, Note: note, Attrs: attrs("hidden_size", 6), Fails: kind,
			In: append(in(x, w, r, nil, nil, nil, nil, nil), last...)})
	}
	fails(graph.ErrFormat, "no scale", nil, zero, one, zero)
	fails(graph.ErrShape, "scales of another number", s.scales(tensor.F32, tensor.I8, 2), zero, one, zero)
	fails(graph.ErrShape, "columns of another number", one, zero, s.scales(tensor.F32, tensor.I8, 1, 6), zero)
	fails(graph.ErrShape, "zero point of another type", one, tensor.New(tensor.U8, 1), one, zero)
	fails(graph.ErrShape, "scales of another type", one, zero, s.any(tensor.F16, 1), zero)
}

// dynamicCodes are numbers as they are after they were quantised as a whole.
func dynamicCodes(list []float64) []float64 {
	step, zero := dynamicScale(fromNumbers(tensor.F32, list, len(list)))
	out := make([]float64, len(list))
	for i, v := range list {
		code := math.RoundToEven(float64(float32(v)/step)) + zero
		out[i] = (math.Min(math.Max(code, 0), 255) - zero) * float64(step)
	}
	return out
}

func quantLSTMCase(s *suite, d tensor.DType, direction string, all, columns bool) {
	const steps, batch, input, hidden, width = 4, 3, 5, 6, 24
	dirs := 1
	if direction == "bidirectional" {
		dirs = 2
	}
	shape := []int{dirs}
	if columns {
		shape = []int{dirs, width}
	}
	x := s.any(tensor.F32, steps, batch, input)
	w, r := s.codesOf(d, dirs, input, width), s.codesOf(d, dirs, hidden, width)
	weights := in(s.between(tensor.F32, 0.002, 0.004, shape...), s.codesOf(d, shape...), s.between(tensor.F32, 0.002, 0.004, shape...), s.codesOf(d, shape...))
	bias, lengths, h0, c0, peep := tensor.New(tensor.F32, dirs, 2*width), vector(tensor.I32, steps, steps, steps), tensor.New(tensor.F32, dirs, batch, hidden),
		tensor.New(tensor.F32, dirs, batch, hidden), tensor.New(tensor.F32, dirs, 3*hidden)
	rest := in(nil, nil, nil, nil, nil)
	if all {
		bias, lengths, peep = s.any(tensor.F32, dirs, 2*width), vector(tensor.I32, 2, 0, 3), s.any(tensor.F32, dirs, 3*hidden)
		h0, c0 = s.any(tensor.F32, dirs, batch, hidden), s.any(tensor.F32, dirs, batch, hidden)
		rest = in(bias, lengths, h0, c0, peep)
	}
	longest := 0
	for _, n := range numbers(lengths) {
		longest = max(longest, int(n))
	}
	xs := dynamicCodes(numbers(x)[:longest*batch*input])
	y := tensor.New(tensor.F32, steps, dirs, batch, hidden)
	h, c := numbers(h0), numbers(c0)
	weight := func(codes, scale, zero *tensor.Tensor, dir, k, j int) float64 {
		at := dir
		if columns {
			at = dir*width + j
		}
		return (number(codes, flat(codes.Shape(), dir, k, j)) - number(zero, at)) * number(scale, at)
	}
	sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	for dir := range dirs {
		for step := range longest {
			states := make([]float64, batch*hidden)
			for b := range batch {
				if step < int(number(lengths, b)) {
					copy(states[b*hidden:][:hidden], h[(dir*batch+b)*hidden:])
				}
			}
			states = dynamicCodes(states)
			for b := range batch {
				n := int(number(lengths, b))
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
						v := number(bias, dir*2*width+j) + number(bias, (dir*2+1)*width+j)
						for k := range input {
							v += xs[(t*batch+b)*input+k] * weight(w, weights[0], weights[1], dir, k, j)
						}
						for k := range hidden {
							v += states[b*hidden+k] * weight(r, weights[2], weights[3], dir, k, j)
						}
						return v
					}
					p := func(gate int) float64 { return number(peep, (dir*3+gate)*hidden+i) }
					in, forget := sigmoid(sum(0)+p(0)*c[at]), sigmoid(sum(2)+p(2)*c[at])
					c[at] = forget*c[at] + in*math.Tanh(sum(3))
					h[at] = sigmoid(sum(1)+p(1)*c[at]) * math.Tanh(c[at])
					setNumber(y, flat(y.Shape(), t, dir, b, i), h[at])
				}
			}
		}
	}
	states := func(list []float64) *tensor.Tensor { return fromNumbers(tensor.F32, list, dirs, batch, hidden) }
	s.add(Case{Domain: microsoft, Op: "DynamicQuantizeLSTM", Version: 1, Note: direction, Attrs: attrs("hidden_size", hidden, "direction", direction),
		In: append(append(in(x, w, r), rest...), weights...), Want: want(y, states(h), states(c)), Ulps: 5e-3 / 0x1p-23})
}
