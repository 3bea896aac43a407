package nacre

import (
	"context"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime"
)

// Bound is a session, or a stream, with memory for its inputs and outputs: the caller
// fills the tensors of Input, and Run writes to the tensors of Output. It is for programs
// that run one model over and over on inputs of one shape. From the second run on, a network
// of operators with kernels runs without allocating, as long as the context stays the same or
// cannot be cancelled.
//
// A Bound has memory of about Plan.PeakBytes until Close. Its methods may be called from
// one goroutine at a time; several goroutines take a Bound each. A Bound does not keep its
// session open: after Session.Close, Run is ErrClosed.
type Bound struct {
	mu      *sync.Mutex // of the stream, if there is one
	session *Session
	stream  *Stream // whose states runs move on; nil for none
	engine  *runtime.Bound
	inputs  map[string]*Tensor
	outputs map[string]*Tensor
	index   map[string]int // of outputs
}

// Bind makes memory for runs on inputs of these element types and shapes, and copies the
// elements. Session.ZeroInputs makes such inputs from sizes. If a result is no tensor, or its
// shape does not follow from the shapes of inputs, the error is ErrUnsupported. Other errors
// are as for Run.
func (s *Session) Bind(ctx context.Context, inputs map[string]*Tensor) (_ *Bound, err error) {
	defer s.enter().end(&err)
	s, in, err := accept(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	e, err := s.engine.Bind(ctx, in)
	if err != nil {
		return nil, err
	}
	return newBound(s, e, new(sync.Mutex)), nil
}

// newBound names the tensors of the engine.
func newBound(s *Session, e *runtime.Bound, mu *sync.Mutex) *Bound {
	b := &Bound{mu: mu, session: s, engine: e, inputs: map[string]*Tensor{}, outputs: map[string]*Tensor{},
		index: map[string]int{}}
	for i, v := range s.engine.Inputs() {
		if t := e.Input(i); t != nil {
			b.inputs[v.Name] = &Tensor{*t}
		}
	}
	for i, v := range s.engine.Outputs() {
		if t := e.Output(i); t != nil {
			b.outputs[v.Name], b.index[v.Name] = &Tensor{*t}, i
		}
	}
	return b
}

// Input returns the tensor of an input, for the caller to fill; nil if there is no such
// input, and after Close. Close frees its memory.
func (b *Bound) Input(name string) *Tensor {
	if !b.made() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.inputs[name]
}

// Output returns the tensor of an output; nil if there is no such output, and after Close.
// The next run overwrites its elements. Close leaves its memory as it is.
func (b *Bound) Output(name string) *Tensor {
	if !b.made() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.outputs[name]
}

// SetOutput makes later runs write an output to t, until Close or the next SetOutput of the
// same name. The error is ErrShape if t is nil or its element type or shape differs,
// ErrOption if there is no such output or t shares memory with an input or another output,
// and ErrClosed after Close.
func (b *Bound) SetOutput(name string, t *Tensor) (err error) {
	defer b.enter().end(&err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine == nil {
		return b.closedError()
	}
	i, ok := b.index[name]
	switch file := b.session.model.source.File; {
	case !ok:
		return markf(ErrOption, "%s: there is no output %q; the session computes %s", file, name, names(b.session.Outputs()))
	case t == nil:
		return markf(ErrShape, "%s: the tensor for output %q is nil", file, name)
	}
	if err := b.apart(name, t); err != nil {
		return err
	}
	if err := b.engine.SetOutput(i, &t.t); err != nil {
		return err
	}
	b.outputs[name] = t
	return nil
}

// apart reports an error if t shares memory with an operand other than the output.
func (b *Bound) apart(output string, t *Tensor) error {
	for kind, operands := range map[string]map[string]*Tensor{"input": b.inputs, "output": b.outputs} {
		for name, other := range operands {
			if (kind == "input" || name != output) && overlap(t.Bytes(), other.Bytes()) {
				return markf(ErrOption, "%s: the tensor for output %q shares memory with %s %q", b.session.model.source.File,
					output, kind, name)
			}
		}
	}
	return nil
}

func overlap(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	from, to := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return from < to+uintptr(len(b)) && to < from+uintptr(len(a))
}

func (b *Bound) closedError() error {
	return markf(ErrClosed, "%s: the Bound is closed", b.session.model.source.File)
}

// Run computes the outputs from the inputs. A cancelled context ends the run, also within a
// step; the elements of the outputs are then undefined. The error is ErrClosed after Close of
// the Bound or of its session; other errors are as for Session.Run.
func (b *Bound) Run(ctx context.Context) (err error) {
	defer b.enter().end(&err)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.engine == nil:
		return b.closedError()
	case b.stream != nil && b.stream.engine == nil:
		return b.stream.open()
	}
	if err := b.session.usable(ctx); err != nil {
		return err
	}
	if err := b.engine.Run(ctx); err != nil {
		return err
	}
	return nil
}

// Close frees the memory of the inputs and of intermediate values. Outputs stay as they are.
// Further calls do nothing.
func (b *Bound) Close() (err error) {
	defer b.enter().end(&err)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.engine != nil {
		b.engine.Close()
		b.engine, b.inputs, b.outputs = nil, nil, nil
	}
	return nil
}
