package op

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// det is the determinant of every square matrix, by elimination in double.
type det struct{}

func newDet(*Node) (Op, error) { return det{}, nil }

// Infer removes the last two axes.
func (det) Infer(c *Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if rank < 2 {
		return graph.Mark(graph.ErrShape, "input is %v, not a matrix", in.Type)
	}
	if _, ok := joinDim(in.Dims[rank-2], in.Dims[rank-1]); !ok {
		return graph.Mark(graph.ErrShape, "input is %v; a matrix with a determinant is square", in.Type)
	}
	c.Set(0, in.DType, joinDims(in.Dims[:rank-2]))
	return nil
}

// Run computes the output.
func (det) Run(c *Run) error {
	x, out := doubles(c.In[0]), c.Out[0]
	n := c.In[0].Shape()[len(c.In[0].Shape())-1]
	list := make([]float64, out.Len())
	m := make([]float64, n*n)
	for i := range list {
		copy(m, x[i*n*n:])
		list[i] = determinant(m, n)
	}
	putDoubles(out, list)
	return nil
}

// determinant eliminates in m, with the largest element of each column as pivot.
func determinant(m []float64, n int) float64 {
	d := 1.0
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if math.Abs(m[i*n+k]) > math.Abs(m[pivot*n+k]) {
				pivot = i
			}
		}
		if pivot != k {
			d = -d
			for j := k; j < n; j++ {
				m[k*n+j], m[pivot*n+j] = m[pivot*n+j], m[k*n+j]
			}
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

var detRows = []Row{
	{Name: "Det", Since: []int{11, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1},
		Types: floats, New: newDet},
}
