// Package pieces splits loops over elements into pieces, so that they end soon after a context.
package pieces

import "context"

// Length is the most elements of one piece.
const Length = 1 << 16

// Each calls visit for the numbers below n, in ranges of at most Length. Before each range, if ctx
// is done, it returns the error of ctx.
func Each(ctx context.Context, n int, visit func(from, to int)) error {
	for from := 0; ; from += Length {
		if err := ctx.Err(); err != nil || from >= n {
			return err
		}
		visit(from, min(from+Length, n))
	}
}
