package signal

import (
	"math"
	"math/cmplx"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func signalCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		dftCases(s, d)
		stftCases(s, d)
		detCases(s, d)
	}
	for _, d := range []tensor.DType{tensor.I32, tensor.I64} {
		windowCases(s, d)
		melCases(s, d)
	}
	for _, d := range cases.ProductTypes {
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

// complexAt returns the complex number at an index without the last axis.
func complexAt(x *tensor.Tensor, at ...int) complex128 {
	parts := x.Shape()[len(x.Shape())-1]
	i := cases.Flat(x.Shape()[:len(x.Shape())-1], at...) * parts
	if parts == 1 {
		return complex(cases.Number(x, i), 0)
	}
	return complex(cases.Number(x, i), cases.Number(x, i+1))
}

func dftCases(s *cases.Suite, d tensor.DType) {
	for _, n := range []int{1, 2, 5, 8, 12, 30, 37, 62, 74, 101} {
		for _, length := range []int{n, n + 3, max(n-4, 1)} {
			for _, parts := range []int{1, 2} {
				x := s.Any(d, 2, n, 3, parts)
				for _, inverse := range []bool{false, true} {
					dftCase(s, x, length, inverse, false)
				}
				dftCase(s, x, length, parts == 2, true)
			}
		}
	}
	x := s.Any(d, 2, 6, 2)
	s.Add(cases.Case{Op: "DFT", Version: 17, Until: 20, Note: "parts", Attrs: cases.Attrs("axis", 2), In: cases.In(x),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "DFT", Version: 17, Note: "one-sided", Attrs: cases.Attrs("onesided", 1), In: cases.In(x),
		Fails: graph.ErrShape})
	s.Add(cases.Case{Op: "DFT", Version: 17, Note: "length", In: cases.In(x, cases.Scalar(tensor.I64, 0)),
		Fails: graph.ErrShape})
}

// dftCase transforms along axis 1 of x to length points.
func dftCase(s *cases.Suite, x *tensor.Tensor, length int, inverse, oneSided bool) {
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
				i := cases.Flat(y.Shape(), a, k, b, 0)
				cases.SetNumber(y, i, real(v))
				if parts == 2 {
					cases.SetNumber(y, i+1, imag(v))
				}
			}
		}
	}
	flags := cases.Attrs("inverse", int(cases.Truth(inverse)), "onesided", int(cases.Truth(oneSided)))
	ulps := transformUlps(d)
	old := append(cases.Attrs("axis", -3), flags...)
	points := cases.Scalar(tensor.I64, float64(length))
	s.Add(cases.Case{Op: "DFT", Version: 17, Until: 20, Attrs: old, In: cases.In(x, points), Want: cases.Want(y),
		Ulps: ulps})
	s.Add(cases.Case{Op: "DFT", Version: 20, Attrs: flags, In: cases.In(x, points, cases.Scalar(tensor.I64, 1)),
		Want: cases.Want(y), Ulps: ulps})
	if shape[1] == length && !(oneSided && inverse) {
		s.Add(cases.Case{Op: "DFT", Version: 17, Until: 20, Note: "own length", Attrs: flags, In: cases.In(x),
			Want: cases.Want(y), Ulps: ulps})
		flatter := cases.Seen(x, shape[0], shape[1], shape[2], shape[3])
		s.Add(cases.Case{Op: "DFT", Version: 20, Note: "own length", Attrs: flags,
			In: cases.In(flatter, nil, cases.Scalar(tensor.I64, -3)), Want: cases.Want(y), Ulps: ulps})
	}
}

// transformUlps returns the error allowed for sums of about a hundred elements.
func transformUlps(d tensor.DType) float64 {
	switch d {
	case tensor.F64:
		return 1e4
	case tensor.F32:
		return 64
	}
	return 2
}

func stftCases(s *cases.Suite, d tensor.DType) {
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
			x, window := s.Any(d, 2, samples, parts), s.Any(d, length)
			y, plain := tensor.New(d, 2, frames, points, 2), tensor.New(d, 2, frames, points, 2)
			for b := range 2 {
				for t := range frames {
					through, bare := make([]complex128, length), make([]complex128, length)
					for i := range length {
						bare[i] = complexAt(x, b, t*step+i)
						through[i] = bare[i] * complex(cases.Number(window, i), 0)
					}
					windowed, straight := transformed(through, false), transformed(bare, false)
					for k := range points {
						i := cases.Flat(y.Shape(), b, t, k, 0)
						cases.SetNumber(y, i, real(windowed[k]))
						cases.SetNumber(y, i+1, imag(windowed[k]))
						cases.SetNumber(plain, i, real(straight[k]))
						cases.SetNumber(plain, i+1, imag(straight[k]))
					}
				}
			}
			list := cases.Attrs("onesided", int(cases.Truth(oneSided)))
			ulps := transformUlps(d)
			hop, size := cases.Scalar(tensor.I64, step), cases.Scalar(tensor.I64, length)
			s.Add(cases.Case{Op: "STFT", Version: 17, Attrs: list, In: cases.In(x, hop, window), Want: cases.Want(y),
				Ulps: ulps})
			s.Add(cases.Case{Op: "STFT", Version: 17, Attrs: list, In: cases.In(x, hop, window, size), Want: cases.Want(y),
				Ulps: ulps})
			s.Add(cases.Case{Op: "STFT", Version: 17, Attrs: list, In: cases.In(x, hop, nil, size), Want: cases.Want(plain),
				Ulps: ulps})
			if parts == 1 {
				x := cases.Seen(x, 2, samples)
				s.Add(cases.Case{Op: "STFT", Version: 17, Note: "two axes", Attrs: list, In: cases.In(x, hop, window),
					Want: cases.Want(y), Ulps: ulps})
				s.Add(cases.Case{Op: "STFT", Version: 17, Note: "two axes", Attrs: list, In: cases.In(x, hop, nil, size),
					Want: cases.Want(plain), Ulps: ulps})
			}
			s.Add(cases.Case{Op: "STFT", Version: 17, Note: "too long", Attrs: list,
				In: cases.In(x, hop, nil, cases.Scalar(tensor.I64, 42)), Fails: graph.ErrShape})
			s.Add(cases.Case{Op: "STFT", Version: 17, Note: "no step", Attrs: list,
				In: cases.In(x, cases.Scalar(tensor.I64, 0), window), Fails: graph.ErrShape})
		}
	}
}

func windowCases(s *cases.Suite, d tensor.DType) {
	list := []struct {
		op    string
		terms []float64
	}{{"HannWindow", []float64{0.5, 0.5, 0}}, {"HammingWindow", []float64{25.0 / 46, 21.0 / 46, 0}}, {"BlackmanWindow", []float64{0.42, 0.5, 0.08}}}
	for _, w := range list {
		for _, n := range []int{0, 1, 2, 9, 10} {
			for periodic := range 2 {
				for _, to := range cases.Numeric {
					y := tensor.New(to, n)
					for i := range n {
						part := float64(i) / float64(n-1+periodic)
						v := w.terms[0] - w.terms[1]*math.Cos(2*math.Pi*part) + w.terms[2]*math.Cos(4*math.Pi*part)
						if n == 1 {
							v = 1
						}
						if to.IsInteger() && math.Abs(v-math.Round(v)) < 1e-9 {
							continue // rounding decides to which whole number it is truncated
						}
						cases.SetNumber(y, i, v)
					}
					if to.IsInteger() && n != 0 {
						continue
					}
					s.Add(cases.Case{Op: w.op, Version: 17, Attrs: cases.Attrs("periodic", periodic, "output_datatype", to.Code()),
						In: cases.In(cases.Scalar(d, float64(n))), Want: cases.Want(y), Ulps: 4})
				}
			}
		}
		s.Add(cases.Case{Op: w.op, Version: 17, Note: "negative", In: cases.In(cases.Scalar(d, -1)), Fails: graph.ErrShape})
	}
}

func melCases(s *cases.Suite, d tensor.DType) {
	const bands, length, rate, low, high = 6, 64, 8000, 100.0, 3900.0
	mel := func(f float64) float64 { return 2595 * math.Log10(1+f/700) }
	corner := make([]float64, bands+2)
	for i := range corner {
		m := mel(low) + float64(i)*(mel(high)-mel(low))/(bands+2)
		corner[i] = math.Floor((length + 1) * 700 * (math.Pow(10, m/2595) - 1) / rate)
	}
	y := tensor.New(tensor.F32, length/2+1, bands)
	cases.Each(y.Shape(), func(i int, at []int) {
		a, b, c, j := corner[at[1]], corner[at[1]+1], corner[at[1]+2], float64(at[0])
		switch {
		case j == b:
			cases.SetNumber(y, i, 1)
		case j > a && j < b:
			cases.SetNumber(y, i, (j-a)/(b-a))
		case j > b && j < c:
			cases.SetNumber(y, i, (c-j)/(c-b))
		}
	})
	numbers := cases.In(cases.Scalar(d, bands), cases.Scalar(d, length), cases.Scalar(d, rate),
		cases.Scalar(tensor.F32, low), cases.Scalar(tensor.F32, high))
	s.Add(cases.Case{Op: "MelWeightMatrix", Version: 17, In: numbers, Want: cases.Want(y), Ulps: 1})
	s.Add(cases.Case{Op: "MelWeightMatrix", Version: 17, Note: "beyond",
		In: append(numbers[:4:4], cases.Scalar(tensor.F32, 60000)), Fails: graph.ErrShape})
}

func detCases(s *cases.Suite, d tensor.DType) {
	for n := range 6 {
		x := s.Any(d, 2, 3, n, n)
		y := tensor.New(d, 2, 3)
		for i := range 6 {
			cases.SetNumber(y, i, expanded(n, func(r, c int) float64 { return cases.Number(x, (i*n+r)*n+c) }))
		}
		s.Add(cases.Case{Op: "Det", Version: 11, In: cases.In(x), Want: cases.Want(y), Ulps: 64})
	}
	s.Add(cases.Case{Op: "Det", Version: 11, Note: "one", In: cases.In(cases.Seen(cases.Vector(d, 2, 1, 4, 2), 2, 2)),
		Want: cases.Want(tensor.New(d))})
	s.Add(cases.Case{Op: "Det", Version: 11, Note: "not square", In: cases.In(s.Any(d, 2, 3)), Fails: graph.ErrShape})
}

// expanded returns the determinant by expansion along the first row.
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

func cumProdCases(s *cases.Suite, d tensor.DType) {
	x := s.Any(d, 3, 7, 2)
	for axis := range 3 {
		for mode := range 4 {
			exclusive, reverse := mode&1, mode>>1
			y := tensor.New(d, x.Shape()...)
			cases.Each(x.Shape(), func(i int, at []int) {
				product := 1.0
				for j := range x.Shape()[axis] {
					if before := (j - at[axis]) * (1 - 2*reverse); before < 0 || before == 0 && exclusive == 0 {
						product *= cases.Number(x, cases.Flat(x.Shape(), cases.With(at, axis, j)...))
					}
				}
				cases.SetNumber(y, i, product)
			})
			s.Add(cases.Case{Op: "CumProd", Version: 26, Attrs: cases.Attrs("exclusive", exclusive, "reverse", reverse),
				In: cases.In(x, cases.Scalar(tensor.I64, float64(axis-3))), Want: cases.Want(y), Ulps: 16})
		}
	}
}

func bitCastCases(s *cases.Suite) {
	for _, from := range tensor.DTypes() {
		if from == tensor.String {
			continue
		}
		for _, to := range tensor.DTypes() {
			if to.Bits() != from.Bits() || to == tensor.Bool && from != tensor.Bool {
				continue
			}
			x := s.Any(from, 3, 5)
			y, err := tensor.FromBytes(to, x.Shape(), x.Clone().Bytes())
			if err != nil {
				panic(err)
			}
			s.Add(cases.Case{Op: "BitCast", Version: 26, Note: to.String(), Attrs: cases.Attrs("to", to.Code()),
				In: cases.In(x), Want: cases.Want(y)})
		}
	}
	s.Add(cases.Case{Op: "BitCast", Version: 26, Note: "bool", Attrs: cases.Attrs("to", tensor.Bool.Code()),
		In: cases.In(cases.Vector(tensor.U8, 0, 1, 2, 128)), Want: cases.Want(cases.Vector(tensor.Bool, 0, 1, 1, 1))})
	s.Add(cases.Case{Op: "BitCast", Version: 26, Note: "width", Attrs: cases.Attrs("to", tensor.F32.Code()),
		In: cases.In(cases.Vector(tensor.F64, 1)), Fails: graph.ErrShape})
}
