package signal

import (
	"math"
	"math/bits"
	"slices"

	"github.com/nacre-ml/nacre/runtime/op"
)

// realType lists the types in which transforms are computed.
type realType interface{ float32 | float64 }

// complexOf is a complex number. Every operation on its parts is rounded separately, so results are
// the same on every machine.
type complexOf[F realType] struct{ re, im F }

func (a complexOf[F]) add(b complexOf[F]) complexOf[F] { return complexOf[F]{a.re + b.re, a.im + b.im} }

func (a complexOf[F]) sub(b complexOf[F]) complexOf[F] { return complexOf[F]{a.re - b.re, a.im - b.im} }

func (a complexOf[F]) mul(b complexOf[F]) complexOf[F] {
	return complexOf[F]{F(a.re*b.re) - F(a.im*b.im), F(a.re*b.im) + F(a.im*b.re)}
}

func (a complexOf[F]) scale(s F) complexOf[F] { return complexOf[F]{a.re * s, a.im * s} }

func (a complexOf[F]) conj() complexOf[F] { return complexOf[F]{a.re, -a.im} }

func (a complexOf[F]) timesMinusI() complexOf[F] { return complexOf[F]{a.im, -a.re} }

// swapped exchanges the parts. A transform between two swaps is the inverse transform, except for
// the scale.
func (a complexOf[F]) swapped() complexOf[F] { return complexOf[F]{a.im, a.re} }

// fourier computes discrete Fourier transforms of length n. It makes one pass per factor of n. Each
// pass goes from one array to another and keeps the order of the outputs (T. G. Stockham, 1966).
// For lengths with a large prime factor it computes a convolution with a power of two as its length
// (L. Bluestein, 1970). It uses memory of its own, so it is not safe for concurrent use.
type fourier[F realType] struct {
	pace    *op.Pace
	n       int
	factors []int          // with product n
	roots   []complexOf[F] // roots[k] is exp(-2πik/n)

	chirp  []complexOf[F] // exp(-πik²/n); nil if the factors are small
	kernel []complexOf[F] // the transform of the conjugate chirp, over the length of inner
	inner  *fourier[F]
	a, b   []complexOf[F] // n elements, or the length of inner
}

// largestFactor is the largest prime that is cheaper to sum over than to convolve.
const largestFactor = 31

// factors returns the factors of n up to largestFactor, and the remaining quotient.
func factors(n int) (list []int, rest int) {
	for _, r := range []int{4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, largestFactor} {
		for n%r == 0 {
			list = append(list, r)
			n /= r
		}
	}
	return list, n
}

// Factors returns the factors, from 2 to 5, of the passes of a transform of n points. It reports
// false for other lengths, since long sums and convolutions lose more precision in float32.
func Factors(n int) ([]int, bool) {
	list, rest := factors(n)
	return list, rest == 1 && (len(list) == 0 || slices.Max(list) <= 5)
}

func isPrecise(n int) bool {
	_, ok := Factors(n)
	return ok
}

func newFourier[F realType](pace *op.Pace, n int) *fourier[F] {
	f := &fourier[F]{pace: pace, n: n}
	list, rest := factors(n)
	f.factors = list
	if rest > 1 {
		f.convolve()
		return f
	}
	f.a = make([]complexOf[F], n)
	f.roots = make([]complexOf[F], n)
	for k := range f.roots {
		pace.Work(32)
		f.roots[k] = root[F](k, n)
	}
	return f
}

// root returns exp(-2πik/n) for k in 0..n.
func root[F realType](k, n int) complexOf[F] {
	sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
	return complexOf[F]{F(cos), F(sin)}
}

func (f *fourier[F]) convolve() {
	size := 1 << bits.Len(uint(2*f.n-2))
	f.inner = newFourier[F](f.pace, size)
	f.chirp, f.kernel = make([]complexOf[F], f.n), make([]complexOf[F], size)
	f.a, f.b = make([]complexOf[F], size), make([]complexOf[F], size)
	for k := range f.n {
		f.pace.Work(32)
		f.chirp[k] = root[F](squareMod(k, 2*f.n), 2*f.n)
		f.a[k] = f.chirp[k].conj()
		f.a[(size-k)%size] = f.a[k]
	}
	f.inner.run(f.kernel, f.a)
}

// squareMod returns k² modulo m.
func squareMod(k, m int) int {
	hi, lo := bits.Mul64(uint64(k), uint64(k))
	_, rem := bits.Div64(hi, lo, uint64(m))
	return int(rem)
}

// run stores the transform of src in dst. Both have n elements and must not overlap. src is not
// changed.
func (f *fourier[F]) run(dst, src []complexOf[F]) {
	if f.inner == nil {
		f.passes(dst, src)
		return
	}
	clear(f.a)
	for k, c := range f.chirp {
		f.a[k] = src[k].mul(c)
	}
	f.inner.run(f.b, f.a)
	for k, v := range f.kernel {
		f.b[k] = f.b[k].mul(v).swapped() // makes the next transform the inverse
	}
	f.inner.run(f.a, f.b)
	for k, c := range f.chirp {
		dst[k] = f.a[k].swapped().scale(1 / F(len(f.a))).mul(c)
	}
}

// inverse stores the inverse transform of src in dst and overwrites src.
func (f *fourier[F]) inverse(dst, src []complexOf[F]) {
	for i, v := range src {
		src[i] = v.swapped()
	}
	f.run(dst, src)
	for i, v := range dst {
		dst[i] = v.swapped().scale(1 / F(f.n))
	}
}

// runReal is run for numbers with imaginary part 0. The result is exactly symmetric.
func (f *fourier[F]) runReal(dst, src []complexOf[F]) {
	f.run(dst, src)
	dst[0].im = 0
	for k := 1; k <= f.n/2; k++ {
		dst[f.n-k] = dst[k].conj()
	}
	if f.n%2 == 0 {
		dst[f.n/2].im = 0
	}
}

// passes makes one pass per factor, the last one into dst.
func (f *fourier[F]) passes(dst, src []complexOf[F]) {
	if len(f.factors) == 0 {
		copy(dst, src)
		return
	}
	from, to, other := src, dst, f.a
	if len(f.factors)%2 == 0 {
		to, other = other, to
	}
	done := 1
	for _, r := range f.factors {
		switch r {
		case 2:
			f.pass2(to, from, done)
		case 4:
			f.pass4(to, from, done)
		case 5:
			f.pass5(to, from, done)
		default:
			f.pass(to, from, done, r)
		}
		done *= r
		from, to, other = to, other, to
	}
}

// A pass over factor r takes done groups of r runs of m = n/done/r elements. It transforms across
// the runs of a group, multiplies element i of output q by roots[i*q*done], and stores it as
// element i of group q*done + group.

func (f *fourier[F]) pass2(dst, src []complexOf[F], done int) {
	m := f.n / done / 2
	for g := range done {
		f.pace.Work(8 * m)
		from := src[2*g*m:]
		for i := range m {
			a, b := from[i], from[m+i]
			dst[g*m+i] = a.add(b)
			dst[(done+g)*m+i] = a.sub(b).mul(f.roots[i*done])
		}
	}
}

func (f *fourier[F]) pass4(dst, src []complexOf[F], done int) {
	m := f.n / done / 4
	for g := range done {
		f.pace.Work(16 * m)
		from := src[4*g*m:]
		for i := range m {
			a, b, c, d := from[i], from[m+i], from[2*m+i], from[3*m+i]
			s, t, u, v := a.add(c), a.sub(c), b.add(d), b.sub(d).timesMinusI()
			w := i * done
			dst[g*m+i] = s.add(u)
			dst[(done+g)*m+i] = t.add(v).mul(f.roots[w])
			dst[(2*done+g)*m+i] = s.sub(u).mul(f.roots[2*w])
			dst[(3*done+g)*m+i] = t.sub(v).mul(f.roots[3*w])
		}
	}
}

func (f *fourier[F]) pass5(dst, src []complexOf[F], done int) {
	m := f.n / done / 5
	x, y := f.roots[f.n/5], f.roots[2*f.n/5]
	for g := range done {
		f.pace.Work(20 * m)
		from := src[5*g*m:]
		for i := range m {
			a, b, c, d, e := from[i], from[m+i], from[2*m+i], from[3*m+i], from[4*m+i]
			be, cd, eb, dc := b.add(e), c.add(d), b.sub(e), c.sub(d)
			w := i * done
			dst[g*m+i] = complexOf[F]{a.re + be.re + cd.re, a.im + be.im + cd.im}
			even, odd := mix(a, be, cd, x.re, y.re), turn(eb, dc, x.im, y.im)
			dst[(done+g)*m+i] = even.add(odd).mul(f.roots[w])
			dst[(4*done+g)*m+i] = even.sub(odd).mul(f.roots[4*w])
			even, odd = mix(a, be, cd, y.re, x.re), turn(eb, dc, y.im, -x.im)
			dst[(2*done+g)*m+i] = even.add(odd).mul(f.roots[2*w])
			dst[(3*done+g)*m+i] = even.sub(odd).mul(f.roots[3*w])
		}
	}
}

// mix returns a + s b + t c.
func mix[F realType](a, b, c complexOf[F], s, t F) complexOf[F] {
	return complexOf[F]{F(a.re+F(s*b.re)) + F(t*c.re), F(a.im+F(s*b.im)) + F(t*c.im)}
}

// turn returns i (s b + t c).
func turn[F realType](b, c complexOf[F], s, t F) complexOf[F] {
	return complexOf[F]{-(F(s*b.im) + F(t*c.im)), F(s*b.re) + F(t*c.re)}
}

func (f *fourier[F]) pass(dst, src []complexOf[F], done, r int) {
	m := f.n / done / r
	step := f.n / r
	for g := range done {
		from := src[r*g*m:]
		for i := range m {
			f.pace.Work(4 * r * r)
			for q := range r {
				sum := from[i]
				for j := 1; j < r; j++ {
					sum = sum.add(from[j*m+i].mul(f.roots[j*q%r*step]))
				}
				dst[(q*done+g)*m+i] = sum.mul(f.roots[i*q*done])
			}
		}
	}
}
