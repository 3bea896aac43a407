// Package container is shared by the readers and writers of tensor files. It has lists of problems,
// the options of writers, and payloads that are converted as they are written.
package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Options change the files of a writer.
type Options struct {
	// DType is the type that floating-point tensors are converted to. Invalid keeps their types.
	DType tensor.DType
	// Blocks is the type that tensors in blocks become if DType is Invalid. Invalid keeps blocks.
	Blocks tensor.DType
	// Dequantize replaces codes and scales by the numbers of quantised tensors, as float32. DType
	// then applies to these numbers. Tensors of the formats oinf, gguf, loom and entity may be
	// quantised.
	Dequantize bool
	// DropMeta leaves out metadata, size variables, declarations, and tensors beside a network, if
	// the format cannot hold them. Without DropMeta they are an error.
	DropMeta bool
	// DropGraph leaves out the nodes of a model in formats that hold tensors only, and with them
	// its producer, domain, version and documentation. Without DropGraph they are an error.
	DropGraph bool
	// Rename escapes names of tensors and metadata that the format cannot hold. Without Rename they
	// are an error.
	Rename bool
	// Widened is called for each tensor in blocks that becomes float32, because nodes read it and the
	// format has no form of its blocks. If it is nil, such tensors are an error.
	Widened func(name string, from tensor.DType)
	// Progress is called with the bytes written so far and their total. It may be nil.
	Progress func(written, total int64)

	ctx context.Context // nil for none
}

// Within returns the options with a context. If ctx ends, writing fails with its error, and an
// existing file stays as it is.
func (o Options) Within(ctx context.Context) Options {
	o.ctx = ctx
	return o
}

// Context returns the context of Within, or the background context.
func (o Options) Context() context.Context {
	if o.ctx == nil {
		return context.Background()
	}
	return o.ctx
}

// maxProblems is the most problems that a list holds.
const maxProblems = 1000

// Problems is a list of the faults of a file. After 1000 faults it ends with a note that there are
// more.
type Problems struct {
	File   string
	Budget *budget.Budget // of the reader; nil for no limit
	list   []error
	ended  error // the problem that the budget is spent or its context has ended
}

// Take counts bytes before they are allocated for the part of the file at offset, and looks at the
// context now and then. If it returns false, the budget is spent or the context has ended. That is
// a problem, and reading must end.
func (p *Problems) Take(offset, bytes int) bool {
	if p.ended == nil {
		p.end(offset, Take(p.Budget, bytes))
	}
	return p.ended == nil
}

// Goes looks at the context, and reports whether reading goes on.
func (p *Problems) Goes() bool {
	if p.ended == nil {
		p.end(-1, p.Budget.Err())
	}
	return p.ended == nil
}

// end records that reading ends with err, unless err is nil.
func (p *Problems) end(offset int, err error) {
	if err != nil {
		p.ended = &graph.Error{Stage: "load", File: p.File, Offset: int64(offset), Kind: KindOf(err), Err: err}
	}
}

// Add records a problem at an offset of the file. A negative offset means none. kind is one of
// package graph's.
func (p *Problems) Add(offset int, kind error, format string, args ...any) {
	switch {
	case len(p.list) > maxProblems || p.ended != nil:
		return
	case len(p.list) == maxProblems:
		kind, format, args = graph.ErrFormat, "there are more than %d problems", []any{maxProblems}
	}
	p.list = append(p.list, &graph.Error{Stage: "load", File: p.File, Offset: int64(offset), Kind: kind, Err: fmt.Errorf(format, args...)})
}

// Join adds the problems of another file.
func (p *Problems) Join(q *Problems) {
	n := min(len(q.list), max(maxProblems-len(p.list), 0))
	p.list = append(p.list, q.list[:n]...)
	if n < len(q.list) {
		p.Add(-1, nil, "")
	}
	if p.ended == nil {
		p.ended = q.ended
	}
}

// Reader returns a reader of data. Its failure becomes a problem of kind graph.ErrFormat.
func (p *Problems) Reader(data []byte, off int) *binio.Reader {
	return binio.NewReader(data, off, func(off int, err error) { p.Add(off, graph.ErrFormat, "%w", err) })
}

// First returns the error of the budget. If there is none, it returns the first problem, or nil.
func (p *Problems) First() error {
	switch {
	case !p.Goes():
		return p.ended
	case len(p.list) == 0:
		return nil
	}
	return p.list[0]
}

// All returns every problem, in the order in which they were found.
func (p *Problems) All() []error {
	if !p.Goes() {
		return append(p.list, p.ended)
	}
	return p.list
}

// Save writes a file. If write fails, an existing file stays as it is.
func Save(path string, write func(w io.Writer) error) error {
	p, err := output.Create(path)
	if err == nil {
		defer p.Discard()
		if err = write(p); err == nil {
			err = p.Commit()
		}
	}
	return Saving(path, err)
}

// Counted returns a writer that calls o.Progress with the bytes written of m. If the context of o
// ends, writing fails.
func (o Options) Counted(w io.Writer, m *graph.Model) io.Writer {
	w = pieces.Writer(o.Context(), w)
	if o.Progress == nil {
		return w
	}
	c := &counted{w: w, progress: o.Progress}
	for _, init := range m.Graph.Initializers {
		if p, err := o.For(init.Tensor); err == nil {
			c.total += p.Len()
		}
	}
	return c
}

type counted struct {
	w              io.Writer
	written, total int64
	progress       func(written, total int64)
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.written += int64(n)
	c.progress(min(c.written, c.total), c.total)
	return n, err
}

// Saving returns err as an error that names the file.
func Saving(path string, err error) error {
	var known *graph.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &graph.Error{Stage: "save", File: path, Offset: -1, Err: err}
}

// Refusals lists the reasons why a format cannot hold a model, so that a user sees all at once.
type Refusals struct{ list []error }

// Add records a reason.
func (r *Refusals) Add(format string, args ...any) {
	r.list = append(r.list, graph.Errorf(graph.ErrUnsupported, format, args...))
}

// Err joins the reasons. It returns nil if there is none.
func (r *Refusals) Err() error { return graph.Join(r.list...) }

// Size returns the shape with the extents dims, and the bytes of its elements. ok is false if they
// are more than memory can hold.
func Size(d tensor.DType, dims []uint64) (shape tensor.Shape, bytes int, ok bool) {
	shape = make(tensor.Shape, len(dims))
	for i, n := range dims {
		if n > math.MaxInt {
			return nil, 0, false
		}
		shape[i] = int(n)
	}
	if shape.Check() != nil {
		return nil, 0, false
	}
	return shape, d.Bytes(shape.Len()), true
}
