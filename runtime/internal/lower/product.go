package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// Product is a batch of products of matrices [M,K] and [K,N]. Results follow each other without
// gaps. Strides are in elements.
type Product struct {
	M, N, K                graph.Dim
	ARow, ACol, BRow, BCol graph.Dim
	Batch                  []BatchAxis // outermost first
}

// BatchAxis is an extent and the strides of both operands; the stride of a shared operand is 0.
type BatchAxis struct{ N, A, B graph.Dim }

// Step adds an axis to the batch, inside the others. It becomes part of the last one if both
// operands step over the two alike.
func (p *Product) Step(x BatchAxis) {
	if x.N.Is(1) {
		return
	}
	if k := len(p.Batch) - 1; k >= 0 && p.Batch[k].A.Same(x.A.Mul(x.N)) && p.Batch[k].B.Same(x.B.Mul(x.N)) {
		p.Batch[k] = BatchAxis{p.Batch[k].N.Mul(x.N), x.A, x.B}
		return
	}
	p.Batch = append(p.Batch, x)
}

// InputProduct is ProductOf for two inputs of a node.
func InputProduct(b Binder, order [2]arith.AxisOrder, left, right int) *Product {
	f := b.Facts()
	return ProductOf(order, [2]graph.Dims{f.In[left].Dims, f.In[right].Dims},
		[2]graph.Dims{f.Memory(left), f.Memory(right)})
}

// ProductOf cuts two operands into as few products as possible. Operands have axes with extents
// dims, in memory of extents memory, and are multiplied with these axes in the given order. Rows
// that share a right operand form one matrix.
func ProductOf(order [2]arith.AxisOrder, dims, memory [2]graph.Dims) *Product {
	var steps [2]graph.Dims
	one := graph.Known(1)
	for i, d := range dims {
		switch {
		case len(d) > 1:
			dims[i], steps[i] = order[i].Apply(d), order[i].Apply(kit.StridesOf(memory[i]))
		case i == 0: // a vector is a row on the left, and a column on the right
			dims[i], steps[i] = graph.Dims{one, d[0]}, graph.Dims{d[0], one}
		default:
			dims[i], steps[i] = graph.Dims{d[0], one}, graph.Dims{one, one}
		}
	}
	la, lb := len(dims[0])-2, len(dims[1])-2
	p := &Product{M: dims[0][la], K: dims[0][la+1], N: dims[1][lb+1], ARow: steps[0][la], ACol: steps[0][la+1],
		BRow: steps[1][lb], BCol: steps[1][lb+1]}
	for i := max(la, lb); i > 0; i-- {
		x := BatchAxis{N: one}
		if i <= la && !dims[0][la-i].Is(1) {
			x.N, x.A = dims[0][la-i], steps[0][la-i]
		}
		if i <= lb && !dims[1][lb-i].Is(1) {
			x.N, x.B = dims[1][lb-i], steps[1][lb-i]
		}
		p.Step(x)
	}
	if k := len(p.Batch) - 1; k >= 0 && p.Batch[k].B.Is(0) && p.Batch[k].A.Same(p.M.Mul(p.ARow)) {
		p.M, p.Batch = p.M.Mul(p.Batch[k].N), p.Batch[:k]
	}
	return p
}
