package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Det is the determinant of every square matrix, by elimination in double.
type Det struct{}

func newDet(*op.Node) (op.Op, error) { return Det{}, nil }

// Infer removes the last two axes.
func (Det) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v, not a matrix", in.Type)
	}
	if _, ok := op.JoinDim(in.Dims[rank-2], in.Dims[rank-1]); !ok {
		return graph.Errorf(graph.ErrShape, "input is %v; a matrix with a determinant is square", in.Type)
	}
	c.Set(0, in.DType, op.JoinDims(in.Dims[:rank-2]))
	return nil
}

// Run computes the output.
func (Det) Run(c *op.Run) error {
	x, out := op.Doubles(c.In[0]), c.Out[0]
	if out.Len() == 0 {
		return nil
	}
	n := c.In[0].Shape()[len(c.In[0].Shape())-1]
	list := make([]float64, out.Len())
	m := make([]float64, n*n)
	for i := range list {
		copy(m, x[i*n*n:])
		list[i] = determinant(m, n)
	}
	op.PutDoubles(out, list)
	return nil
}

// determinant eliminates in m, with the largest element of each column as pivot.
func determinant(m []float64, n int) float64 {
	d := 1.0
	for k := range n {
		if pivot := largestBelow(m, n, k); pivot != k {
			d = -d
			swapRows(m, n, k, pivot)
		}
		p := m[k*n+k]
		d *= p
		if p == 0 {
			return 0
		}
		for i := k + 1; i < n; i++ {
			f := m[i*n+k] / p
			for j := k + 1; j < n; j++ {
				m[i*n+j] -= f * m[k*n+j]
			}
		}
	}
	return d
}

// Inverse is that of every square matrix, by elimination in double. A matrix that
// has none yields what dividing by 0 does.
type Inverse struct{}

func newInverse(*op.Node) (op.Op, error) { return Inverse{}, nil }

// Infer keeps the shape of square matrices.
func (Inverse) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, in.Dims)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v, not a matrix", in.Type)
	}
	if _, ok := op.JoinDim(in.Dims[rank-2], in.Dims[rank-1]); !ok {
		return graph.Errorf(graph.ErrShape, "input is %v; a matrix with an inverse is square", in.Type)
	}
	return nil
}

// Run computes the output.
func (Inverse) Run(c *op.Run) error {
	n := op.FromEnd(c.In[0].Shape(), 1)
	if c.Out[0].Len() == 0 {
		return nil
	}
	x := slices.Clone(op.Doubles(c.In[0]))
	for m := range slices.Chunk(x, n*n) {
		invert(m, n)
	}
	op.PutDoubles(c.Out[0], x)
	return nil
}

// invert replaces a matrix by its inverse, with the largest element of each column
// as pivot.
func invert(m []float64, n int) {
	rows := make([]int, n) // which row became row k
	for k := range n {
		pivot := largestBelow(m, n, k)
		swapRows(m, n, k, pivot)
		rows[k] = pivot
		p := m[k*n+k]
		m[k*n+k] = 1
		for j := range n {
			m[k*n+j] /= p
		}
		for i := range n {
			f := m[i*n+k]
			if i == k {
				continue
			}
			m[i*n+k] = 0
			for j := range n {
				m[i*n+j] -= f * m[k*n+j]
			}
		}
	}
	// Rows that changed places are columns of the inverse that do.
	for k := n - 1; k >= 0; k-- {
		for i := 0; i < n && rows[k] != k; i++ {
			m[i*n+k], m[i*n+rows[k]] = m[i*n+rows[k]], m[i*n+k]
		}
	}
}

// largestBelow is the row from k on whose element in column k is the largest.
func largestBelow(m []float64, n, k int) int {
	pivot := k
	for i := k + 1; i < n; i++ {
		if math.Abs(m[i*n+k]) > math.Abs(m[pivot*n+k]) {
			pivot = i
		}
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
		Types: op.Floats, New: newDet},
	{Domain: op.Microsoft, Name: "Inverse", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, New: newInverse},
}
