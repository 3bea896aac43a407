// Package pieces cuts work into pieces, so that it ends soon after its context. A piece takes about
// a millisecond or less.
package pieces

import "io"

// The most bytes that are copied, summed up or searched as one piece, and the most elements that
// are computed as one piece.
const (
	Bytes    = 1 << 20
	Elements = 1 << 16
)

// A Context ends work: its Err is nil until then. It is a context.Context or a *budget.Budget.
type Context interface{ Err() error }

// Each calls visit for the numbers below n, in ranges of at most size. Before each range, and after
// the last, it returns the error of ctx if ctx is done.
func Each(ctx Context, n, size int, visit func(from, to int)) error {
	for from := 0; ; from += size {
		if err := ctx.Err(); err != nil || from >= n {
			return err
		}
		visit(from, min(from+size, n))
	}
}

// Writer returns a writer to w that ends with the error of ctx.
func Writer(ctx Context, w io.Writer) io.Writer { return writer{ctx, w} }

type writer struct {
	ctx Context
	w   io.Writer
}

// Write writes b in pieces of Bytes.
func (p writer) Write(b []byte) (written int, err error) {
	for {
		if err := p.ctx.Err(); err != nil {
			return written, err
		}
		n, err := p.w.Write(b[:min(len(b), Bytes)])
		if written += n; err != nil || n == len(b) {
			return written, err
		}
		b = b[n:]
	}
}

// Reader returns a reader of r that ends with the error of ctx.
func Reader(ctx Context, r io.Reader) io.Reader { return reader{ctx, r} }

type reader struct {
	ctx Context
	r   io.Reader
}

// Read reads at most Bytes.
func (p reader) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.r.Read(b[:min(len(b), Bytes)])
}
