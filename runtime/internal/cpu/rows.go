package cpu

import (
	"sync"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
)

// families lists the rows of every family, one line per file. The best row of an operator comes
// first.
func families() [][]row {
	return [][]row{
		lower.Moves[*binder](),
		lower.Maps[*binder](),
		lower.Reductions[*binder](),
		lower.Summations[*binder](),
		lower.Lookups[*binder](),
		lower.Attentions[*binder](),
		lower.Norms[*binder](),
		lower.ByteProducts[*binder]("gemv", "gemm"),
		lower.ByteConvs[*binder]("depthwise", "gemv", "gemm"),
		attentionRows,
		blocksRows,
		castRows,
		convRows,
		copyRows,
		deformRows,
		eltwiseRows,
		flexRows,
		foldRows,
		gatherRows,
		matmulRows,
		intMatMulRows,
		mlRows,
		moeRows,
		nbitsRows,
		normRows,
		poolRows,
		quantLSTMRows,
		quantRows,
		randomRows,
		reduceRows,
		resizeRows,
		rnnRows,
		sampleRows,
		storeRows,
	}
}

// byType finds the rows of an operator by its Go type.
var byType = sync.OnceValue(func() device.Rows[*binder] { return device.NewRows(families()) })
