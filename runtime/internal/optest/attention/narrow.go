package attention

import (
	"encoding/binary"
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scaleBytes is the size of the scale of a row of int8.
const scaleBytes = 4

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
	out := tensor.New(d, batch, heads, rows, size+scaleBytes)
	codes := tensor.View[int8](out)
	for i := range batch * heads * rows {
		row, most := codes[i*(size+scaleBytes):], float32(0)
		x := make([]float32, size)
		for e := range x {
			x[e] = float32(f(i/rows/heads, i/rows%heads, i%rows, e))
			most = max(most, float32(math.Abs(float64(x[e]))))
		}
		scale := most / 127
		for e := range x {
			if scale > 0 {
				row[e] = int8(math.RoundToEven(float64(x[e] / scale)))
			}
		}
		var bits [scaleBytes]byte
		binary.LittleEndian.PutUint32(bits[:], math.Float32bits(scale))
		for j, b := range bits {
			row[size+j] = int8(b)
		}
	}
	return out
}

// fromCache reads a cache [batch,heads,rows,size].
func fromCache(t *tensor.Tensor) Headed {
	if t.DType() != tensor.I8 {
		return byHead(t)
	}
	s, codes := t.Shape(), tensor.View[int8](t)
	width := s[3]
	return func(b, h, r, i int) float64 {
		row := codes[((b*s[1]+h)*s[2]+r)*width:][:width]
		var bits [scaleBytes]byte
		for j, c := range row[width-scaleBytes:] {
			bits[j] = byte(c)
		}
		return float64(row[i]) * float64(math.Float32frombits(binary.LittleEndian.Uint32(bits[:])))
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
