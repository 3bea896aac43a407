package openinfer

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// matmul multiplies matrices, which lie in the last two axes; the axes before them
// broadcast. Of bools it is the disjunction of conjunctions.
type matmul struct{ acc tensor.DType }

var matmulRows = []op.Row{
	{Domain: Domain, Name: "matmul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: slices.Concat(numberTypes, op.Boolean),
		New: func(n *op.Node) (op.Op, error) {
			acc, err := accumulator(n)
			return &matmul{acc}, err
		}},
}

// Infer broadcasts the axes before the matrices.
func (o *matmul) Infer(c *op.Infer) error {
	if err := op.SameTypes(c.In); err != nil {
		return err
	}
	d := c.In[0].DType
	if o.acc != tensor.Invalid {
		if d.Kind() != o.acc.Kind() || d.Bits() >= o.acc.Bits() {
			return graph.Errorf(graph.ErrUnsupported, "acc=%v does not widen %v elements", o.acc, d)
		}
		d = o.acc
	}
	a, b := c.In[0].Dims, c.In[1].Dims
	if a == nil || b == nil {
		c.Set(0, d, nil)
		return nil
	}
	if len(a) < 2 || len(b) < 2 {
		return graph.Errorf(graph.ErrShape, "operands have shapes %v and %v; matrices have two axes or more", a, b)
	}
	i, j := len(a)-2, len(b)-2
	if _, ok := op.JoinDim(a[i+1], b[j]); !ok {
		return graph.Errorf(graph.ErrShape, "shapes %v and %v do not multiply: rows of %v elements by columns of %v", a, b, a[i+1], b[j])
	}
	dims, err := op.Broadcast(a[:i], b[:j])
	if err != nil {
		return err
	}
	c.Set(0, d, append(slices.Clone(dims), a[i], b[j+1]))
	return nil
}

// Run computes the output.
func (o *matmul) Run(c *op.Run) error {
	switch d := c.In[0].DType(); {
	case d == tensor.F64:
		return multiplyMatrices[float64](c)
	case d.IsFloat():
		return multiplyMatrices[float32](c)
	case d.Kind() == tensor.Signed:
		return multiplyMatrices[int64](c)
	}
	return multiplyMatrices[uint64](c)
}

// A tile of a product is tileRows by tileColumns results; tileDepth rows of the right
// matrix are unpacked at a time.
const (
	tileRows    = 32
	tileColumns = 256
	tileDepth   = 64
)

// product is two matrices within tensors and the product within a third.
type product[C number] struct {
	a, b, y       *tensor.Tensor
	m, k, n       int
	aAt, bAt, yAt int
	row           []C // tileDepth elements of a row of a
	panel         []C // tileDepth by tileColumns elements of b
	tile          []C // tileRows by tileColumns results
}

func multiplyMatrices[C number](c *op.Run) error {
	a, b, y := c.In[0].Aligned(), c.In[1].Aligned(), c.Out[0]
	as, bs, ys := a.Shape(), b.Shape(), y.Shape()
	i, j := len(as)-2, len(bs)-2
	p := &product[C]{a: a, b: b, y: y, m: as[i], k: as[i+1], n: bs[j+1],
		row: make([]C, tileDepth), panel: make([]C, tileDepth*tileColumns), tile: make([]C, tileRows*tileColumns)}
	if y.Len() == 0 {
		return nil
	}
	w, err := op.NewWalker(ys[:len(ys)-2], as[:i], bs[:j])
	if err != nil {
		return err
	}
	for range ys[:len(ys)-2].Len() {
		p.aAt, p.bAt = w.At[0]*p.m*p.k, w.At[1]*p.k*p.n
		for top := 0; top < p.m; top += tileRows {
			for left := 0; left < p.n; left += tileColumns {
				if err := p.run(c, top, left); err != nil {
					return err
				}
			}
		}
		p.yAt += p.m * p.n
		w.Next()
	}
	clearTail(y)
	return nil
}

// run computes the tile whose first result is of a row and a column.
func (p *product[C]) run(c *op.Run, top, left int) error {
	rows, columns := min(tileRows, p.m-top), min(tileColumns, p.n-left)
	clear(p.tile)
	for k := 0; k < p.k; k += tileDepth {
		if c.Stopped() {
			return op.ErrStopped
		}
		depth := min(tileDepth, p.k-k)
		for d := range depth {
			load(p.panel[d*columns:][:columns], p.b, p.bAt+(k+d)*p.n+left)
		}
		for r := range rows {
			load(p.row[:depth], p.a, p.aAt+(top+r)*p.k+k)
			sum := p.tile[r*columns:][:columns]
			for d, v := range p.row[:depth] {
				for i, x := range p.panel[d*columns:][:columns] {
					sum[i] += v * x
				}
			}
		}
	}
	for r := range rows {
		store(p.y, p.yAt+(top+r)*p.n+left, p.tile[r*columns:][:columns])
	}
	return nil
}
