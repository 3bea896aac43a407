package output

import (
	"context"
	"io"
)

// Piece is the most bytes that are written, or summed up, between two looks at a context.
const Piece = 1 << 20

// Within returns a writer to w that ends with the error of the context. It writes pieces.
func Within(ctx context.Context, w io.Writer) io.Writer { return within{ctx, w} }

type within struct {
	ctx context.Context
	w   io.Writer
}

func (p within) Write(b []byte) (written int, err error) {
	for {
		if err := p.ctx.Err(); err != nil {
			return written, err
		}
		n, err := p.w.Write(b[:min(len(b), Piece)])
		if written += n; err != nil || n == len(b) {
			return written, err
		}
		b = b[n:]
	}
}
