package openinfer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Names of the state inputs and outputs of a lowered program.
const (
	pastPrefix    = "past."
	presentPrefix = "present."
	startedName   = "started" // state: a step was run; only if a persistent variable is not zero at first
)

// maxExpanded bounds the nodes of a program after branches and loops are expanded.
const maxExpanded = 1 << 15

// network builds the graph of one step of a program.
type network struct {
	*unit
	root      *graph.Builder
	taken     map[string]bool // names of inputs and outputs
	renamed   map[string]*graph.Initializer
	written   map[string]bool // variables that the program writes
	expanded  int             // number of nodes so far
	spelled   int             // bytes of constants so far
	calls     []string        // blocks that are being lowered
	events    []*event
	lastEvent int               // number of the last event
	starts    map[string]string // initial values of persistent variables
	defaults  map[string]*Default
}

// scope is a place where nodes are lowered: a graph and the current values of variables.
type scope struct {
	*network
	b       *graph.Builder
	block   string
	values  map[string]string  // by variable; a variable without an entry has its first value
	locals  map[string]operand // assigned
	changed map[string]bool
	loops   map[string]loopIndex
	handed  *handover
	events  *[]*event
}

// loopIndex is the index of a loop: a number, or a value.
type loopIndex struct {
	n     int64
	value string // empty for a number
}

// lower returns a model that computes one step of a program. Its inputs are the dynamic variables.
// Its outputs are the volatile variables that the program writes and, with ".out" added to the
// name, the dynamic ones it writes. Persistent variables are states.
func lower(p *Program, m *graph.Model, o container.Lowering) (*graph.Model, error) {
	u := newUnit(p, m)
	u.making = o
	if err := u.check(); err != nil {
		return nil, err
	}
	n := &network{unit: u, root: o.Builder("step"), taken: map[string]bool{}, renamed: map[string]*graph.Initializer{},
		written: map[string]bool{}, starts: map[string]string{}, defaults: map[string]*Default{}}
	n.findWritten()
	s := &scope{network: n, b: n.root, block: "entry", values: map[string]string{}, locals: map[string]operand{},
		changed: map[string]bool{}, loops: map[string]loopIndex{}, handed: &handover{}, events: &n.events}
	if err := n.inputs(s); err != nil {
		return nil, err
	}
	if err := s.call("entry"); err != nil {
		return nil, err
	}
	if err := n.outputs(s); err != nil {
		return nil, err
	}
	if err := n.root.Err(); err != nil {
		return nil, err
	}
	out := n.root.Model(m)
	out.Sizes = nil // the graph has the numbers already
	out.Meta = slices.DeleteFunc(slices.Clone(m.Meta), func(p graph.Pair) bool { return u.vars[p.Key] != nil && p.Data != nil })
	out.Source = &stepSource{p, n.events, n.defaults}
	if out.States == nil {
		out.States = []graph.State{} // no states by name
	}
	return out, nil
}

// stepSource is the Source of a lowered program.
type stepSource struct {
	program  *Program
	events   []*event
	defaults map[string]*Default
}

// findWritten records the variables that nodes write, and the names of inputs and outputs.
func (n *network) findWritten() {
	for _, b := range n.Program.blocks {
		maps.Copy(n.written, n.writes(b.nodes, map[string]bool{}))
		for name := range assignedNames(b.nodes) {
			n.taken[name] = true
		}
	}
	for _, v := range n.Program.vars {
		if v.memory == memDynamic || n.written[v.name] {
			n.taken[v.name] = true
		}
	}
}

// writes returns the variables that nodes write, including nodes of the blocks that they run.
func (n *network) writes(nodes []*node, seen map[string]bool) map[string]bool {
	found := map[string]bool{}
	run := func(name string) {
		if b := n.unit.blocks[name]; b != nil && !seen[name] {
			seen[name] = true
			maps.Copy(found, n.writes(b.nodes, seen))
		}
	}
	for _, x := range nodes {
		switch k := x.kind.(type) {
		case opNode:
			found[k.output] = true
		case transferNode:
			found[k.dst] = true
		case readNode:
			found[k.dst], found[k.src.base] = true, true
		case writeNode:
			found[k.dst.base] = true
		case countNode:
			found[k.target] = true
		case resetNode:
			found[k.target.base] = true
		case branchNode:
			run(k.then)
			run(k.otherwise)
		case loopNode:
			maps.Copy(found, n.writes(k.body, seen))
		case yieldNode:
			for _, b := range n.consumers() {
				run(b.name)
			}
		}
	}
	return found
}

func assignedNames(nodes []*node) map[string]bool {
	found := map[string]bool{}
	for _, x := range nodes {
		switch k := x.kind.(type) {
		case assignNode:
			found[k.name] = true
		case loopNode:
			maps.Copy(found, assignedNames(k.body))
		}
	}
	return found
}

// typeOf returns the type of a variable in the graph.
func (n *network) typeOf(name string, d dtype, dims []int) graph.Type {
	if n.open[name] {
		return graph.TensorOf(d.tensor(), nil)
	}
	return graph.TensorOf(d.tensor(), graph.DimsOf(dims))
}

// inputs adds the inputs of the graph: dynamic variables and states.
func (n *network) inputs(s *scope) error {
	for _, v := range n.Program.vars {
		var err error
		switch v.memory {
		case memDynamic:
			s.values[v.name] = n.root.Input(v.name, graph.TensorOf(v.dtype.tensor(), graph.DimsOf(n.dims[v.name])))
			err = n.fallback(v)
		case memPersistent:
			err = n.state(s, v)
		}
		if err != nil {
			return fmt.Errorf("variable %q: %w", v.name, err)
		}
	}
	return nil
}

// outputs adds the outputs of the graph.
func (n *network) outputs(s *scope) error {
	for _, v := range n.Program.vars {
		name := v.name
		switch {
		case v.memory == memPersistent:
			n.leave(s, v)
			continue
		case !n.written[v.name]:
			continue
		case v.memory == memDynamic:
			name += ".out"
		}
		value, err := s.get(v.name)
		if err != nil {
			return err
		}
		give(n.root, value, name, n.typeOf(v.name, v.dtype, n.dims[v.name]))
	}
	if s.values[startedName+"."] != "" {
		yes := scalarBits(dtBool, 1)
		n.root.Output(n.root.Op("Constant", nil, graph.TensorAttr("value", yes)), presentPrefix+startedName+".", graph.TensorOf(tensor.Bool, graph.Dims{}))
	}
	return nil
}

// give makes a value an output. The Identity lets several outputs share one value.
func give(b *graph.Builder, value, name string, t graph.Type) {
	b.Output(b.Op("Identity", []string{value}), name, t)
}

// weight returns the value of a tensor of the model. A tensor with the name of an input or output
// is renamed.
func (n *network) weight(w *graph.Initializer) string {
	if !n.taken[w.Name] {
		return n.root.Weight(w)
	}
	if n.renamed[w.Name] == nil {
		n.renamed[w.Name] = &graph.Initializer{Name: "model." + w.Name, Tensor: w.Tensor, Stored: w.Stored}
	}
	return n.root.Weight(n.renamed[w.Name])
}

// first returns the value of a variable before any write.
func (s *scope) first(v *decl) (string, error) {
	t, w, err := s.initial(v)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q: %w", v.name, err)
	case w != nil:
		return s.weight(w), nil
	}
	return s.filled(v.dtype, s.dims[v.name], t)
}

// maxSpelled bounds the bytes of constants of element types that no operator can fill.
const maxSpelled = 64 << 20

// filled returns a tensor with every element equal to the one element of t, or zero if t is nil. If
// t has the full shape, filled returns t itself.
func (s *scope) filled(d dtype, dims []int, t *tensor.Tensor) (string, error) {
	shape := tensor.Shape(dims)
	if t == nil {
		t = scalarBits(d, 0)
	}
	if t.Shape().Equal(shape) {
		return s.b.Constant(t), nil
	}
	if !d.isPacked() && d != dtF8 {
		one, err := t.Reshape(tensor.Shape{1})
		if err != nil {
			return "", err
		}
		list := make([]int64, len(dims))
		for i, n := range dims {
			list[i] = int64(n)
		}
		return s.b.Op("ConstantOfShape", []string{s.b.Ints(list...)}, graph.TensorAttr("value", one)), nil
	}
	n := d.tensor().Bytes(shape.Len())
	if err := s.making.Take(n); err != nil {
		return "", err
	}
	if s.spelled += min(n, maxSpelled+1); s.spelled > maxSpelled {
		return "", graph.Errorf(graph.ErrMemory, "a value of type %v%v that is used before it is written takes %d bytes; at most %d are made of all such", d, shape, n, maxSpelled)
	}
	full := tensor.New(d.tensor(), dims...)
	spread(full, t)
	return s.b.Constant(full), nil
}

// spread repeats the bits of one's element in all of full.
func spread(full, one *tensor.Tensor) {
	to, from := full.Bytes(), one.Bytes()
	if width := full.DType().Bits(); width < 8 {
		code, b := byte(bitsOf(one)), byte(0)
		for at := 0; at < 8; at += width {
			b |= code << at
		}
		from = []byte{b}
	}
	for n := copy(to, from); n > 0 && n < len(to); {
		n += copy(to[n:], to[:n])
	}
}

// get returns the current value of a variable or an assigned value.
func (s *scope) get(name string) (string, error) {
	if s.handed.away[name] {
		return "", fmt.Errorf("%q was yielded; it must be awaited before it is used", name)
	}
	if value := s.values[name]; value != "" {
		return value, nil
	}
	var value string
	var err error
	if v := s.vars[name]; v != nil {
		value, err = s.first(v)
	} else if o, ok := s.locals[name]; ok {
		value, err = s.filled(o.dtype, o.dims, nil)
	} else {
		err = fmt.Errorf("there is no value %q here; assign it before", name)
	}
	if err == nil {
		s.values[name] = value
	}
	return value, err
}

// set makes value the current value of a variable.
func (s *scope) set(name, value string) error {
	if s.handed.away[name] {
		return fmt.Errorf("%q was yielded; it must be awaited before it is written", name)
	}
	s.values[name] = value
	s.changed[name] = true
	return nil
}

// operand returns a value with its type. name may be an access to a prefix table.
func (s *scope) operand(name string) (operand, error) {
	base, indices, ok := cutAccess(name)
	v := s.vars[base]
	if ok {
		value, err := s.prefix(v, indices)
		return operand{value, v.dtype, s.dims[base]}, err
	}
	value, err := s.get(name)
	if err != nil {
		return operand{}, err
	}
	if v != nil {
		return operand{value, v.dtype, s.dims[name]}, nil
	}
	o := s.locals[name]
	o.value = value
	return o, nil
}

// target returns the type of a variable that is written, with its current value, if any.
func (s *scope) target(name string) (operand, error) {
	if v := s.vars[name]; v != nil {
		return operand{s.values[name], v.dtype, s.dims[name]}, nil
	}
	o, ok := s.locals[name]
	if !ok {
		return o, fmt.Errorf("there is no value %q here; assign it before", name)
	}
	o.value = s.values[name]
	return o, nil
}

// op lowers an operator.
func (s *scope) op(k opNode) (string, error) {
	row, _ := lookupOp(k.op)
	var inputs []operand
	for _, name := range k.inputs {
		o, err := s.operand(name)
		if err != nil {
			return "", err
		}
		inputs = append(inputs, o)
	}
	out, err := s.target(k.output)
	if err != nil {
		return "", err
	}
	if !slices.Contains(k.inputs, k.output) {
		out.value = ""
	}
	attrs, err := s.attrs(k.attrs)
	if err != nil {
		return "", err
	}
	return row.lower(s.b, attrs, inputs, out)
}

func (s *scope) attrs(list []attribute) ([]attr, error) {
	c := &checker{unit: s.unit, block: s.unit.blocks[s.block], locals: s.locals}
	attrs, err := c.attrs(list)
	for i := range attrs {
		o, ok := attrs[i].value.(operand)
		if !ok || err != nil {
			continue
		}
		attrs[i].value, err = s.operand(o.value)
	}
	return attrs, err
}
