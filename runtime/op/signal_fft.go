package op

import (
	"math"
	"math/bits"
	"math/cmplx"
)

// fourier computes discrete Fourier transforms of one length n, by its prime
// factors; for lengths with a large one, as a convolution whose length is a power
// of two (L. Bluestein, 1970). It does not change, but uses memory of its own,
// and so serves one goroutine.
type fourier struct {
	n       int
	factors []int        // n is their product
	roots   []complex128 // roots[k] is exp(-2πik/n)

	chirp  []complex128 // exp(-πik²/n); nil if the factors are small
	kernel []complex128 // the transform of the conjugate chirp, over the length of inner
	inner  *fourier
	a, b   []complex128
}

// largestFactor is the largest prime that is cheaper to sum over than to convolve.
const largestFactor = 31

func newFourier(n int) *fourier {
	f := &fourier{n: n}
	rest := n
	for _, r := range []int{4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, largestFactor} {
		for rest%r == 0 && rest > 1 {
			f.factors = append(f.factors, r)
			rest /= r
		}
	}
	if rest > 1 {
		f.convolve()
		return f
	}
	f.roots = make([]complex128, n)
	for k := range f.roots {
		f.roots[k] = root(k, n)
	}
	return f
}

// root is exp(-2πik/n) for k in 0..n.
func root(k, n int) complex128 {
	sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
	return complex(cos, sin)
}

func (f *fourier) convolve() {
	size := 1 << bits.Len(uint(2*f.n-2))
	f.inner = newFourier(size)
	f.chirp, f.kernel = make([]complex128, f.n), make([]complex128, size)
	f.a, f.b = make([]complex128, size), make([]complex128, size)
	for k := range f.n {
		f.chirp[k] = root(squareMod(k, 2*f.n), 2*f.n)
		f.a[k] = cmplx.Conj(f.chirp[k])
		f.a[(size-k)%size] = f.a[k]
	}
	f.inner.run(f.kernel, f.a)
}

// squareMod is k² modulo m.
func squareMod(k, m int) int {
	hi, lo := bits.Mul64(uint64(k), uint64(k))
	_, rem := bits.Div64(hi, lo, uint64(m))
	return int(rem)
}

// run writes the transform of src to dst; both have n elements and do not overlap.
func (f *fourier) run(dst, src []complex128) {
	if f.inner == nil {
		f.step(dst, src, 1, f.factors)
		return
	}
	clear(f.a)
	for k, c := range f.chirp {
		f.a[k] = src[k] * c
	}
	f.inner.run(f.b, f.a)
	for k, v := range f.kernel {
		f.b[k] = swapped(f.b[k] * v) // so that the next transform is the inverse one
	}
	f.inner.run(f.a, f.b)
	scale := complex(1/float64(len(f.a)), 0)
	for k, c := range f.chirp {
		dst[k] = swapped(f.a[k]) * scale * c
	}
}

// inverse writes the inverse transform of src, which it changes, to dst.
func (f *fourier) inverse(dst, src []complex128) {
	for i, v := range src {
		src[i] = swapped(v)
	}
	f.run(dst, src)
	scale := complex(1/float64(f.n), 0)
	for i, v := range dst {
		dst[i] = swapped(v) * scale
	}
}

// swapped exchanges the parts. Doing so before and after a transform makes it the
// inverse one, but for the scale.
func swapped(v complex128) complex128 { return complex(imag(v), real(v)) }

// step transforms every stride-th element of src, as many as dst has.
func (f *fourier) step(dst, src []complex128, stride int, factors []int) {
	if len(factors) == 0 {
		dst[0] = src[0]
		return
	}
	r := factors[0]
	m := len(dst) / r
	for j := range r {
		f.step(dst[j*m:][:m], src[j*stride:], stride*r, factors[1:])
	}
	switch r {
	case 2:
		f.join2(dst, m, stride)
	case 4:
		f.join4(dst, m, stride)
	default:
		f.join(dst, m, stride, r)
	}
}

// join2 makes one transform of two of length m.
func (f *fourier) join2(dst []complex128, m, stride int) {
	for k := range m {
		a, b := dst[k], dst[m+k]*f.roots[k*stride]
		dst[k], dst[m+k] = a+b, a-b
	}
}

// join4 makes one transform of four of length m.
func (f *fourier) join4(dst []complex128, m, stride int) {
	for k := range m {
		a, b := dst[k], dst[m+k]*f.roots[k*stride]
		c, d := dst[2*m+k]*f.roots[2*k*stride], dst[3*m+k]*f.roots[3*k*stride]
		s, t, u, v := a+c, a-c, b+d, b-d
		v = complex(imag(v), -real(v)) // times -i
		dst[k], dst[m+k], dst[2*m+k], dst[3*m+k] = s+u, t+v, s-u, t-v
	}
}

// join makes one transform of r of length m.
func (f *fourier) join(dst []complex128, m, stride, r int) {
	var t [largestFactor]complex128
	turn := f.n / r
	for k := range m {
		for j := range r {
			t[j] = dst[j*m+k] * f.roots[j*k*stride]
		}
		for q := range r {
			sum := t[0]
			for j := 1; j < r; j++ {
				sum += t[j] * f.roots[j*q%r*turn]
			}
			dst[q*m+k] = sum
		}
	}
}
