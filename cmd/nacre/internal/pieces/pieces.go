// Package pieces cuts loops over elements so that they end with a context.
package pieces

import "context"

// Length is the most elements between two looks at the context.
const Length = 1 << 16

// Each calls visit with consecutive ranges of the numbers below n. It ends with the error of
// the context when the context is done.
func Each(ctx context.Context, n int, visit func(from, to int)) error {
	for from := 0; ; from += Length {
		if err := ctx.Err(); err != nil || from >= n {
			return err
		}
		visit(from, min(from+Length, n))
	}
}
