// Package budget counts the memory and the work that a file or a text asks for, before
// either is spent.
package budget

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// Kinds of errors of a budget that is spent.
var (
	ErrBytes = errors.New("not enough memory")
	ErrSteps = errors.New("too much work")
)

// Limits are the bounds of a budget. A bound of 0 bounds nothing.
type Limits struct {
	Bytes int64 // memory that is held at once
	Steps int64 // units of work, of about a nanosecond to a microsecond each
}

// Budget is what is left of limits. Its methods may be called at the same time, and a nil
// Budget bounds nothing.
type Budget struct {
	ctx         context.Context
	limits      Limits
	held, spent atomic.Int64
}

// New returns a budget that ends with ctx, too.
func New(ctx context.Context, limits Limits) *Budget { return &Budget{ctx: ctx, limits: limits} }

// Bytes takes n bytes. If fewer are left, it takes none and returns an error of kind ErrBytes.
func (b *Budget) Bytes(n int64) error {
	switch {
	case b == nil:
		return nil
	case n < 0:
		return fmt.Errorf("%w: a size is %d bytes", ErrBytes, n)
	}
	for {
		held := b.held.Load()
		if b.limits.Bytes > 0 && n > b.limits.Bytes-held {
			return fmt.Errorf("%w: %d bytes beside %d that are held, and the limit is %d", ErrBytes, n, held, b.limits.Bytes)
		}
		if b.held.CompareAndSwap(held, held+n) {
			return nil
		}
	}
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	if b != nil {
		b.held.Add(-n)
	}
}

// Held returns the bytes that are taken.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held.Load()
}

// lookEvery is how many steps are taken between two looks at the context.
const lookEvery = 1 << 12

// Steps takes n steps. If fewer are left, it returns an error of kind ErrSteps. Now and then it
// returns the error of the context.
func (b *Budget) Steps(n int64) error {
	switch {
	case b == nil:
		return nil
	case n < 0:
		return fmt.Errorf("%w: %d steps", ErrSteps, n)
	}
	// The count stays at the limit once it is passed, so that it never wraps.
	spent := b.spent.Load()
	if b.limits.Steps > 0 && n > b.limits.Steps-spent {
		return fmt.Errorf("%w: the limit is %d steps", ErrSteps, b.limits.Steps)
	}
	if b.spent.Add(n)/lookEvery != spent/lookEvery {
		return b.Err()
	}
	return nil
}

// Err returns the error of the context.
func (b *Budget) Err() error {
	if b == nil {
		return nil
	}
	return b.ctx.Err()
}
