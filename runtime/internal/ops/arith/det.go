package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Det computes the determinant of every square matrix, by elimination in float64.
type Det struct{}

func newDet(*op.Node) (op.Op, error) { return Det{}, nil }

// Infer removes the last two axes.
func (Det) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	rank, err := squareRank(in, "a determinant")
	if err == nil && rank > 0 {
		c.Set(0, in.DType, kit.JoinDims(in.Dims[:rank-2]))
	}
	return err
}

// squareRank returns the rank of square matrices, or 0 if it is not known. what names the result
// that only square matrices have.
func squareRank(in *op.Value, what string) (int, error) {
	rank, ok := in.Rank()
	if !ok {
		return 0, nil
	}
	if rank < 2 {
		return 0, graph.Errorf(graph.ErrShape, "input is %v, not a matrix", in.Type)
	}
	if _, ok := kit.JoinDim(in.Dims[rank-2], in.Dims[rank-1]); !ok {
		return 0, graph.Errorf(graph.ErrShape, "input is %v; a matrix with %s is square", in.Type, what)
	}
	return rank, nil
}

// Run computes the output.
func (Det) Run(c *op.Run) error {
	list := make([]float64, 0, matrixGroup)
	return matrices(c, func(m []float64, at, count, n int) error {
		list = list[:0]
		for i := range count {
			d, err := determinant(c, m[i*n*n:(i+1)*n*n], n)
			if err != nil {
				return err
			}
			list = append(list, d)
		}
		kit.PutDoubles(c.Out[0].Part(at, tensor.Shape{count}), list)
		return nil
	})
}

// determinant eliminates in m, overwriting it. The pivot is the largest element of each column.
func determinant(c *op.Run, m []float64, n int) (float64, error) {
	d := 1.0
	for k := range n {
		if c.Stopped() {
			return 0, op.ErrStopped
		}
		if pivot := largestBelow(m, n, k); pivot != k {
			d = -d
			swapRows(m, n, k, pivot)
		}
		p := m[k*n+k]
		d *= p
		if p == 0 {
			return 0, nil
		}
		row := m[k*n+k+1 : (k+1)*n]
		for i := k + 1; i < n; i++ {
			subtract(m[i*n+k+1:(i+1)*n], row, m[i*n+k]/p)
		}
	}
	return d, nil
}

// Inverse inverts every square matrix, by elimination in float64. A singular matrix yields the
// infinities and NaNs of a division by 0.
type Inverse struct{}

func newInverse(*op.Node) (op.Op, error) { return Inverse{}, nil }

// Infer keeps the shape of square matrices.
func (Inverse) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, in.Dims)
	_, err := squareRank(in, "an inverse")
	return err
}

// Run computes the output.
func (Inverse) Run(c *op.Run) error {
	var rows []int
	return matrices(c, func(m []float64, at, count, n int) error {
		rows = slices.Grow(rows[:0], n)[:n]
		for i := range count {
			if err := invert(c, m[i*n*n:(i+1)*n*n], rows); err != nil {
				return err
			}
		}
		kit.PutDoubles(c.Out[0].Part(at*n*n, tensor.Shape{len(m)}), m)
		return nil
	})
}

// matrixGroup is the number of elements that are widened at once, but at least one matrix is.
const matrixGroup = 1024

// matrices widens the n x n matrices of the input and calls f for count of them at a time, in m,
// from matrix at on. f may write to m.
func matrices(c *op.Run, f func(m []float64, at, count, n int) error) error {
	n, all := kit.FromEnd(c.In[0].Shape(), 1), c.In[0].Shape()[:len(c.In[0].Shape())-2].Len()
	group := min(max(matrixGroup/max(n*n, 1), 1), all)
	wide, err := c.ScratchTensor(tensor.F64, tensor.Shape{group, n, n})
	if err != nil {
		return err
	}
	for at := 0; at < all; at += group {
		count := min(group, all-at)
		m := tensor.View[float64](wide)[:count*n*n]
		kit.GetDoubles(m, c.In[0], at*n*n)
		if err := f(m, at, count, n); err != nil {
			return err
		}
	}
	return nil
}

// invert replaces m by its inverse. The pivot is the largest element of each column. It sets
// rows[k] to the row that was swapped with row k.
func invert(c *op.Run, m []float64, rows []int) error {
	n := len(rows)
	for k := range n {
		if c.Stopped() {
			return op.ErrStopped
		}
		pivot := largestBelow(m, n, k)
		swapRows(m, n, k, pivot)
		rows[k] = pivot
		row := m[k*n : (k+1)*n]
		p := row[k]
		row[k] = 1
		for j := range row {
			row[j] /= p
		}
		for i := range n {
			if to := m[i*n : (i+1)*n]; i != k {
				f := to[k]
				to[k] = 0
				subtract(to, row, f)
			}
		}
	}
	// Swapped rows of the matrix are swapped columns of the inverse.
	for k := n - 1; k >= 0; k-- {
		for i := 0; i < n && rows[k] != k; i++ {
			m[i*n+k], m[i*n+rows[k]] = m[i*n+rows[k]], m[i*n+k]
		}
	}
	return nil
}

// subtract subtracts f times row from another row of the same length.
func subtract(from, row []float64, f float64) {
	for len(row) >= 4 && len(from) >= 4 {
		from[0] -= f * row[0]
		from[1] -= f * row[1]
		from[2] -= f * row[2]
		from[3] -= f * row[3]
		from, row = from[4:], row[4:]
	}
	for j, v := range row {
		from[j] -= f * v
	}
}

// largestBelow returns the row from k on with the largest absolute value in column k.
func largestBelow(m []float64, n, k int) int {
	// Without the sign, bits are ordered as absolute values are. There are no branches, because
	// nothing could predict them.
	pivot, most := k, uint64(0)
	for i, at := k, k*n+k; i < n; i, at = i+1, at+n {
		v := math.Float64bits(m[at]) << 1
		larger := -kit.Btoi(v > most)
		pivot ^= (pivot ^ i) & larger
		most = max(most, v)
	}
	return pivot
}

func swapRows(m []float64, n, a, b int) {
	for j := 0; j < n && a != b; j++ {
		m[a*n+j], m[b*n+j] = m[b*n+j], m[a*n+j]
	}
}

var detRows = []op.Row{
	{Name: "Det", Since: []int{11, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		Types: op.Floats, Items: itemsOfMatrix, New: newDet},
	{Domain: kit.Microsoft, Name: "Inverse", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, New: newInverse},
}
