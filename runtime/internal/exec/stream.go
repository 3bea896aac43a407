package exec

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Stream is consecutive runs of a program: one run leaves states that the next reads. One run may
// be under way at a time.
//
// States with a growing axis are in memory with room, which doubles when it is full. Their length
// is a symbol in the plan, so that one plan serves all lengths up to the room. If a program cannot
// be planned with symbols, every length has a plan.
type Stream struct {
	exec    *Executor
	program *plan.Program
	states  []*streamState
	groups  []*group
	holds   []bool            // by input: a state
	room    int               // first room of memory
	decl    []graph.Type      // of the program's inputs
	near    map[string]*group // symbols of extents that follow the length of a group
	lookup  func(symbol string) (int, bool)
	numbers error // why extents must be numbers; nil if they may be symbols
	spoilt  bool  // a failed run may have changed states
	// count takes bytes of a limit before they are allocated, or gives them back if n is negative.
	// If it is nil, the executor's limit holds for each state.
	count func(n int) error
	apart bool       // states may turn out to be of different lengths
	kept  int        // bytes of the shared memory that the states take, unless count takes them
	last  *plan.Plan // the last plan of prepare; nil for none
}

// group is the states of equal length.
type group struct {
	symbol string
	length int // rows of the past
	room   int // of memory
	next   int // length after the current run
}

// State is an input of a program and the output that replaces it for the next run, by position.
// Axis is the axis along which the state grows; -1 for a state of fixed extents.
type State struct{ Input, Output, Axis int }

// streamState is one state of a stream.
type streamState struct {
	name    string     // of the input
	in, out int        // ids
	input   int        // among the program's inputs
	result  int        // among the program's outputs
	axis    int        // -1 for none
	group   *group     // nil without an axis
	dims    graph.Dims // as the model says
	dtype   tensor.DType
	shape   tensor.Shape   // without the axis; nil before it is known
	value   *tensor.Tensor // nil while the state is in memory with room, or absent
	memory  []byte         // with room; nil while the state is elsewhere
	rows    int            // that memory has room for
	// offloaded is memory of an accelerator with room; nil while the state is elsewhere.
	offloaded device.Memory
}

// NewStream returns a stream with empty states. Room is the number of rows that the memory of
// growing states has at first.
func (e *Executor) NewStream(p *plan.Program, states []State, room int) (*Stream, error) {
	st := e.newStream(p, room)
	for _, v := range p.Decl {
		st.decl = append(st.decl, v.Type)
	}
	for _, s := range states {
		h, err := newStreamState(p, s)
		if err == nil {
			err = st.addState(h)
		}
		if err != nil {
			return nil, p.Fail("run", nil, err)
		}
	}
	return st, nil
}

// newStream returns a stream without states.
func (e *Executor) newStream(p *plan.Program, room int) *Stream {
	st := &Stream{exec: e, program: p, holds: make([]bool, len(p.Inputs)), room: max(room, 1), near: map[string]*group{}}
	st.lookup = func(symbol string) (int, bool) {
		for _, g := range st.groups {
			if g.symbol == symbol {
				return g.length, true
			}
		}
		return 0, false
	}
	return st
}

// addState adds a state.
func (st *Stream) addState(h *streamState) error {
	if st.Holds(h.input) || st.Gives(h.result) {
		return graph.Errorf(graph.ErrState, "state %q with output %q: one of them belongs to another state already", h.name,
			st.program.Names[h.out])
	}
	st.states = append(st.states, h)
	st.holds[h.input] = true
	if h.axis >= 0 {
		h.group = st.groupOf(h)
	}
	return nil
}

func newStreamState(p *plan.Program, s State) (*streamState, error) {
	if s.Input < 0 || s.Input >= len(p.Inputs) || s.Output < 0 || s.Output >= len(p.Outputs) {
		return nil, graph.Errorf(graph.ErrMissing, "a state is input %d and output %d of %d inputs and %d outputs", s.Input,
			s.Output, len(p.Inputs), len(p.Outputs))
	}
	h := &streamState{input: s.Input, in: p.Inputs[s.Input], result: s.Output, out: p.Outputs[s.Output], axis: s.Axis}
	h.name = p.Names[h.in]
	t := p.Decl[h.input].Type
	if t.Kind != graph.TensorType || t.DType.Bits() == 0 || t.Dims == nil || t.DType.Bits()%8 != 0 {
		return nil, graph.Errorf(graph.ErrUnsupported, "state %q is %v; states are tensors of numbers of whole bytes, of known rank", h.name, t)
	}
	if s.Axis < -1 || s.Axis >= len(t.Dims) {
		return nil, graph.Errorf(graph.ErrShape, "state %q, %v, has no axis %d", h.name, t, s.Axis)
	}
	if to := p.Type(h.out); to.Kind == graph.TensorType &&
		(to.DType != t.DType || to.Dims != nil && len(to.Dims) != len(t.Dims)) {
		return nil, graph.Errorf(graph.ErrShape, "state %q is %v and cannot become output %q, %v", h.name, t,
			p.Names[h.out], to)
	}
	h.dims, h.dtype = t.Dims, t.DType
	if h.axis >= 0 && h.dims[h.axis].IsKnown() {
		return nil, graph.Errorf(graph.ErrShape, "axis %d of state %q, %v, does not grow", s.Axis, h.name, t)
	}
	return h, nil
}

// groupOf returns the group of the states with the same length as h. It makes the group if h is the
// first.
func (st *Stream) groupOf(h *streamState) *group {
	symbol := h.dims[h.axis].String()
	if !isSymbol(h.dims[h.axis]) {
		symbol = "rows of " + h.name
	}
	i := slices.IndexFunc(st.groups, func(g *group) bool { return g.symbol == symbol })
	if i < 0 {
		i = len(st.groups)
		st.groups = append(st.groups, &group{symbol: symbol, room: st.room})
	}
	g := st.groups[i]
	st.near[symbol] = g
	if t := st.program.Type(h.out); len(t.Dims) == len(h.dims) && isSymbol(t.Dims[h.axis]) {
		st.near[t.Dims[h.axis].String()] = g
	}
	return g
}

func isSymbol(d graph.Dim) bool { return len(d.Symbols()) == 1 && d.String() == d.Symbols()[0] }

// Length returns the rows of the longest growing state; 0 if no state grows.
func (st *Stream) Length() int {
	most := 0
	for _, g := range st.groups {
		most = max(most, g.length)
	}
	return most
}

// Grows reports whether a state grows.
func (st *Stream) Grows() bool { return len(st.groups) > 0 }

// Holds reports whether an input is a state.
func (st *Stream) Holds(input int) bool { return st.holds[input] }

// Gives reports whether an output is a state.
func (st *Stream) Gives(output int) bool {
	return slices.ContainsFunc(st.states, func(h *streamState) bool { return h.result == output })
}

// Extents returns the extents of the states that the model names.
func (st *Stream) Extents() map[string]int {
	known := map[string]int{}
	for _, g := range st.groups {
		known[g.symbol] = g.length
	}
	for _, h := range st.states {
		for i, d := range h.dims {
			if h.shape != nil && i != h.axis && isSymbol(d) {
				known[d.String()] = h.shape[i]
			}
		}
	}
	return known
}

// Run computes the results of the program from inputs, and updates the states. It ignores inputs
// that are states. Results that are states are nil.
func (st *Stream) Run(ctx context.Context, inputs []tensor.Value, prof *Profile) ([]tensor.Value, error) {
	return st.step(ctx, slices.Clone(inputs), func(pl *plan.Plan, inputs []tensor.Value) ([]tensor.Value, error) {
		return st.exec.start(ctx, pl, inputs, st, prof)
	})
}

// step is Run, with run as the function that runs the plan.
func (st *Stream) step(
	ctx context.Context, inputs []tensor.Value, run func(*plan.Plan, []tensor.Value) ([]tensor.Value, error),
) ([]tensor.Value, error) {
	pl, err := st.prepare(ctx, inputs)
	if err != nil {
		return nil, err
	}
	results, err := run(pl, inputs)
	if err != nil {
		return nil, err
	}
	err = st.commit(pl, results)
	if st.recount(); err != nil {
		return nil, st.program.Fail("run", nil, err)
	}
	for _, h := range st.states {
		results[h.result] = nil
	}
	return results, nil
}

// failed notes that a run of the plan ended with an error. If the plan updates a state in place,
// the state may be half written.
func (st *Stream) failed(pl *plan.Plan) {
	st.spoilt = st.spoilt || slices.ContainsFunc(pl.Lengths.States, func(s plan.State) bool { return s.InPlace })
}

// Plan returns the plan for the next run on inputs with these extents.
func (st *Stream) Plan(ctx context.Context, inputs []tensor.Value) (*plan.Plan, error) {
	return st.prepare(ctx, slices.Clone(inputs))
}

// prepare fills in the inputs that are states and returns the plan.
func (st *Stream) prepare(ctx context.Context, inputs []tensor.Value) (*plan.Plan, error) {
	if st.spoilt {
		return nil, st.program.Fail("run", nil,
			graph.Errorf(graph.ErrState, "a run that did not end has left the states half changed; reset the stream"))
	}
	if err := st.begin(inputs); err != nil {
		return nil, st.program.Fail("run", nil, err)
	}
	for {
		pl, err := st.plan(ctx, inputs)
		if err != nil {
			return nil, err
		}
		fits, err := st.reserve(pl)
		if err != nil {
			return nil, st.program.Fail("run", nil, err)
		}
		if fits {
			st.recount()
			st.fill(inputs)
			st.last = pl
			return pl, nil
		}
	}
}

// begin makes the states that do not exist yet. Their named extents are the extents with the same
// name among the inputs. One extent without a name is the batch of the inputs.
func (st *Stream) begin(inputs []tensor.Value) error {
	made := 0 // bytes
	for _, h := range st.states {
		if h.shape != nil {
			continue
		}
		shape, unnamed := make(tensor.Shape, len(h.dims)), 0
		for i, d := range h.dims {
			if i == h.axis {
				continue
			}
			n, ok := d.Eval(func(symbol string) (int, bool) { return st.extent(symbol, inputs) })
			if d.IsUnknown() {
				unnamed++
				n, ok = st.batch(inputs), unnamed == 1
			}
			if !ok {
				return graph.Errorf(graph.ErrShape, "extent %v of state %q is not known from the inputs; set the state", d, h.name)
			}
			shape[i] = n
		}
		if err := shape.Check(); err != nil {
			return fmt.Errorf("state %q: %w", h.name, err)
		}
		n := h.dtype.Bytes(shape.Len())
		made += n
		if limit := st.exec.limit; limit > 0 && (made < 0 || made > limit) {
			return graph.Errorf(graph.ErrMemory,
				"state %q, %v%v, and the states before it take more than the memory limit of %d", h.name, h.dtype, shape, limit)
		}
		if err := st.claim(n); err != nil {
			return fmt.Errorf("state %q, %v%v: %w", h.name, h.dtype, shape, err)
		}
		h.shape, h.value = shape, tensor.New(h.dtype, shape...)
	}
	return nil
}

// batch returns the first extent of the first input of two axes or more that is no state; 1 if there
// is none.
func (st *Stream) batch(inputs []tensor.Value) int {
	for i := range st.decl {
		if t, ok := inputs[i].(*tensor.Tensor); ok && !st.Holds(i) && len(t.Shape()) > 1 {
			return t.Shape()[0]
		}
	}
	return 1
}

// extent returns the extent with this name among the inputs.
func (st *Stream) extent(symbol string, inputs []tensor.Value) (int, bool) {
	for i, decl := range st.decl {
		t, ok := inputs[i].(*tensor.Tensor)
		if !ok || st.Holds(i) || len(decl.Dims) != len(t.Shape()) {
			continue
		}
		for a, d := range decl.Dims {
			if isSymbol(d) && d.String() == symbol {
				return t.Shape()[a], true
			}
		}
	}
	return 0, false
}

// plan returns the plan for the next run, with lengths as symbols if possible.
func (st *Stream) plan(ctx context.Context, inputs []tensor.Value) (*plan.Plan, error) {
	if st.numbers != nil {
		return st.program.ForLengths(ctx, st.types(inputs, false), st.lengths(false))
	}
	pl, err := st.program.ForLengths(ctx, st.types(inputs, true), st.lengths(true))
	if err == nil || len(st.groups) == 0 {
		return pl, err
	}
	why := err
	if pl, err = st.program.ForLengths(ctx, st.types(inputs, false), st.lengths(false)); err == nil {
		st.numbers = why
	}
	return pl, err
}

// lengths describes the states to a plan.
func (st *Stream) lengths(symbols bool) *plan.Lengths {
	l := &plan.Lengths{Bounds: map[string]int{}}
	for _, g := range st.groups {
		if symbols {
			l.Bounds[g.symbol] = g.room
		}
	}
	for _, h := range st.states {
		s := plan.State{In: h.in, Out: h.out, Axis: h.axis, InRoom: symbols && h.axis >= 0}
		if h.group != nil {
			s.Room = h.group.room
		}
		l.States = append(l.States, s)
	}
	return l
}

// types returns the types of the inputs.
func (st *Stream) types(inputs []tensor.Value, symbols bool) []graph.Type {
	list := make([]graph.Type, len(inputs))
	for i, v := range inputs {
		if t, ok := v.(*tensor.Tensor); ok {
			list[i] = graph.TensorOf(t.DType(), st.relative(i, t.Shape(), symbols))
		} else {
			list[i] = st.decl[i]
		}
	}
	for _, h := range st.states {
		d := graph.DimsOf(h.shape)
		if h.axis >= 0 {
			d[h.axis] = graph.Known(h.group.length)
			if symbols {
				d[h.axis] = graph.Symbol(h.group.symbol)
			}
		}
		list[h.input] = graph.TensorOf(h.dtype, d)
	}
	return list
}

// relative returns the extents of input i. An extent that grows with a length is that length
// plus a constant.
func (st *Stream) relative(i int, shape tensor.Shape, symbols bool) graph.Dims {
	d := graph.DimsOf(shape)
	decl := st.decl[i].Dims
	if !symbols || len(decl) != len(shape) {
		return d
	}
	for a, n := range shape {
		if g := st.follows(i, a, decl); g != nil && n >= g.length {
			d[a] = graph.Symbol(g.symbol).Add(graph.Known(n - g.length))
		}
	}
	return d
}

// follows returns the group that an extent of an input grows with, or nil. It guesses by names. A
// wrong guess only costs a plan for every length.
func (st *Stream) follows(input, axis int, decl graph.Dims) *group {
	d := decl[axis]
	if d.IsKnown() || len(st.groups) == 0 {
		return nil
	}
	for _, s := range d.Symbols() {
		if g := st.near[s]; g != nil {
			return g
		}
	}
	if len(st.groups) != 1 {
		return nil
	}
	name, last := strings.ToLower(d.String()), axis == len(decl)-1
	if strings.Contains(name, "total") || strings.Contains(name, "past") ||
		last && strings.Contains(strings.ToLower(st.program.Names[st.program.Inputs[input]]), "mask") {
		return st.groups[0]
	}
	return nil
}

// reserve gives the rooms space for the rows that a run of the plan leaves. It reports false if
// rooms have changed. The plan must then be made again.
func (st *Stream) reserve(pl *plan.Plan) (bool, error) {
	fits := true
	for i, h := range st.states {
		if h.group == nil {
			continue
		}
		need := h.group.length
		if n, ok := pl.Slots[h.out].Extent(h.axis, st.lookup); ok && pl.Lengths.States[i].InRoom {
			need = n
		}
		if need > h.group.room {
			h.group.room, fits = max(2*h.group.room, need), false
		}
	}
	if !fits || pl.Lengths == nil {
		return fits, nil
	}
	for i, h := range st.states {
		switch x := &pl.Lengths.States[i]; {
		case x.Offloaded:
			if err := h.enterAccelerator(st); err != nil {
				return false, err
			}
			continue
		case !x.InRoom:
			if err := h.leaveRoom(st); err != nil {
				return false, err
			}
			continue
		}
		if err := h.enterRoom(st, pl.Slots[h.in].Layout == device.Offloaded); err != nil {
			return false, err
		}
	}
	return true, nil
}

// fill puts the states that are tensors among the inputs.
func (st *Stream) fill(inputs []tensor.Value) {
	for _, h := range st.states {
		if h.value != nil {
			inputs[h.input] = h.value
		}
	}
}

// attach gives a frame the lengths and the memory of the states.
func (st *Stream) attach(f *frame) error {
	for _, h := range st.states {
		if h.value != nil && f.plan.Slots[h.in].Place == plan.InState {
			if err := h.lend(); err != nil {
				return err
			}
			f.rebase(h.in, h.value)
			f.values[h.in], f.values[h.out] = h.value, h.value
		}
	}
	return st.size(f)
}

// lend marks the state as borrowed, because a run updates it in place. Steps in Go see the mark.
func (h *streamState) lend() (err error) {
	if !h.value.IsBorrowed() {
		h.value, err = tensor.Borrow(h.dtype, h.value.Shape(), h.value.Bytes())
	}
	return err
}

// size gives a frame the lengths, and the memory of the states that have room.
func (st *Stream) size(f *frame) error {
	for _, h := range st.states {
		switch {
		case f.plan.Slots[h.in].Place != plan.InState:
		case h.offloaded != nil:
			f.attach(h.in, h.offloaded)
		case h.memory != nil:
			f.readdressAt(h.in, h.memory)
		}
	}
	return f.resize(st.lookup)
}
