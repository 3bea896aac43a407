// Package nacre runs neural networks from model files, natively and without a
// foreign shared library.
//
// Open maps a model file, NewSession makes it ready to run, and Session.Run
// turns input tensors into output tensors. A session may run from many
// goroutines at once, and sessions of one model share its weights.
package nacre

import (
	"context"
	"fmt"
	"sync"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/exec"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Tensor is an element type, a shape, and the elements in row-major order.
type Tensor = tensor.Tensor

// Options say how a session runs; the zero value is a good choice.
type Options = runtime.Options

// NewTensor returns a tensor of that shape over data, which it keeps.
func NewTensor[T tensor.Element](data []T, shape ...int) (*Tensor, error) {
	return tensor.From(data, shape...)
}

// Data returns the elements of t, shared with it. It is an error if T is not the
// Go type of the tensor's elements.
func Data[T tensor.Element](t *Tensor) ([]T, error) { return tensor.Data[T](t) }

// Model is an open model file.
type Model struct {
	source    *graph.Model
	packs     *op.Packs
	mu        sync.Mutex
	optimized map[rewriting]*graph.Model
	sessions  int // open
	closed    bool
}

// rewriting is the options that decide what a model's graph is rewritten to.
type rewriting struct {
	isa      string
	none     bool
	registry *op.Registry
}

// Open maps a model file of any format that package formats knows and checks its
// graph. The file must not change until Close.
func Open(path string) (*Model, error) {
	m, err := formats.Load(path)
	if err != nil {
		return nil, err
	}
	return newModel(m), nil
}

// Decode reads a model from memory, which the model keeps. The name stands for
// the file in messages; external data is refused.
func Decode(name string, data []byte) (*Model, error) {
	m, err := formats.Decode(name, data)
	if err != nil {
		return nil, err
	}
	return newModel(m), nil
}

func newModel(m *graph.Model) *Model {
	return &Model{source: m, packs: op.NewPacks(), optimized: map[rewriting]*graph.Model{}}
}

// Source is what the file holds. It must not be changed.
func (m *Model) Source() *graph.Model { return m.source }

// ReplaceWeights gives every initialiser of the model the elements that an archive
// (.hnw) has for its name, bit for bit. The archive must not change until Close. It is an
// error, and nothing is replaced, when the archive is damaged, when it lacks an
// initialiser or has one of another type or shape (package formats/hnw has the kinds
// of these errors), or when the model has made a session.
func (m *Model) ReplaceWeights(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return fmt.Errorf("%s: the model is closed", m.source.File)
	case len(m.optimized) > 0:
		return fmt.Errorf("%s: weights are replaced before the first session is made", m.source.File)
	}
	return formats.ReplaceWeights(m.source, path)
}

// Close releases the file and the weights. It is an error, and nothing is
// released, while a session of the model is open. Further calls do nothing.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions > 0 {
		return fmt.Errorf("%s: %d sessions are open; close them first", m.source.File, m.sessions)
	}
	if m.closed {
		return nil
	}
	m.closed = true
	m.packs.Close()
	m.optimized = nil
	return m.source.Close()
}

// Session is a model made ready to run. Its methods may be called from many
// goroutines at once.
type Session struct {
	*runtime.Session
	model *Model
	close sync.Once
}

// NewSession optimises the model's graph, chooses kernels and packs weights, all of
// which sessions of one model share.
func (m *Model) NewSession(o Options) (*Session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, fmt.Errorf("%s: the model is closed", m.source.File)
	}
	if o.Packs == nil {
		o.Packs = m.packs
	}
	how := rewriting{o.ISA, o.NoOptimize, o.Registry}
	g := m.optimized[how]
	if g == nil {
		var err error
		if g, err = runtime.Optimize(m.source, o); err != nil {
			return nil, err
		}
		m.optimized[how] = g
	}
	o.NoOptimize = true
	s, err := runtime.New(g, o)
	if err != nil {
		return nil, err
	}
	m.sessions++
	return &Session{Session: s, model: m}, nil
}

// Close waits for the runs under way, ends the session's threads and frees its
// memory. Further calls do nothing.
func (s *Session) Close() error {
	err := s.Session.Close()
	s.close.Do(func() {
		s.model.mu.Lock()
		s.model.sessions--
		s.model.mu.Unlock()
	})
	return err
}

// Run computes the outputs by name. Inputs are not written, and outputs share no
// memory with them. A cancelled context ends the run between two nodes.
func (s *Session) Run(ctx context.Context, inputs map[string]*Tensor) (map[string]*Tensor, error) {
	return s.Session.Run(ctx, inputs)
}

// Value is a Tensor, or a sequence, an optional or a map of such.
type Value = tensor.Value

// RunValues is Run for models that take or give values other than tensors.
func (s *Session) RunValues(ctx context.Context, inputs map[string]Value) (map[string]Value, error) {
	return s.Session.RunValues(ctx, inputs)
}

// Profile is the time of every step of a run.
type Profile = exec.Profile

// Plan is the steps of a run and where every value lies.
type Plan = plan.Plan
