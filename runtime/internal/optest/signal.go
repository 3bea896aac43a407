package optest

import (
	"math"
	"math/cmplx"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func signalCases(s *suite) {
	for _, d := range floats {
		dftCases(s, d)
		stftCases(s, d)
		detCases(s, d)
	}
	for _, d := range []tensor.DType{tensor.I32, tensor.I64} {
		windowCases(s, d)
		melCases(s, d)
	}
	for _, d := range productTypes {
		cumProdCases(s, d)
	}
	bitCastCases(s)
}

// transformed is the discrete Fourier transform by its definition.
func transformed(x []complex128, inverse bool) []complex128 {
	n := len(x)
	out := make([]complex128, n)
	for k := range out {
		for j, v := range x {
			angle := -2 * math.Pi * float64(k*j%n) / float64(n)
			if inverse {
				angle = -angle
			}
			out[k] += v * cmplx.Exp(complex(0, angle))
		}
		if inverse {
			out[k] /= complex(float64(n), 0)
		}
	}
	return out
}

// complexAt is the number whose parts begin at an index without the last axis.
func complexAt(x *tensor.Tensor, at ...int) complex128 {
	parts := x.Shape()[len(x.Shape())-1]
	i := flat(x.Shape()[:len(x.Shape())-1], at...) * parts
	if parts == 1 {
		return complex(number(x, i), 0)
	}
	return complex(number(x, i), number(x, i+1))
}

func dftCases(s *suite, d tensor.DType) {
	for _, n := range []int{1, 2, 5, 8, 12, 30, 37, 62, 74, 101} {
		for _, length := range []int{n, n + 3, max(n-4, 1)} {
			for _, parts := range []int{1, 2} {
				x := s.any(d, 2, n, 3, parts)
				for _, inverse := range []bool{false, true} {
					dftCase(s, x, length, inverse, false)
				}
				dftCase(s, x, length, parts == 2, true)
			}
		}
	}
	x := s.any(d, 2, 6, 2)
	s.add(Case{Op: "DFT", Version: 17, Until: 20, Note: "parts", Attrs: attrs("axis", 2), In: in(x), Fails: graph.ErrShape})
	s.add(Case{Op: "DFT", Version: 17, Note: "one-sided", Attrs: attrs("onesided", 1), In: in(x), Fails: graph.ErrShape})
	s.add(Case{Op: "DFT", Version: 17, Note: "length", In: in(x, scalar(tensor.I64, 0)), Fails: graph.ErrShape})
}

// dftCase transforms along axis 1 of x to that many points.
func dftCase(s *suite, x *tensor.Tensor, length int, inverse, oneSided bool) {
	d, shape := x.DType(), x.Shape()
	extent, parts := length, 2
	switch {
	case oneSided && inverse:
		parts = 1
	case oneSided:
		extent = length/2 + 1
	}
	y := tensor.New(d, shape[0], extent, shape[2], parts)
	for a := range shape[0] {
		for b := range shape[2] {
			lane := make([]complex128, length)
			for i := range min(length, shape[1]) {
				lane[i] = complexAt(x, a, i, b)
			}
			if oneSided && inverse {
				for i := length/2 + 1; i < length; i++ {
					lane[i] = cmplx.Conj(lane[length-i])
				}
			}
			for k, v := range transformed(lane, inverse)[:extent] {
				i := flat(y.Shape(), a, k, b, 0)
				setNumber(y, i, real(v))
				if parts == 2 {
					setNumber(y, i+1, imag(v))
				}
			}
		}
	}
	flags := attrs("inverse", int(truth(inverse)), "onesided", int(truth(oneSided)))
	ulps := transformUlps(d)
	old := append(attrs("axis", -3), flags...)
	points := scalar(tensor.I64, float64(length))
	s.add(Case{Op: "DFT", Version: 17, Until: 20, Attrs: old, In: in(x, points), Want: want(y), Ulps: ulps})
	s.add(Case{Op: "DFT", Version: 20, Attrs: flags, In: in(x, points, scalar(tensor.I64, 1)), Want: want(y), Ulps: ulps})
	if shape[1] == length && !(oneSided && inverse) {
		s.add(Case{Op: "DFT", Version: 17, Until: 20, Note: "own length", Attrs: flags, In: in(x), Want: want(y), Ulps: ulps})
		flatter := seen(x, shape[0], shape[1], shape[2], shape[3])
		s.add(Case{Op: "DFT", Version: 20, Note: "own length", Attrs: flags, In: in(flatter, nil, scalar(tensor.I64, -3)), Want: want(y), Ulps: ulps})
	}
}

// transformUlps is how far sums over a hundred or so elements may be off.
func transformUlps(d tensor.DType) float64 {
	switch d {
	case tensor.F64:
		return 1e4
	case tensor.F32:
		return 64
	}
	return 2
}

func stftCases(s *suite, d tensor.DType) {
	for _, parts := range []int{1, 2} {
		for _, oneSided := range []bool{false, true} {
			if oneSided && parts == 2 {
				continue
			}
			const samples, length, step = 41, 10, 7
			frames, points := (samples-length)/step+1, length
			if oneSided {
				points = length/2 + 1
			}
			x, window := s.any(d, 2, samples, parts), s.any(d, length)
			y, plain := tensor.New(d, 2, frames, points, 2), tensor.New(d, 2, frames, points, 2)
			for b := range 2 {
				for t := range frames {
					through, bare := make([]complex128, length), make([]complex128, length)
					for i := range length {
						bare[i] = complexAt(x, b, t*step+i)
						through[i] = bare[i] * complex(number(window, i), 0)
					}
					windowed, straight := transformed(through, false), transformed(bare, false)
					for k := range points {
						i := flat(y.Shape(), b, t, k, 0)
						setNumber(y, i, real(windowed[k]))
						setNumber(y, i+1, imag(windowed[k]))
						setNumber(plain, i, real(straight[k]))
						setNumber(plain, i+1, imag(straight[k]))
					}
				}
			}
			list := attrs("onesided", int(truth(oneSided)))
			ulps := transformUlps(d)
			hop, size := scalar(tensor.I64, step), scalar(tensor.I64, length)
			s.add(Case{Op: "STFT", Version: 17, Attrs: list, In: in(x, hop, window), Want: want(y), Ulps: ulps})
			s.add(Case{Op: "STFT", Version: 17, Attrs: list, In: in(x, hop, window, size), Want: want(y), Ulps: ulps})
			s.add(Case{Op: "STFT", Version: 17, Attrs: list, In: in(x, hop, nil, size), Want: want(plain), Ulps: ulps})
			s.add(Case{Op: "STFT", Version: 17, Note: "too long", Attrs: list, In: in(x, hop, nil, scalar(tensor.I64, 42)), Fails: graph.ErrShape})
			s.add(Case{Op: "STFT", Version: 17, Note: "no step", Attrs: list, In: in(x, scalar(tensor.I64, 0), window), Fails: graph.ErrShape})
		}
	}
}

func windowCases(s *suite, d tensor.DType) {
	list := []struct {
		op    string
		terms []float64
	}{{"HannWindow", []float64{0.5, 0.5, 0}}, {"HammingWindow", []float64{25.0 / 46, 21.0 / 46, 0}}, {"BlackmanWindow", []float64{0.42, 0.5, 0.08}}}
	for _, w := range list {
		for _, n := range []int{0, 1, 2, 9, 10} {
			for periodic := range 2 {
				for _, to := range numeric {
					y := tensor.New(to, n)
					for i := range n {
						part := float64(i) / float64(n-1+periodic)
						v := w.terms[0] - w.terms[1]*math.Cos(2*math.Pi*part) + w.terms[2]*math.Cos(4*math.Pi*part)
						if n == 1 {
							v = 1
						}
						if to.IsInteger() && math.Abs(v-math.Round(v)) < 1e-9 {
							continue // rounding decides whether it is cut to a whole number
						}
						setNumber(y, i, v)
					}
					if to.IsInteger() && n != 0 {
						continue
					}
					s.add(Case{Op: w.op, Version: 17, Attrs: attrs("periodic", periodic, "output_datatype", codes[to]), In: in(scalar(d, float64(n))), Want: want(y), Ulps: 4})
				}
			}
		}
		s.add(Case{Op: w.op, Version: 17, Note: "negative", In: in(scalar(d, -1)), Fails: graph.ErrShape})
	}
}

func melCases(s *suite, d tensor.DType) {
	const bands, length, rate, low, high = 6, 64, 8000, 100.0, 3900.0
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	corner := make([]float64, bands+2)
	for i := range corner {
		m := mel(low) + float64(i)*(mel(high)-mel(low))/(bands+2)
		corner[i] = math.Floor((length + 1) * 700 * (math.Pow(10, m/2595) - 1) / rate)
	}
	y := tensor.New(tensor.F32, length/2+1, bands)
	each(y.Shape(), func(i int, at []int) {
		a, b, c, j := corner[at[1]], corner[at[1]+1], corner[at[1]+2], float64(at[0])
		switch {
		case j == b:
			setNumber(y, i, 1)
		case j > a && j < b:
			setNumber(y, i, (j-a)/(b-a))
		case j > b && j < c:
			setNumber(y, i, (c-j)/(c-b))
		}
	})
	numbers := in(scalar(d, bands), scalar(d, length), scalar(d, rate), scalar(tensor.F32, low), scalar(tensor.F32, high))
	s.add(Case{Op: "MelWeightMatrix", Version: 17, In: numbers, Want: want(y), Ulps: 1})
	s.add(Case{Op: "MelWeightMatrix", Version: 17, Note: "beyond", In: append(numbers[:4:4], scalar(tensor.F32, 60000)), Fails: graph.ErrShape})
}

func detCases(s *suite, d tensor.DType) {
	for n := range 6 {
		x := s.any(d, 2, 3, n, n)
		y := tensor.New(d, 2, 3)
		for i := range 6 {
			setNumber(y, i, expanded(n, func(r, c int) float64 { return number(x, (i*n+r)*n+c) }))
		}
		s.add(Case{Op: "Det", Version: 11, In: in(x), Want: want(y), Ulps: 64})
	}
	s.add(Case{Op: "Det", Version: 11, Note: "one", In: in(seen(vector(d, 2, 1, 4, 2), 2, 2)), Want: want(tensor.New(d))})
	s.add(Case{Op: "Det", Version: 11, Note: "not square", In: in(s.any(d, 2, 3)), Fails: graph.ErrShape})
}

// expanded is the determinant by expansion along the first row.
func expanded(n int, m func(r, c int) float64) float64 {
	if n == 0 {
		return 1
	}
	sum, sign := 0.0, 1.0
	for k := range n {
		sum += sign * m(0, k) * expanded(n-1, func(r, c int) float64 {
			if c >= k {
				c++
			}
			return m(r+1, c)
		})
		sign = -sign
	}
	return sum
}

func cumProdCases(s *suite, d tensor.DType) {
	x := s.any(d, 3, 7, 2)
	for axis := range 3 {
		for mode := range 4 {
			exclusive, reverse := mode&1, mode>>1
			y := tensor.New(d, x.Shape()...)
			each(x.Shape(), func(i int, at []int) {
				product := 1.0
				for j := range x.Shape()[axis] {
					if before := (j - at[axis]) * (1 - 2*reverse); before < 0 || before == 0 && exclusive == 0 {
						product *= number(x, flat(x.Shape(), with(at, axis, j)...))
					}
				}
				setNumber(y, i, product)
			})
			s.add(Case{Op: "CumProd", Version: 26, Attrs: attrs("exclusive", exclusive, "reverse", reverse),
				In: in(x, scalar(tensor.I64, float64(axis-3))), Want: want(y), Ulps: 16})
		}
	}
}

func bitCastCases(s *suite) {
	for from := range codes {
		if from == tensor.String {
			continue
		}
		for to, code := range codes {
			if to.Bits() != from.Bits() || to == tensor.Bool && from != tensor.Bool {
				continue
			}
			x := s.any(from, 3, 5)
			y, err := tensor.FromBytes(to, x.Shape(), x.Clone().Bytes())
			if err != nil {
				panic(err)
			}
			s.add(Case{Op: "BitCast", Version: 26, Note: to.String(), Attrs: attrs("to", code), In: in(x), Want: want(y)})
		}
	}
	s.add(Case{Op: "BitCast", Version: 26, Note: "bool", Attrs: attrs("to", codes[tensor.Bool]), In: in(vector(tensor.U8, 0, 1, 2, 128)), Want: want(vector(tensor.Bool, 0, 1, 1, 1))})
	s.add(Case{Op: "BitCast", Version: 26, Note: "width", Attrs: attrs("to", codes[tensor.F32]), In: in(vector(tensor.F64, 1)), Fails: graph.ErrShape})
}
