package nacre

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Model is an open model file. Its methods may be called from many goroutines at
// once.
//
// A model holds the weights, in the mapped file or in memory, and their packed copies for
// kernels. It holds a program for each combination of ISA, Threads, WeightBudget, NoOptimize,
// DirectConv, Accuracy, Operators, Outputs, Lowering and Device among its sessions, and for each set
// of constant inputs that runs override. Sessions share all of them.
type Model struct {
	source   *graph.Model // the file as read
	networks sync.Map     // *network by formats.Lowering without a budget
	packs    *runtime.Packs

	mu       sync.Mutex
	moving   map[int]*runtime.Packs // by budget: packs of sessions with a WeightBudget
	programs map[rewriting]*program
	devices  map[Device]runtime.Accelerator
	sessions int // open, or being made
	closed   bool
}

// rewriting is the options that a program depends on: equal ones share a program.
type rewriting struct {
	isa        string
	noOptimize bool
	threads    int
	operators  *op.Registry
	outputs    string
	lowering   formats.Lowering
	budget     int
	directConv bool
	accuracy   Accuracy
	device     Device
	cache      DType
	taken      string // constant inputs that runs override
}

// NewModel returns a model over a graph that a program built (graph.Builder) or read with a
// function of package formats, such as formats.LoadProgram. The graph must not change until Close,
// which closes it. The error is ErrOption if m or its graph is nil, and ErrFormat if the graph is
// not valid.
func NewModel(m *graph.Model) (_ *Model, err error) {
	defer enter("").end(&err)
	if m == nil || m.Graph == nil {
		return nil, markf(ErrOption, "a model without a graph")
	}
	if err := graph.Validate(m); err != nil {
		return nil, err
	}
	return newModel(m), nil
}

func newModel(m *graph.Model) *Model {
	return &Model{source: m, packs: runtime.NewPacks(), programs: map[rewriting]*program{}}
}

// network is the source with the nodes of its network.
type network struct {
	mu    sync.Mutex
	done  bool
	model *graph.Model
	bytes int // of weights that the source lacks
	err   error
}

// lowered returns the source with the nodes of its network, and the bytes of weights made
// for it. The first call with the options makes it. A network of more than limit bytes, or
// one that is not made before the context ends, is an error, and the next call tries again;
// 0 is no limit.
func (m *Model) lowered(ctx context.Context, o formats.Lowering, limit int) (*graph.Model, int, error) {
	made, ok := m.networks.Load(o)
	if !ok {
		made, _ = m.networks.LoadOrStore(o, &network{})
	}
	n := made.(*network)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.done {
		defer stages.From(ctx).Begin("lower")()
		o.Budget = budget.New(ctx, budget.Limits{Bytes: int64(limit)})
		n.model, n.err = formats.Network(m.source, o)
		n.bytes, n.done = int(o.Budget.Held()), n.err == nil || !errors.Is(n.err, ErrMemory) && ctx.Err() == nil
	}
	return n.model, n.bytes, n.err
}

// network returns the network of sessions with zero Options.
func (m *Model) network() (*graph.Model, error) {
	n, _, err := m.lowered(context.Background(), formats.Lowering{}, runtime.DefaultMemoryLimit())
	return n, err
}

// Inputs describes the inputs that the model lists, in a new slice. An input with a value in
// the model is not required, nor is a dynamic variable of a program of OpenInfer. A file
// without a network has no inputs.
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
// Session.Outputs may know more of their types. A file without a network has no outputs.
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

// Network returns the graph that a session with zero Options runs. It must not be changed,
// and is invalid after Close. The error is ErrUnsupported for a file without a network.
func (m *Model) Network() (_ *graph.Model, err error) {
	defer m.enter().end(&err)
	return m.network()
}

// Metadata returns the file's description of itself.
func (m *Model) Metadata() Metadata {
	if !m.made() {
		return Metadata{}
	}
	return metadataOf(m.source)
}

// Weights describes the named weights of the model, in the order of the file and in a new
// slice.
func (m *Model) Weights() []Info {
	if !m.made() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Info, len(m.source.Graph.Initializers))
	for i, init := range m.source.Graph.Initializers {
		t := init.Tensor
		list[i] = infoOf(&graph.Value{Name: init.Name, Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape())),
			Doc: init.Doc}, false)
	}
	return list
}

// Weight returns a copy of a weight by name. The copy outlives the model. The
// error is ErrOption if there is no such weight, ErrFormat if a mapped file was shortened
// and lacks bytes of it, and ErrClosed if the model is closed.
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

// copied returns a copy of a weight. It fails if the mapped file lacks bytes of it.
func (m *Model) copied(init *graph.Initializer) (t *Tensor, err error) {
	err = formats.Guard(func() error {
		t = &Tensor{*init.Tensor.Clone()}
		return formats.Intact(m.source)
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Source returns the model as the file has it, for programs that work on graphs with the
// packages runtime/graph and formats. It must not be changed: its tensors may be in
// read-only memory. They are invalid after Close.
func (m *Model) Source() *graph.Model {
	if !m.made() {
		return nil
	}
	return m.source
}

func (m *Model) closedError() error {
	return markf(ErrClosed, "%s: the model is closed", m.source.File)
}

// ReplaceWeights replaces the elements of every weight by the elements of the same name in
// an archive (.hnw), bit for bit. The archive must not change until Close.
//
// An error leaves all weights as they were. The error is ErrInUse after a session of the
// model was made, ErrClosed if the model is closed, ErrFormat if the archive is damaged,
// ErrShape if a weight has another type or shape, and matches hnw.ErrTensorMissing of
// package formats/hnw if the archive lacks a weight.
func (m *Model) ReplaceWeights(path string) error {
	return m.ReplaceWeightsContext(context.Background(), path)
}

// ReplaceWeightsContext is ReplaceWeights that ends with the context's error when the context
// is done. The error is ErrOption if ctx is nil.
func (m *Model) ReplaceWeightsContext(ctx context.Context, path string) (err error) {
	defer m.enter().end(&err)
	b, err := opening(ctx, path)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return m.closedError()
	case len(m.programs) > 0:
		return markf(ErrInUse, "%s: a session of the model was made; weights can be replaced only before the first",
			m.source.File)
	}
	err = formats.ReplaceWeightsWithin(b, m.source, path)
	m.networks.Clear()
	return err
}

// Close releases the file and the weights. While a session of the model is open or being
// made, the error is ErrInUse and nothing is released. Further calls do nothing.
// Results of runs and of Weight stay valid.
func (m *Model) Close() (err error) {
	defer m.enter().end(&err)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions > 0 {
		return markf(ErrInUse, "%s: sessions of the model are still open (%d); they must be closed first", m.source.File,
			m.sessions)
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
	return m.source.Close()
}

// NewSession makes the model ready to run: it optimises the graph, chooses kernels and
// packs weights for them. A session with the options of an earlier one shares its work.
// If several callers need the same work at once, one does it and the others wait.
//
// The error is
//   - ErrOption if an option has a value that is invalid, for this model or on
//     this machine;
//   - ErrUnsupported if the model needs an operator that is missing;
//   - ErrFormat or ErrShape if nodes of the model do not fit each other;
//   - ErrFormat if a mapped file of the model was shortened;
//   - ErrDevice if this machine or this build of the program cannot run models;
//   - ErrClosed if the model is closed.
func (m *Model) NewSession(o Options) (*Session, error) {
	return m.NewSessionContext(context.Background(), o)
}

// NewSessionContext is NewSession with a context. When the context is done it returns the
// context's error, also while it waits for another caller, or computes or packs constants.
// The error is ErrOption if ctx is nil.
func (m *Model) NewSessionContext(ctx context.Context, o Options) (_ *Session, err error) {
	defer m.enter().end(&err)
	if ctx == nil {
		return nil, markf(ErrOption, "%s: the context of a session is nil", m.source.File)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	begin := time.Now()
	if o.Logger != nil {
		o.Logger = o.Logger.With(slog.String("model", m.source.File))
	}
	s, err := m.newSession(ctx, o, nil)
	if err == nil && o.Logger != nil && o.Logger.Enabled(ctx, slog.LevelInfo) {
		o.Logger.LogAttrs(ctx, slog.LevelInfo, "session made", slog.Duration("took", time.Since(begin)),
			slog.String("format", m.source.Format), slog.Int("nodes", len(s.program.network.Graph.Nodes)))
	}
	return s, err
}

// newSession makes a session. Its runs may override the constant inputs named by taken.
func (m *Model) newSession(ctx context.Context, o Options, taken []string) (*Session, error) {
	how := rewriting{
		o.ISA, o.NoOptimize, o.Threads, o.Operators, fmt.Sprintf("%q", o.Outputs), o.lowering(),
		o.WeightBudget, o.DirectConv, o.Accuracy, o.Device, o.CacheType, fmt.Sprintf("%q", taken),
	}
	for {
		s, again, err := m.session(ctx, how, o, taken)
		if !again {
			return s, err
		}
	}
}

// session makes a session. It reports again if another caller was making the program, and
// the context of that caller ended.
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
		return nil, false, err
	}
	m.sessions++
	p = m.programs[how]
	if first = p == nil; first {
		p = &program{made: make(chan struct{}), err: fmt.Errorf("%s: making the program ended early", m.source.File)}
		m.programs[how] = p
	}
	return p, first, nil
}

// accelerator returns the accelerator of a device; nil for nil.
func (m *Model) accelerator(d Device) (runtime.Accelerator, error) {
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
		m.devices = map[Device]runtime.Accelerator{}
	}
	m.devices[d] = a
	return a, nil
}

// failed undoes admit. It forgets a program that could not be made, so that a later session
// tries again.
func (m *Model) failed(how rewriting, p *program) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions--
	if p.ended() && p.err != nil && m.programs[how] == p {
		delete(m.programs, how)
	}
}

// leave counts a session as closed.
func (m *Model) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sessions--
}
