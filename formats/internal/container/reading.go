package container

import (
	"context"

	"github.com/nacre-ml/nacre/internal/budget"
)

// What a reader may make of a file in memory: SpareBytes, and MostBytes for each byte of the
// file.
const (
	SpareBytes = 64 << 20
	MostBytes  = 64
)

// Reading returns the budget of a reader of a file of that size.
func Reading(ctx context.Context, size int) *budget.Budget {
	return budget.New(ctx, budget.Limits{Bytes: SpareBytes + MostBytes*int64(size)})
}

// A Bound is the most of something that a reader takes of a file.
type Bound struct {
	What string
	Most int
}
