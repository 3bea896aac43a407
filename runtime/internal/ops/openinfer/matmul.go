package openinfer

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MatMul multiplies the matrices in the last two axes and broadcasts the other axes. On bools it
// computes or over and.
type MatMul struct{ acc tensor.DType }

var matmulRows = []op.Row{
	{Domain: Domain, Name: "matmul", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: slices.Concat(numberTypes, op.Boolean),
		New: func(n *op.Node) (op.Op, error) {
			acc, err := accumulator(n)
			return &MatMul{acc}, err
		}},
}

// Infer broadcasts the axes before the matrices.
func (o *MatMul) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
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
	if _, ok := kit.JoinDim(a[i+1], b[j]); !ok {
		return graph.Errorf(graph.ErrShape, "shapes %v and %v do not multiply: rows of %v elements by columns of %v", a, b,
			a[i+1], b[j])
	}
	dims, err := op.Broadcast(a[:i], b[:j])
	if err != nil {
		return err
	}
	c.Set(0, d, append(slices.Clone(dims), a[i], b[j+1]))
	return nil
}

// Run computes the product.
func (o *MatMul) Run(c *op.Run) error {
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

// A tile of a product has tileRows by tileColumns results. tileDepth rows of the right matrix are
// unpacked at a time.
const (
	tileRows    = 32
	tileColumns = 256
	tileDepth   = 64
)

// product is two tensors of matrices and the tensor of their products.
type product struct {
	a, b, y *tensor.Tensor
	m, k, n int
	from    [][2]int // offsets of the matrices, by product
}

func multiplyMatrices[C number](c *op.Run) error {
	a, b, y := c.In[0].Aligned(), c.In[1].Aligned(), c.Out[0]
	as, bs, ys := a.Shape(), b.Shape(), y.Shape()
	i, j := len(as)-2, len(bs)-2
	p := &product{a: a, b: b, y: y, m: as[i], k: as[i+1], n: bs[j+1]}
	if y.Len() == 0 {
		return nil
	}
	w, err := kit.NewWalker(ys[:len(ys)-2], as[:i], bs[:j])
	if err != nil {
		return err
	}
	for range ys[:len(ys)-2].Len() {
		p.from = append(p.from, [2]int{w.At[0] * p.m * p.k, w.At[1] * p.k * p.n})
		w.Next()
	}
	down, across := (p.m+tileRows-1)/tileRows, (p.n+tileColumns-1)/tileColumns
	err = c.Parallel(len(p.from)*down*across, p.grain(), func(from, to int) error {
		t := newTile[C](p)
		for at := from; at < to; at++ {
			if err := t.run(c, at/(down*across), at/across%down*tileRows, at%across*tileColumns); err != nil {
				return err
			}
		}
		return nil
	})
	clearTail(y)
	return err
}

// grain returns the number of tiles that justify a thread. If tiles share bytes, one thread
// computes all.
func (p *product) grain() int {
	if p.y.DType().Bits() < 8 && p.n%8 != 0 {
		return math.MaxInt / 2
	}
	return 1 + share/(tileRows*min(p.n, tileColumns)*max(p.k, 1))
}

// tile holds the results of a tile and the operands' elements.
type tile[C number] struct {
	*product
	row    []C // tileDepth elements of a row of a
	panel  []C // tileDepth by tileColumns elements of b
	result []C // tileRows by tileColumns
}

func newTile[C number](p *product) *tile[C] {
	return &tile[C]{p, make([]C, tileDepth), make([]C, tileDepth*tileColumns), make([]C, tileRows*tileColumns)}
}

// run computes the tile of product number with its first result at row top and column left.
func (t *tile[C]) run(c *op.Run, number, top, left int) error {
	rows, columns := min(tileRows, t.m-top), min(tileColumns, t.n-left)
	clear(t.result)
	aAt, bAt := t.from[number][0], t.from[number][1]
	for k := 0; k < t.k; k += tileDepth {
		if c.Stopped() {
			return op.ErrStopped
		}
		depth := min(tileDepth, t.k-k)
		for d := range depth {
			load(t.panel[d*columns:][:columns], t.b, bAt+(k+d)*t.n+left)
		}
		for r := range rows {
			load(t.row[:depth], t.a, aAt+(top+r)*t.k+k)
			addRows(t.result[r*columns:][:columns], t.row[:depth], t.panel)
		}
	}
	for r := range rows {
		store(t.y, number*t.m*t.n+(top+r)*t.n+left, t.result[r*columns:][:columns])
	}
	return nil
}

// addRows adds the rows of a panel, each times its factor, to sum in order.
func addRows[C number](sum, factors, panel []C) {
	n := len(sum)
	for len(factors) >= 4 {
		a, b, c, d := factors[0], factors[1], factors[2], factors[3]
		p, q, r, s := panel[:n], panel[n:][:n], panel[2*n:][:n], panel[3*n:][:n]
		for i, v := range sum {
			v += a * p[i]
			v += b * q[i]
			v += c * r[i]
			sum[i] = v + d*s[i]
		}
		factors, panel = factors[4:], panel[4*n:]
	}
	for k, a := range factors {
		for i, v := range panel[k*n:][:n] {
			sum[i] += a * v
		}
	}
}
