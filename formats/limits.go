package formats

import (
	"context"

	"github.com/nacre-ml/nacre/internal/budget"
)

// Limits bound what reading may take: Bytes, an int64, of memory beside the file, and Steps, an int64,
// of work of about a nanosecond to a microsecond each. 0 is no bound.
// "go doc github.com/nacre-ml/nacre/internal/budget.Limits" shows it.
type Limits = budget.Limits

// Budget is the unspent part of limits, and a context that ends what spends it. A service that
// reads models of strangers gives each of them a budget. A nil Budget sets no bound. It has no fields;
// "go doc github.com/nacre-ml/nacre/internal/budget.Budget" shows its methods.
type Budget = budget.Budget

// NewBudget returns a budget. Reading that exceeds a limit is an error of kind graph.ErrMemory, and
// reading while ctx is done the error of ctx.
func NewBudget(ctx context.Context, l Limits) *Budget { return budget.New(ctx, l) }
