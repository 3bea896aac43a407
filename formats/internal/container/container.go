// Package container is shared by the readers and writers of tensor files. It has lists
// of problems, the options of writers, and payloads that are converted while they are
// written.
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
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Options change what a writer writes.
type Options struct {
	// DType is the type that floating-point tensors are converted to; Invalid leaves them.
	DType tensor.DType
	// Dequantize gives quantised tensors their numbers, as float32, in place of codes and
	// scales; DType says what becomes of these. Tensors of the formats oinf, loom and
	// entity may be quantised.
	Dequantize bool
	// DropMeta leaves out metadata, size variables, declarations, and tensors beside a
	// network that the format has no place for, which are an error otherwise.
	DropMeta bool
	// DropGraph leaves out the nodes of a model in formats that hold tensors only,
	// which are an error otherwise.
	DropGraph bool
	// Rename gives tensors and metadata names that the format can hold, where their
	// own cannot be held, which is an error otherwise.
	Rename bool
	// Progress is told how many bytes are written of how many; nil for nobody.
	Progress func(written, total int64)

	ctx context.Context // nil for none
}

// Within returns the options for writing that ends with the error of the context, and with
// what was there before, when the context is done.
func (o Options) Within(ctx context.Context) Options {
	o.ctx = ctx
	return o
}

// Context returns the context that the writing ends with.
func (o Options) Context() context.Context {
	if o.ctx == nil {
		return context.Background()
	}
	return o.ctx
}

// maxProblems bounds a list of problems.
const maxProblems = 1000

// Problems is a list of the faults of a file. A list of 1000 ends with a note that there
// are more.
type Problems struct {
	File   string
	Budget *budget.Budget // of the reader; nil bounds nothing
	list   []error
	ended  error // the problem that the budget is spent or its context done
}

// Take counts bytes before they are made for what is at an offset of the file, and looks at
// the context now and then. If it returns false, the budget is spent, which is a problem,
// and reading must end.
func (p *Problems) Take(offset, bytes int) bool {
	if p.ended == nil {
		p.end(offset, Take(p.Budget, bytes))
	}
	return p.ended == nil
}

// Goes reports whether reading goes on, after a look at the context.
func (p *Problems) Goes() bool {
	if p.ended == nil {
		p.end(-1, p.Budget.Err())
	}
	return p.ended == nil
}

// end notes that reading ends with an error of the budget, unless it is nil.
func (p *Problems) end(offset int, err error) {
	if err != nil {
		p.ended = &graph.Error{Stage: "load", File: p.File, Offset: int64(offset), Kind: KindOf(err), Err: err}
	}
}

// Add notes a problem at an offset of the file, negative for none. The kind is one
// of package graph's.
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

// Reader returns a reader of data whose failure is a problem of the format.
func (p *Problems) Reader(data []byte, off int) *binio.Reader {
	return binio.NewReader(data, off, func(off int, err error) { p.Add(off, graph.ErrFormat, "%w", err) })
}

// First returns the error of the budget or, if reading goes on, the first problem, or nil.
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

// Save writes a file: all of it or, after an error, nothing. Write must find every
// reason not to write before its first byte.
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

// Counted returns a writer that tells o.Progress of what is written of a model. It ends
// with the context.
func (o Options) Counted(w io.Writer, m *graph.Model) io.Writer {
	w = output.Within(o.Context(), w)
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

// Saving says which file an error is about.
func Saving(path string, err error) error {
	var known *graph.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &graph.Error{Stage: "save", File: path, Offset: -1, Err: err}
}

// Refusals are the reasons for which a model cannot be written in a format, all of
// which a user wants to know at once.
type Refusals struct{ list []error }

// Add notes a reason.
func (r *Refusals) Add(format string, args ...any) {
	r.list = append(r.list, graph.Errorf(graph.ErrUnsupported, format, args...))
}

// Err joins the reasons; nil when there is none.
func (r *Refusals) Err() error { return errors.Join(r.list...) }

// Size returns the shape of those extents and the bytes that its elements take; ok
// is false where that is more than memory can have.
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
