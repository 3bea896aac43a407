// Package budget counts the memory and the work that a file or a text asks for, before they are
// spent.
package budget

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// The kinds of errors of an exhausted budget.
var (
	ErrBytes = errors.New("not enough memory")
	ErrSteps = errors.New("too much work")
)

// Limits are the bounds of a budget; 0 means no bound.
type Limits struct {
	Bytes int64 // memory held at once
	Steps int64 // units of work of about a nanosecond to a microsecond each
}

// Budget is the unspent part of limits. Its methods are safe for concurrent use. A nil Budget has
// no bounds.
type Budget struct {
	ctx         context.Context
	whole       *Budget // that this one is a part of
	limits      Limits
	held, spent atomic.Int64
}

// New returns a budget that also ends with ctx.
func New(ctx context.Context, limits Limits) *Budget { return &Budget{ctx: ctx, limits: limits} }

// Part returns a budget that takes from b, too, and ends with b.
func (b *Budget) Part(limits Limits) *Budget {
	if b == nil {
		return New(context.Background(), limits)
	}
	return &Budget{ctx: b.ctx, whole: b, limits: limits}
}

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
			break
		}
	}
	err := b.whole.Bytes(n)
	if err != nil {
		b.held.Add(-n)
	}
	return err
}

// Release returns n bytes to the budget.
func (b *Budget) Release(n int64) {
	for ; b != nil; b = b.whole {
		b.held.Add(-n)
	}
}

// Held returns the number of bytes taken.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held.Load()
}

// lookEvery is the number of steps between two checks of the context.
const lookEvery = 1 << 12

// Steps takes n steps. If fewer are left, it returns an error of kind ErrSteps. Every lookEvery
// steps it returns the error of the context.
func (b *Budget) Steps(n int64) error {
	switch {
	case b == nil:
		return nil
	case n < 0:
		return fmt.Errorf("%w: %d steps", ErrSteps, n)
	}
	// A call beyond the limit is not counted, so that the count does not wrap.
	spent := b.spent.Load()
	for {
		if b.limits.Steps > 0 && n > b.limits.Steps-spent {
			return fmt.Errorf("%w: the limit is %d steps", ErrSteps, b.limits.Steps)
		}
		if b.spent.CompareAndSwap(spent, spent+n) {
			break
		}
		spent = b.spent.Load()
	}
	switch {
	case b.whole != nil:
		return b.whole.Steps(n)
	case (spent+n)/lookEvery != spent/lookEvery:
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
