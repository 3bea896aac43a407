package resample

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/internal/pieces"
)

// bits is the precision of weights. Sums of 256 times a weight of 1 fit half of a uint64.
const bits = 22

// manyWeights is the most weights that are rounded one by one, like Pillow's. Rounding more of them
// would change their sum, and bytes would overflow.
const manyWeights = 1 << 10

// filter holds the weights that compute the elements of a line from those of a source line.
type filter struct {
	first   []int      // by element of the result: the first source element with a weight
	weights [][]uint64 // by element of the result; in units of 2^-bits, with a sum of about 1
	copies  bool       // every element equals a source element, in order from first[0]
}

// newFilter returns the weights of elements from to to-1 of a line enlarged by 1/scale. Element i
// of the result is at start + (i+1/2)·scale of the source, which has n elements. Weights decrease
// linearly with the distance, to 0 at the length of an element of the source or of the result,
// whichever is longer. If ctx ends, some elements have no weights.
func newFilter(ctx pieces.Context, from, to, n int, start, scale float64) *filter {
	f := &filter{first: make([]int, to-from), weights: make([][]uint64, to-from), copies: scale == 1 && start == 0}
	reach := max(scale, 1)
	buf := make([]float64, 0, 2*int(reach)+3)
	_ = pieces.Each(ctx, len(f.first), max(pieces.Elements/cap(buf), 1), func(i, end int) {
		for ; i < end; i++ {
			buf = f.weigh(i, n, start+(float64(from+i)+0.5)*scale, reach, buf[:0])
		}
	})
	return f
}

// weigh sets the weights of element i, whose middle is given in elements of the source. It appends
// to buf, and returns it.
func (f *filter) weigh(i, n int, middle, reach float64, buf []float64) []float64 {
	first := min(max(int(middle-reach+0.5), 0), n-1)
	end := max(min(int(middle+reach+0.5), n), first+1)
	sum := 0.0
	for k := first; k < end; k++ {
		w := max(1-abs((float64(k)-middle+0.5)*(1/reach)), 0)
		buf = append(buf, w)
		sum += w
	}
	for len(buf) > 1 && buf[len(buf)-1] == 0 {
		buf = buf[:len(buf)-1]
	}
	if sum == 0 { // beyond the last element
		buf, sum, first = append(buf[:0], 1), 1, min(max(int(middle), 0), n-1)
	}
	f.first[i], f.weights[i] = first, make([]uint64, len(buf))
	left := 0.0 // error of rounding, carried over
	for k, w := range buf {
		exact := w/sum*(1<<bits) + left
		f.weights[i][k] = uint64(exact + 0.5)
		if len(buf) > manyWeights {
			left = exact - float64(f.weights[i][k])
		}
	}
	return buf
}

func abs(x float64) float64 { return max(x, -x) }

// across computes two lines at once, from elements in the lower and the upper half of each number.
// It stores element i at low[i*step] and high[i*step].
func (f *filter) across(pairs []uint64, low, high []byte, step int) {
	if f.copies {
		for i, p := range pairs[f.first[0]:][:len(f.first)] {
			low[i*step], high[i*step] = byte(p), byte(p>>32)
		}
		return
	}
	const half = 1<<(bits-1) | 1<<(bits-1+32)
	for i, first := range f.first {
		w := f.weights[i]
		from := pairs[first : first+len(w)]
		sum := uint64(half)
		for k, weight := range w {
			sum += from[k] * weight
		}
		low[i*step], high[i*step] = byte(sum>>bits), byte(sum>>(bits+32))
	}
}

// down computes line i of the result from its source rows. Rows and line have the same length, a
// multiple of 8 bytes.
func (f *filter) down(dst, rows []byte, i int) {
	const mask = 0x000000ff000000ff
	const half = 1<<(bits-1) | 1<<(bits-1+32)
	w, stride := f.weights[i], len(dst)
	for x := 0; x < stride; x += 8 {
		var a, b, c, d uint64 = half, half, half, half
		for k, at := 0, x; k < len(w); k, at = k+1, at+stride {
			v := binary.LittleEndian.Uint64(rows[at:])
			a += v & mask * w[k]
			b += v >> 8 & mask * w[k]
			c += v >> 16 & mask * w[k]
			d += v >> 24 & mask * w[k]
		}
		v := a>>bits&mask | b>>bits&mask<<8 | c>>bits&mask<<16 | d>>bits&mask<<24
		binary.LittleEndian.PutUint64(dst[x:], v)
	}
}
