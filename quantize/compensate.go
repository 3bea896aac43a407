package quantize

import (
	"math"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Errors of a column are compensated by the columns after it (GPTQ). With H the mean of the products
// of the columns of the input, and U upper with U^T U = H^-1, the error e of column j changes column i
// after it by -e * U[j,i] / U[j,j]. The error of the product is the sum of d H d^T over rows d of
// differences.

// damping is the part of the mean of H's diagonal that is added to the diagonal.
const damping = 0.01

// span is the number of columns whose errors are applied to later columns at once.
const span = 128

// inverseFactor returns U of a symmetric matrix H of k rows, in rows.
func inverseFactor(h []float64, k int) ([]float32, error) {
	r := make([]float64, k*k) // upper, with r r^T = H
	mean := 0.0
	for i := range k {
		mean += h[i*k+i] / float64(k)
	}
	if !(mean > 0) || math.IsInf(mean, 0) {
		return nil, graph.Errorf(graph.ErrUnsupported, "calibration inputs are all zero or no numbers")
	}
	for j := k - 1; j >= 0; j-- {
		for i := j; i >= 0; i-- {
			s := h[i*k+j]
			if i == j {
				s += damping * mean
			}
			a, b := r[i*k+j+1:][:k-j-1], r[j*k+j+1:][:k-j-1]
			for n, v := range a {
				s -= v * b[n]
			}
			if i < j {
				r[i*k+j] = s / r[j*k+j]
				continue
			}
			if !(s > 0) {
				return nil, graph.Errorf(graph.ErrUnsupported, "calibration inputs are too few or too large for compensation")
			}
			r[j*k+j] = math.Sqrt(s)
		}
	}
	// The inverse of an upper matrix, row by row from the last.
	u := make([]float32, k*k)
	row := make([]float64, k)
	inverse := make([]float64, k*k)
	for i := k - 1; i >= 0; i-- {
		clear(row)
		for n := i + 1; n < k; n++ {
			if c := r[i*k+n]; c != 0 {
				for j := n; j < k; j++ {
					row[j] -= c * inverse[n*k+j]
				}
			}
		}
		row[i] = 1
		for j := i; j < k; j++ {
			inverse[i*k+j] = row[j] / r[i*k+i]
			u[i*k+j] = float32(inverse[i*k+j])
		}
	}
	return u, nil
}

// compensated rounds n rows of k elements one column after the other. round returns the number that
// a code stands for; before the first column of a block, begin is called with the elements of the
// block as they are then.
func compensated(x []float32, n, k, block int, u []float32, begin func(row, block int, x []float32), round func(row, column int, v float32) float32) {
	errs := make([]float32, n*span)
	for from := 0; from < k; from += span {
		to := min(from+span, k)
		for row := range n {
			w := x[row*k:][:k]
			for j := from; j < to; j++ {
				if j%block == 0 {
					end := min(j+block, k)
					begin(row, j/block, w[j:end])
				}
				y := round(row, j, w[j])
				e := (w[j] - y) / u[j*k+j]
				errs[row*span+j-from] = e
				add(w[j+1:to], -e, u[j*k+j+1:][:to-j-1])
				w[j] = y
			}
		}
		for row := range n {
			for j := from; j < to; j++ {
				add(x[row*k+to:][:k-to], -errs[row*span+j-from], u[j*k+to:][:k-to])
			}
		}
	}
}

// add adds c times y to x.
func add(x []float32, c float32, y []float32) {
	y = y[:len(x)]
	for i, v := range y {
		x[i] += float32(c * v)
	}
}

// spread returns the sum of d H d^T.
func spread(d []float64, h []float64) (sum float64) {
	k := len(d)
	for i, v := range d {
		if v == 0 {
			continue
		}
		s := 0.0
		for j, c := range h[i*k:][:k] {
			s += c * d[j]
		}
		sum += v * s
	}
	return sum
}

// compensate makes rows store codes that compensate errors. scale returns the scale and the zero point
// of a block, and store keeps them with the codes.
func (r *rows) compensate(h []float64, block int, grid packed.Integers,
	scale func(x []float32) (float32, int), store func(row, block int, scale float32, zero int, codes []uint8)) error {
	u, err := inverseFactor(h, r.k)
	if err != nil {
		return graph.Errorf(graph.ErrUnsupported, "weight %q: %w", r.name, err)
	}
	r.all = func(from, to int, x []float32, s *sums) {
		n, blocks := to-from, (r.k+block-1)/block
		before := append([]float32(nil), x...)
		scales, zeros, codes := make([]float32, n*blocks), make([]int, n*blocks), make([]uint8, n*blocks*block)
		compensated(x, n, r.k, block, u, func(row, b int, part []float32) {
			scales[row*blocks+b], zeros[row*blocks+b] = scale(part)
		}, func(row, column int, v float32) float32 {
			b := row*blocks + column/block
			code := codes[b*block+column%block:][:1]
			grid.Codes(code, []float32{v}, scales[b], zeros[b])
			return scales[b] * float32(int(code[0])+grid.Low-zeros[b])
		})
		for row := range n {
			for b := range blocks {
				at := row*blocks + b
				store(from+row, b, scales[at], zeros[at], codes[at*block:][:min(block, r.k-b*block)])
			}
		}
		s.addProducts(before, x, h, r.k)
	}
	return nil
}

// addProducts adds the errors of products with rows x, which have become y.
func (s *sums) addProducts(x, y []float32, h []float64, k int) {
	d := make([]float64, k)
	for at := 0; at < len(x); at += k {
		for i := range d {
			d[i] = float64(x[at+i]) - float64(y[at+i])
		}
		s.lost += spread(d, h)
		for i := range d {
			d[i] = float64(x[at+i])
		}
		s.power += spread(d, h)
	}
}

// compensateBlocks makes rows store blocks that compensate the errors of blocks before them. quantizer
// returns a function for one goroutine.
func (r *rows) compensateBlocks(h []float64, b *packed.Blocks, data []byte,
	quantizer func() func(dst []byte, src, importance []float32)) error {
	u, err := inverseFactor(h, r.k)
	if err != nil {
		return graph.Errorf(graph.ErrUnsupported, "weight %q: %w", r.name, err)
	}
	r.all = func(from, to int, x []float32, s *sums) {
		before, numbers := append([]float32(nil), x...), make([]float32, (to-from)*b.Elements)
		quantize, bytes := quantizer(), b.Size(r.k)
		compensated(x, to-from, r.k, b.Elements, u, func(row, at int, part []float32) {
			var w []float32
			if r.weigh != nil {
				w = r.weigh(from + row)[at*b.Elements:][:b.Elements]
			}
			dst := data[(from+row)*bytes+at*b.Bytes:][:b.Bytes]
			quantize(dst, part, w)
			b.Unpack(numbers[row*b.Elements:][:b.Elements], dst)
		}, func(row, column int, _ float32) float32 { return numbers[row*b.Elements+column%b.Elements] })
		s.addProducts(before, x, h, r.k)
	}
	return nil
}
