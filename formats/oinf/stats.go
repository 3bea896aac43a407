package oinf

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stats describes the finite elements of a tensor.
type stats struct {
	n                           int // number of finite elements
	nan, plus, minus            int // numbers of NaN and infinities
	min, max, mean, median, std float64
	bins                        []bin
}

// bin counts the elements between two numbers. Empty bins are left out, except for booleans.
type bin struct {
	low, high float64
	n         int
}

// most is the number of numbers that are sorted at once. chunk is the number of elements that are
// decoded at once.
const (
	most  = 1 << 16
	chunk = 1 << 12
)

// describe computes the statistics in passes over the elements, in memory of fixed size. If ctx
// ends, they are incomplete.
func describe(ctx context.Context, t *tensor.Tensor) stats {
	nan := math.NaN()
	s := stats{min: math.Inf(1), max: math.Inf(-1)}
	var sum float64
	whole := walk(ctx, t, func(list []float64) {
		part := 0.0
		for _, v := range list {
			switch {
			case v-v == 0:
				s.n++
				s.min, s.max = min(s.min, v), max(s.max, v)
				part += v
			case v != v:
				s.nan++
			case v > 0:
				s.plus++
			default:
				s.minus++
			}
		}
		sum += part
	})
	if s.n == 0 || !whole {
		s.min, s.max, s.mean, s.median, s.std = nan, nan, nan, nan, nan
		return s
	}
	s.mean = sum / float64(s.n)
	h := newHistogram(t.DType(), s.min, s.max)
	sum = 0
	whole = finite(ctx, t, func(list []float64) {
		part := 0.0
		for _, v := range list {
			d := v - s.mean
			part += d * d
			h.add(v)
		}
		sum += part
	})
	s.std = math.Sqrt(sum / float64(s.n))
	switch {
	case !whole:
	case h.byValue:
		s.median = h.median(s.n)
	default:
		s.median = median(ctx, t, s.n)
	}
	if s.median == 0 {
		s.median = 0 // the middle may be either of two zeros
	}
	s.bins = h.bins
	if t.DType() != tensor.Bool {
		s.bins = slices.DeleteFunc(s.bins, func(b bin) bool { return b.n == 0 })
	}
	return s
}

// walk calls visit with the elements as float64, up to chunk at a time. It reports whether it
// visited all. It stops if ctx ends.
func walk(ctx context.Context, t *tensor.Tensor, visit func(list []float64)) bool {
	d := t.DType()
	decode := decoder(d)
	list := make([]float64, min(chunk, t.Len()))
	for at := 0; at < t.Len(); at += chunk {
		if ctx.Err() != nil {
			return false
		}
		part := list[:min(chunk, t.Len()-at)]
		decode(part, t.Bytes()[d.Bytes(at):])
		visit(part)
	}
	return true
}

// finite is walk without NaN and infinities.
func finite(ctx context.Context, t *tensor.Tensor, visit func(list []float64)) bool {
	return walk(ctx, t, func(list []float64) {
		visit(slices.DeleteFunc(list, func(v float64) bool { return v-v != 0 }))
	})
}

// decoder returns a function that reads elements of one of the format's types.
func decoder(d tensor.DType) func(dst []float64, src []byte) {
	if f := container.Decoder(d); f != nil {
		return f
	}
	if l := d.Layout(); l != nil {
		codes := make([]int8, chunk)
		return func(dst []float64, src []byte) {
			l.Unpack(codes[:len(dst)], src)
			for i := range dst {
				dst[i] = float64(codes[i])
			}
		}
	}
	size, shift := d.Bits()/8, 64-d.Bits()
	signed := d.Kind() == tensor.Signed
	return func(dst []float64, src []byte) {
		for i := range dst {
			var v uint64
			switch b := src[i*size:]; size {
			case 1:
				v = uint64(b[0])
			case 2:
				v = uint64(binary.LittleEndian.Uint16(b))
			case 4:
				v = uint64(binary.LittleEndian.Uint32(b))
			default:
				v = binary.LittleEndian.Uint64(b)
			}
			if signed {
				dst[i] = float64(int64(v<<shift) >> shift)
			} else {
				dst[i] = float64(v)
			}
		}
	}
}

// histogram counts elements. Integers close to each other are counted by value. Other numbers are
// counted in ten bins of one width; the last bin includes its end.
type histogram struct {
	bins    []bin
	byValue bool
	low     float64
	width   float64 // of all bins
	scale   float64 // below 1 if the width would overflow
}

func newHistogram(d tensor.DType, low, high float64) *histogram {
	h := &histogram{low: low, scale: 1}
	const exact = 1 << 53
	switch {
	case d == tensor.Bool:
		low, high = 0, 1
		fallthrough
	case !d.IsFloat() && high-low <= 20 && low >= -exact && high <= exact:
		h.low, h.byValue = low, true
		for v := low; v <= high; v++ {
			h.bins = append(h.bins, bin{low: v, high: v})
		}
		return h
	case low == high:
		h.bins = []bin{{low: low, high: high}}
		return h
	}
	if math.IsInf(high-low, 0) {
		h.scale = 0.5
	}
	h.low *= h.scale
	h.width = high*h.scale - h.low
	h.bins = make([]bin, 10)
	for i := range h.bins {
		h.bins[i].low, h.bins[i].high = h.edge(i), h.edge(i+1)
	}
	h.bins[9].high = high
	return h
}

func (h *histogram) edge(i int) float64 { return (h.low + float64(i)*(h.width/10)) / h.scale }

func (h *histogram) add(v float64) {
	i := 0
	switch {
	case h.byValue:
		i = int(v - h.low)
	case len(h.bins) > 1:
		i = min(int((v*h.scale-h.low)/h.width*10), 9)
		if v < h.bins[i].low && i > 0 {
			i--
		} else if v >= h.bins[i].high && i < 9 {
			i++
		}
	}
	h.bins[i].n++
}

// median returns the median of n elements that were counted by value.
func (h *histogram) median(n int) float64 {
	at := func(rank int) float64 {
		i := 0
		for ; rank >= h.bins[i].n; i++ {
			rank -= h.bins[i].n
		}
		return h.bins[i].low
	}
	return (at((n-1)/2) + at(n/2)) / 2
}

// median returns the middle one of the n finite elements, or the mean of the middle two. It counts
// elements by leading bits, 16 at a time, until few enough candidates are left to sort.
func median(ctx context.Context, t *tensor.Tensor, n int) float64 {
	rank, rest := (n-1)/2, n // rank of the lower middle among the candidates, and their number
	shift, prefix := 64, uint64(0)
	for rest > most && shift > 0 {
		counts := make([]int, 1<<16)
		if !finite(ctx, t, func(list []float64) {
			for _, v := range list {
				if k := key(v); k>>shift == prefix {
					counts[k>>(shift-16)&0xffff]++
				}
			}
		}) {
			return math.NaN()
		}
		shift -= 16
		digit := 0
		for ; rank >= counts[digit]; digit++ {
			rank -= counts[digit]
		}
		prefix, rest = prefix<<16|uint64(digit), counts[digit]
	}
	var middle []float64 // the candidates
	next := math.Inf(1)  // the smallest element greater than all candidates
	whole := finite(ctx, t, func(list []float64) {
		for _, v := range list {
			switch k := key(v) >> shift; {
			case k == prefix && len(middle) < most:
				middle = append(middle, v)
			case k > prefix:
				next = min(next, v)
			}
		}
	})
	if !whole {
		return math.NaN()
	}
	slices.Sort(middle)
	low := middle[min(rank, len(middle)-1)]
	if n%2 == 1 {
		return low
	}
	high := next
	if rank+1 < rest {
		high = middle[min(rank+1, len(middle)-1)]
	}
	if m := (low + high) / 2; !math.IsInf(m, 0) {
		return m
	}
	return low/2 + high/2
}

// key returns an integer that orders like v: a smaller number has a smaller key.
func key(v float64) uint64 {
	bits := math.Float64bits(v)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}
