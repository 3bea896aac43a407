package vulkan

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
		lower.ByteProducts[*binder]("product"),
		lower.ByteConvs[*binder]("conv"),
		attentionRows,
		castRows,
		convRows,
		countRows,
		eltwiseRows,
		generateRows,
		indexRows,
		lossRows,
		matmulRows,
		normRows,
		orderRows,
		packedRows,
		poolRows,
		quantRows,
		randomRows,
		resizeRows,
		rnnRows,
		signalRows,
		textRows,
		visionRows,
	}
}

// byType finds the rows of an operator by its Go type.
var byType = sync.OnceValue(func() device.Rows[*binder] { return device.NewRows(families()) })
