package arith

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// matMulInt16 is MatMulInteger16: MatMul of 16-bit integers into 32-bit sums, which wrap around.
type matMulInt16 struct{}

// Infer sets int32, or uint32 if both operands are unsigned.
func (matMulInt16) Infer(c *op.Infer) error {
	dims, err := MatMulDims(c.In[0].Dims, c.In[1].Dims)
	if err != nil {
		return err
	}
	for _, v := range c.In {
		if v.DType != tensor.I16 && v.DType != tensor.U16 {
			return graph.Errorf(graph.ErrUnsupported, "operand %v is not of int16 or uint16", v.Type)
		}
	}
	d := tensor.I32
	if c.In[0].DType == tensor.U16 && c.In[1].DType == tensor.U16 {
		d = tensor.U32
	}
	c.Set(0, d, dims)
	return nil
}

// Run computes the output row by row.
func (matMulInt16) Run(c *op.Run) error {
	a, b := wide16(c.In[0]), wide16(c.In[1])
	as, bs := AsMatrices(c.In[0].Shape(), true, 1), AsMatrices(c.In[1].Shape(), false, 1)
	m, k, n := as[len(as)-2], as[len(as)-1], bs[len(bs)-1]
	outer, err := op.Broadcast(graph.DimsOf(as[:len(as)-2]), graph.DimsOf(bs[:len(bs)-2]))
	if err != nil {
		return err
	}
	shape, _ := outer.Concrete()
	w, err := kit.NewWalker(shape, as[:len(as)-2], bs[:len(bs)-2])
	if err != nil {
		return err
	}
	wide, err := c.ScratchInt64s(n)
	if err != nil {
		return err
	}
	for i := range shape.Len() * m {
		if c.Stopped() {
			return op.ErrStopped
		}
		clear(wide)
		row, rows := a[(w.At[0]*m+i%m)*k:][:k], b[w.At[1]*k*n:]
		for ; len(row) >= 8; row, rows = row[8:], rows[8*n:] {
			addRows(wide, (*[8]int64)(row), rows)
		}
		for j, v := range row {
			for q, x := range rows[j*n:][:n] {
				wide[q] += v * x
			}
		}
		elements.Put(c.Out[0], i*n, wide)
		if i%m == m-1 {
			w.Next()
		}
	}
	return nil
}

// addRows adds eight rows, each times a factor, to sum.
func addRows(sum []int64, by *[8]int64, rows []int64) {
	n := len(sum)
	var r [8][]int64
	for i := range r {
		r[i] = rows[i*n:][:n]
	}
	r0, r1, r2, r3, r4, r5, r6, r7 := r[0][:n], r[1][:n], r[2][:n], r[3][:n], r[4][:n], r[5][:n], r[6][:n], r[7][:n]
	f := *by
	for i := range sum {
		sum[i] += f[0]*r0[i] + f[1]*r1[i] + f[2]*r2[i] + f[3]*r3[i] + f[4]*r4[i] + f[5]*r5[i] + f[6]*r6[i] + f[7]*r7[i]
	}
}

// wide16 returns 16-bit integers as 64-bit integers.
func wide16(t *tensor.Tensor) []int64 {
	list := make([]int64, t.Len())
	elements.Get(list, t, 0)
	return list
}

var int16Rows = []op.Row{
	{Domain: kit.Microsoft, Name: "MatMulInteger16", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Heap: 8, New: func(*op.Node) (op.Op, error) { return matMulInt16{}, nil }},
}
