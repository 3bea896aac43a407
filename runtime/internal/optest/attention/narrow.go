package attention

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codesWidth returns the bytes of a row of int8: codes, then a bfloat16 for each 32 of them.
func codesWidth(size int) int { return size + (size+31)/32*2 }

// narrowTypes returns the element types of narrow caches of keys and values of type d.
func narrowTypes(d tensor.DType) []tensor.DType {
	if d == tensor.F32 {
		return []tensor.DType{tensor.F16, tensor.I8}
	}
	return []tensor.DType{tensor.I8}
}

// cacheOf returns elements [batch,heads,rows,size] as a cache of type d stores them.
func cacheOf(d tensor.DType, f Headed, batch, heads, rows, size int) *tensor.Tensor {
	at := func(at []int) float64 { return f(at[0], at[1], at[2], at[3]) }
	if d != tensor.I8 {
		return cases.Filled(d, at, batch, heads, rows, size)
	}
	width := codesWidth(size)
	out := tensor.New(d, batch, heads, rows, width)
	codes := tensor.View[int8](out)
	for i := range batch * heads * rows {
		row := codes[i*width : (i+1)*width]
		for from := 0; from < size; from += 32 {
			x, most := make([]float32, min(32, size-from)), float32(0)
			for e := range x {
				x[e] = float32(f(i/rows/heads, i/rows%heads, i%rows, from+e))
				most = max(most, float32(math.Abs(float64(x[e]))))
			}
			high := (math.Float32bits(most/127) + 0xffff) >> 16
			scale := math.Float32frombits(high << 16)
			for e := range x {
				if scale > 0 {
					row[from+e] = int8(math.RoundToEven(float64(x[e] / scale)))
				}
			}
			row[size+from/32*2], row[size+from/32*2+1] = int8(high), int8(high>>8)
		}
	}
	return out
}

// pastOf returns a cache as cacheOf does, of elements that are encoded again as the same bytes.
func pastOf(d tensor.DType, f Headed, batch, heads, rows, size int) *tensor.Tensor {
	past := cacheOf(d, f, batch, heads, rows, size)
	for d == tensor.I8 {
		next := cacheOf(d, fromCache(past), batch, heads, rows, size)
		if slices.Equal(tensor.View[int8](next), tensor.View[int8](past)) {
			break
		}
		past = next
	}
	return past
}

// fromCache reads a cache [batch,heads,rows,size].
func fromCache(t *tensor.Tensor) Headed {
	if t.DType() != tensor.I8 {
		return byHead(t)
	}
	s, codes := t.Shape(), tensor.View[int8](t)
	width, size := s[3], s[3]
	for codesWidth(size) > width {
		size--
	}
	return func(b, h, r, i int) float64 {
		row := codes[((b*s[1]+h)*s[2]+r)*width:][:width]
		low, high := uint8(row[size+i/32*2]), uint8(row[size+i/32*2+1])
		return float64(row[i]) * float64(math.Float32frombits(uint32(high)<<24|uint32(low)<<16))
	}
}

// after returns rows of x after past rows of a cache.
func after(cache *tensor.Tensor, past int, x Headed) Headed {
	before := fromCache(cache)
	return func(b, h, r, i int) float64 {
		if r < past {
			return before(b, h, r, i)
		}
		return x(b, h, r-past, i)
	}
}
