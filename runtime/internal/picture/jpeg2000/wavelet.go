package jpeg2000

// number is the type of samples during the transform: integers for the lossless one, floats for the
// lossy one.
type number interface{ int32 | float32 }

// steps calls f for every second element of n, from from on, with its neighbours. At an end the
// only neighbour counts twice.
func steps(n, from int, f func(at, before, after int)) {
	for i := from; i < n; i += 2 {
		before, after := i-1, i+1
		if before < 0 {
			before = after
		}
		if after >= n {
			after = before
		}
		f(i, before, after)
	}
}

// lift is one step of the inverse transform of a line. It changes every second element by its
// neighbours.
type lift[T number] struct {
	odd int // 1 for odd positions of the plane, the high frequencies
	add func(v, before, after T) T
}

// The inverse transforms: ITU-T T.800, F.3.8.
var (
	reversible = []lift[int32]{
		{0, func(v, a, b int32) int32 { return v - (a+b+2)>>2 }},
		{1, func(v, a, b int32) int32 { return v + (a+b)>>1 }},
	}
	irreversible = []lift[float32]{
		{0, func(v, a, b float32) float32 { return v - 0.443506852043971*(a+b) }},
		{1, func(v, a, b float32) float32 { return v - 0.882911075530934*(a+b) }},
		{0, func(v, a, b float32) float32 { return v + 0.052980118572961*(a+b) }},
		{1, func(v, a, b float32) float32 { return v + 1.586134342059924*(a+b) }},
	}
)

// Factors of low and high frequencies before the irreversible transform. By the standard the second
// is 1/1.230174104914001, 0.812893066. OpenJPEG's number gives the same pixels as OpenJPEG.
const (
	lowScale  = 1.230174104914001
	highScale = 0.812866211
)

// rebuild computes the samples of a plane from its bands. read returns the value of a coefficient.
func rebuild[T number](p *plane, transform []lift[T], low, high T, read func(b *band, i int) T) []T {
	lowest := p.resolutions[0]
	out := make([]T, lowest.width()*lowest.height())
	for i := range out {
		out[i] = read(lowest.bands[0], i)
	}
	for _, r := range p.resolutions[1:] {
		out = interleave(r, out, read)
		w, h := r.width(), r.height()
		for y := range h {
			row := out[y*w : (y+1)*w]
			line(w, r.x0, transform, low, high, func(at int, factor T) { row[at] *= factor },
				func(f func(v, a, b T) T, at, before, after int) {
					row[at] = f(row[at], row[before], row[after])
				}, func() { row[0] /= 2 })
		}
		line(h, r.y0, transform, low, high, func(at int, factor T) {
			for x := range w {
				out[at*w+x] *= factor
			}
		}, func(f func(v, a, b T) T, at, before, after int) {
			row, above, below := out[at*w:][:w], out[before*w:][:w], out[after*w:][:w]
			for x := range row {
				row[x] = f(row[x], above[x], below[x])
			}
		}, func() {
			for x := range w {
				out[x] /= 2
			}
		})
	}
	return out
}

// line transforms a line of n elements, which are samples or rows of them. from is the position of
// the first in the plane. A single element of high frequency is halved.
func line[T number](
	n, from int, transform []lift[T], low, high T, multiply func(at int, factor T),
	apply func(f func(v, a, b T) T, at, before, after int), halve func(),
) {
	if n == 1 {
		if from%2 == 1 {
			halve()
		}
		return
	}
	if low != high {
		for i := range n {
			if (from+i)%2 == 0 {
				multiply(i, low)
			} else {
				multiply(i, high)
			}
		}
	}
	for _, l := range transform {
		steps(n, (from+l.odd)%2, func(at, before, after int) { apply(l.add, at, before, after) })
	}
}

// interleave combines the elements of low and high frequencies.
func interleave[T number](r *resolution, low []T, read func(b *band, i int) T) []T {
	w := r.width()
	out := make([]T, w*r.height())
	lowWidth := (r.x1+1)/2 - (r.x0+1)/2
	for y := r.y0; y < r.y1; y++ {
		for x := r.x0; x < r.x1; x++ {
			at := (y-r.y0)*w + x - r.x0
			if x%2 == 0 && y%2 == 0 {
				out[at] = low[(y/2-(r.y0+1)/2)*lowWidth+x/2-(r.x0+1)/2]
				continue
			}
			b := r.bands[x%2+2*(y%2)-1]
			out[at] = read(b, (y/2-b.y0)*b.width()+x/2-b.x0)
		}
	}
	return out
}
