package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// products holds the extents and strides of a batch of products.
type products struct {
	m, n, k                int
	aRow, aCol, bRow, bCol int
	batch                  []int // extents of the batch axes, then as many strides of a, then of b
}

// matmulProducts divides row-major operands with at least two axes into as few products as
// possible. It merges batch axes that both operands step over together, and merges rows that share
// their right operand into one matrix.
func matmulProducts(a, b tensor.Shape) products {
	la, lb := len(a)-2, len(b)-2
	s := products{m: a[la], k: a[la+1], n: b[lb+1]}
	s.aRow, s.aCol, s.bRow, s.bCol = s.k, 1, s.n, 1
	axes := broadcastAxes(a[:la], b[:lb], s.m*s.k, s.k*s.n)
	if last := len(axes) - 1; last >= 0 && axes[last][2] == 0 && axes[last][1] == s.m*s.k {
		s.m *= axes[last][0]
		axes = axes[:last]
	}
	for part := range 3 {
		for _, x := range axes {
			s.batch = append(s.batch, x[part])
		}
	}
	return s
}

// broadcastAxes returns extent, stride in a and stride in b for each batch axis. Consecutive
// matrices are aStep and bStep elements apart.
func broadcastAxes(a, b tensor.Shape, aStep, bStep int) [][3]int {
	var axes [][3]int // innermost first
	for i := 1; i <= max(len(a), len(b)); i++ {
		x := [3]int{1, 0, 0}
		if d := kit.FromEnd(a, i); d != 1 {
			x[0], x[1] = d, aStep
			aStep *= d
		}
		if d := kit.FromEnd(b, i); d != 1 {
			x[0], x[2] = d, bStep
			bStep *= d
		}
		if x[0] == 1 {
			continue
		}
		if n := len(axes) - 1; n >= 0 && x[1] == axes[n][1]*axes[n][0] && x[2] == axes[n][2]*axes[n][0] {
			axes[n][0] *= x[0]
			continue
		}
		axes = append(axes, x)
	}
	slices.Reverse(axes)
	return axes
}
