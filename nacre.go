package nacre

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/cpu"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Model is an open model file. Its methods may be called from many goroutines at
// once.
//
// A model holds the weights, which lie in the mapped file or in memory, what its
// sessions rearrange of them for kernels, and a program for each choice of ISA,
// WeightBudget, NoOptimize, DirectConv, Operators, Outputs, Quirks, Seed and Device that a session was
// made with, and for each set of inputs whose value in the model its runs override. All sessions share these.
type Model struct {
	source   *graph.Model // what the file says
	networks sync.Map     // *network by formats.Lowering without a budget
	packs    *cpu.Packs

	mu       sync.Mutex
	moving   map[int]*cpu.Packs // by budget: those of sessions whose weights come and go
	programs map[rewriting]*program
	devices  map[Device]device.Accelerator
	sessions int // open, or being made
	closed   bool
}

// rewriting is the options that a program depends on.
type rewriting struct {
	isa        string
	noOptimize bool
	threads    int
	operators  *op.Registry
	outputs    string
	lowering   formats.Lowering
	budget     int
	directConv bool
	device     Device
	taken      string // inputs that have a value in the model and that runs take
}

func newModel(m *graph.Model) *Model {
	return &Model{source: m, packs: cpu.NewPacks(), programs: map[rewriting]*program{}}
}

// network is the source with the nodes of its network.
type network struct {
	mu    sync.Mutex
	done  bool
	model *graph.Model
	bytes int // of weights that the source does not have
	err   error
}

// lowered returns the source with the nodes of its network, which is made once for each
// choice, and the bytes of weights that were made for it. One that takes more than limit
// bytes is an error, and tried again by the next call; 0 is no limit.
func (m *Model) lowered(o formats.Lowering, limit int) (*graph.Model, int, error) {
	made, ok := m.networks.Load(o)
	if !ok {
		made, _ = m.networks.LoadOrStore(o, &network{})
	}
	n := made.(*network)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.done {
		o.Budget = budget.New(context.Background(), budget.Limits{Bytes: int64(limit)})
		n.model, n.err = formats.Network(m.source, o)
		n.err = public(n.err)
		n.bytes, n.done = int(o.Budget.Held()), !errors.Is(n.err, ErrMemory)
	}
	return n.model, n.bytes, n.err
}

// network is lowered as sessions without options have it.
func (m *Model) network() (*graph.Model, error) {
	n, _, err := m.lowered(formats.Lowering{}, runtime.DefaultMemoryLimit())
	return n, err
}

// Inputs describes the inputs that the model lists, in a new slice. Those that have
// a value in the model are not required, nor are dynamic variables of programs of OpenInfer. Of a file without a network there are none.
func (m *Model) Inputs() []Info {
	if !m.made() {
		return nil
	}
	n, err := m.network()
	if err != nil {
		return nil
	}
	return inputsOf(n)
}

// inputsOf describes the inputs that a network lists.
func inputsOf(n *graph.Model) []Info {
	fixed := map[string]bool{}
	for _, init := range n.Graph.Initializers {
		fixed[init.Name] = true
	}
	for _, init := range n.Graph.Sparse {
		fixed[init.Name] = true
	}
	for name := range formats.ProgramDefaults(n) {
		fixed[name] = true
	}
	return infos(n.Graph.Inputs, func(name string) bool { return !fixed[name] })
}

// Outputs describes the outputs that the model lists, in a new slice.
// Session.Outputs may know more of their types. Of a file without a network there are
// none.
func (m *Model) Outputs() []Info {
	if !m.made() {
		return nil
	}
	n, err := m.network()
	if err != nil {
		return nil
	}
	return infos(n.Graph.Outputs, never)
}

// Network returns the graph that sessions without options run: that of Source where the file has nodes,
// else one that has been made of what the file says. It must not be changed, and ends
// with Close. The error is ErrUnsupported for a file without a network.
func (m *Model) Network() (_ *graph.Model, err error) {
	defer m.enter().end(&err)
	return m.network()
}

// Metadata returns what the file says of itself.
func (m *Model) Metadata() Metadata {
	if !m.made() {
		return Metadata{}
	}
	return metadataOf(m.source)
}

// Weights describes the weights that the model holds by name, in the order of the
// file and in a new slice.
func (m *Model) Weights() []Info {
	if !m.made() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Info, len(m.source.Graph.Initializers))
	for i, init := range m.source.Graph.Initializers {
		t := init.Tensor
		list[i] = infoOf(&graph.Value{Name: init.Name, Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape())), Doc: init.Doc}, false)
	}
	return list
}

// Weight returns a copy of the weight of that name. The copy outlives the model. The
// error is ErrOption if there is no such weight, ErrFormat if a mapped file has become
// shorter and lacks bytes of it, and ErrClosed if the model is closed.
func (m *Model) Weight(name string) (_ *Tensor, err error) {
	defer m.enter().end(&err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, m.closedError()
	}
	for _, init := range m.source.Graph.Initializers {
		if init.Name == name {
			return m.copied(init)
		}
	}
	return nil, markf(ErrOption, "%s: the model has no weight %q", m.source.File, name)
}

// copied returns a copy of a weight, all of whose bytes were there.
func (m *Model) copied(init *graph.Initializer) (t *Tensor, err error) {
	err = formats.Guard(func() error {
		t = &Tensor{*init.Tensor.Clone()}
		return formats.Intact(m.source)
	})
	if err != nil {
		return nil, public(err)
	}
	return t, nil
}

// Source returns what the file holds, for programs that work on the graph itself
// with the packages runtime/graph and formats. It must not be changed. Its tensors
// may lie in memory that cannot be written, and end with Close.
func (m *Model) Source() *graph.Model {
	if !m.made() {
		return nil
	}
	return m.source
}

func (m *Model) closedError() error {
	return markf(ErrClosed, "%s: the model is closed", m.source.File)
}

// ReplaceWeights gives every weight of the model the elements that an archive (.hnw)
// has for its name, bit for bit. The archive must not change until Close.
//
// With an error nothing is replaced. The error is ErrInUse if a session of the model
// was made, ErrClosed if the model is closed, ErrFormat if the archive is damaged,
// ErrShape if it has a weight of another type or shape, and one that matches
// hnw.ErrTensorMissing of package formats/hnw if it lacks a weight.
func (m *Model) ReplaceWeights(path string) (err error) {
	defer m.enter().end(&err)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return m.closedError()
	case len(m.programs) > 0:
		return markf(ErrInUse, "%s: a session of the model was made; weights can be replaced only before the first", m.source.File)
	}
	err = formats.ReplaceWeights(m.source, path)
	m.networks.Clear()
	return public(err)
}

// Close releases the file and the weights. The error is ErrInUse, and nothing is
// released, while a session of the model is open or being made. Further calls do nothing.
// Tensors that runs and Weight returned stay valid.
func (m *Model) Close() (err error) {
	defer m.enter().end(&err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions > 0 {
		return markf(ErrInUse, "%s: sessions of the model are still open (%d); they must be closed first", m.source.File, m.sessions)
	}
	if m.closed {
		return nil
	}
	m.closed = true
	m.packs.Close()
	for _, p := range m.moving {
		p.Close()
	}
	for _, a := range m.devices {
		a.Close()
	}
	m.programs, m.devices = nil, nil
	return public(m.source.Close())
}

// NewSession makes the model ready to run with those options: it optimises the
// graph, chooses kernels and rearranges weights for them. What earlier sessions of
// the model did of that is not done again, and callers that want the same at once
// wait for the first of them.
//
// The error is
//   - ErrOption if an option has a value that it cannot have, for this model or on
//     this machine;
//   - ErrUnsupported if the model needs an operator that is not there;
//   - ErrFormat or ErrShape if nodes of the model do not fit each other;
//   - ErrFormat if a mapped file of the model has become shorter;
//   - ErrDevice if this machine or this build of the program cannot run models;
//   - ErrClosed if the model is closed.
func (m *Model) NewSession(o Options) (*Session, error) {
	return m.NewSessionContext(context.Background(), o)
}

// NewSessionContext is NewSession that ends with the context's error when the context
// is done: also while it waits for another caller, or computes or packs constants. The
// error is ErrOption if ctx is nil.
func (m *Model) NewSessionContext(ctx context.Context, o Options) (_ *Session, err error) {
	defer m.enter().end(&err)
	if ctx == nil {
		return nil, markf(ErrOption, "%s: the context of a session is nil", m.source.File)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return m.newSession(ctx, o, nil)
}

// newSession makes a session whose runs take the named inputs although these have a value
// in the model.
func (m *Model) newSession(ctx context.Context, o Options, taken []string) (*Session, error) {
	how := rewriting{
		o.ISA, o.NoOptimize, o.Threads, o.Operators, fmt.Sprintf("%q", o.Outputs), o.lowering(),
		o.WeightBudget, o.DirectConv, o.Device, fmt.Sprintf("%q", taken),
	}
	for {
		s, again, err := m.session(ctx, how, o, taken)
		if !again {
			return s, err
		}
	}
}

// session makes a session. Again reports that another caller was making the program
// and its context ended.
func (m *Model) session(
	ctx context.Context, how rewriting, o Options, taken []string,
) (s *Session, again bool, err error) {
	p, first, err := m.admit(how)
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if s == nil {
			m.failed(how, p)
		}
	}()
	if first {
		p.make(ctx, m, o, taken)
	} else if err := p.wait(ctx); err != nil {
		return nil, false, fmt.Errorf("%s: %w", m.source.File, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, false, fmt.Errorf("%s: %w", m.source.File, err)
	}
	if p.err != nil {
		return nil, !first && p.stopped, p.err
	}
	s, err = newSession(m, p, o)
	return s, false, err
}

// admit counts a session and returns its program. The first caller makes it.
func (m *Model) admit(how rewriting) (p *program, first bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, false, m.closedError()
	}
	if err := formats.Intact(m.source); err != nil {
		return nil, false, public(err)
	}
	m.sessions++
	p = m.programs[how]
	if first = p == nil; first {
		p = &program{made: make(chan struct{}), err: fmt.Errorf("%s: making the program ended early", m.source.File)}
		m.programs[how] = p
	}
	return p, first, nil
}

// accelerator returns what plans use a device with; nil for none.
func (m *Model) accelerator(d Device) (device.Accelerator, error) {
	if d == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.devices[d]; a != nil {
		return a, nil
	}
	a, err := d.Accelerator()
	if err != nil {
		return nil, err
	}
	if m.devices == nil {
		m.devices = map[Device]device.Accelerator{}
	}
	m.devices[d] = a
	return a, nil
}

// failed takes back what admit did. A program that could not be made is forgotten,
// so that a later session tries again.
func (m *Model) failed(how rewriting, p *program) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions--
	if p.ended() && p.err != nil && m.programs[how] == p {
		delete(m.programs, how)
	}
}

// leave counts a session that is closed.
func (m *Model) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions--
}
