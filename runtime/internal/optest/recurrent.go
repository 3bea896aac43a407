package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// recurrentCases are nodes of one state per sequence, written out gate by gate.
func recurrentCases(s *suite) {
	for _, d := range floats {
		for _, c := range []struct {
			op    string
			gates int
		}{{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}} {
			recurrentCase(s, d, c.op, c.gates)
		}
	}
}

func recurrentCase(s *suite, d tensor.DType, name string, gates int) {
	const steps, batch, input = 3, 2, 2
	x, w, r := s.any(d, steps, batch, input), s.any(d, 2, gates, input), s.any(d, 2, gates, 1)
	bias := s.any(d, 2, 2*gates)
	y, last, cell := tensor.New(d, steps, 2, batch, 1), tensor.New(d, 2, batch, 1), tensor.New(d, 2, batch, 1)
	for dir := range 2 {
		for b := range batch {
			h, c := 0.0, 0.0
			for i := range steps {
				t := i
				if dir == 1 {
					t = steps - 1 - i
				}
				gate := func(g int, h float64) float64 {
					k := dir*gates + g
					v := number(bias, dir*2*gates+g) + number(bias, dir*2*gates+gates+g) + h*number(r, k)
					for j := range input {
						v += number(x, (t*batch+b)*input+j) * number(w, k*input+j)
					}
					return v
				}
				sigmoid := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
				switch name {
				case "RNN":
					h = math.Tanh(gate(0, h))
				case "GRU":
					z := sigmoid(gate(0, h))
					h = (1-z)*math.Tanh(gate(2, sigmoid(gate(1, h))*h)) + z*h
				case "LSTM":
					c = sigmoid(gate(2, h))*c + sigmoid(gate(0, h))*math.Tanh(gate(3, h))
					h = sigmoid(gate(1, h)) * math.Tanh(c)
				}
				setNumber(y, (t*2+dir)*batch+b, h)
			}
			setNumber(last, dir*batch+b, h)
			setNumber(cell, dir*batch+b, c)
		}
	}
	out := want(y, last)
	if name == "LSTM" {
		out = append(out, cell)
	}
	s.add(Case{Op: name, Version: 1, Attrs: attrs("direction", "bidirectional", "hidden_size", 1), In: in(x, w, r, bias), Want: out, Ulps: 32})
}
