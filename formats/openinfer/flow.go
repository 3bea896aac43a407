package openinfer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// call lowers the nodes of a block, after which the values that it assigned are gone.
func (s *scope) call(name string) error {
	if i := slices.Index(s.calls, name); i >= 0 {
		return fmt.Errorf("block %q runs itself: %s; a program must end", name, strings.Join(append(s.calls[i:], name), " → "))
	}
	if len(s.calls) > maxNesting {
		return fmt.Errorf("blocks run each other more than %d deep", maxNesting)
	}
	block, locals := s.block, s.locals
	s.calls = append(s.calls, name)
	s.block, s.locals = name, maps.Clone(locals)
	err := s.list(s.unit.blocks[name].nodes)
	if len(s.calls) == 1 && err == nil {
		s.fetchable()
	}
	s.forget(locals)
	s.block, s.calls = block, s.calls[:len(s.calls)-1]
	if err == nil && len(s.calls) == 0 {
		err = s.join()
	}
	return err
}

// fetchable gives the values that the block entry assigned their names in the graph.
func (s *scope) fetchable() {
	for _, name := range sortedKeys(s.locals) {
		if value := s.values[name]; value != "" {
			s.b.Name(s.b.Op("Identity", []string{value}), name)
		}
	}
}

// forget makes locals the values that are assigned.
func (s *scope) forget(locals map[string]operand) {
	for name := range s.locals {
		if _, stays := locals[name]; !stays {
			delete(s.values, name)
			delete(s.changed, name)
		}
	}
	s.locals = locals
}

// list lowers nodes up to one that returns.
func (s *scope) list(nodes []*node) error {
	for _, n := range nodes {
		if s.expanded++; s.expanded > maxExpanded {
			return describe(s.block, n, graph.Errorf(graph.ErrUnsupported, "branches and loops make more than %d nodes of the program; it must be smaller", maxExpanded))
		}
		e := s.note(n)
		first := len(s.b.Graph().Nodes)
		if err := s.node(n, e); err != nil {
			if nested(err) {
				return err
			}
			return &nodeError{describe(s.block, n, err)}
		}
		s.label(e, first)
		if _, ok := n.kind.(returnNode); ok {
			return nil
		}
	}
	return nil
}

// nodeError is an error that names a node.
type nodeError struct{ err error }

func (e *nodeError) Error() string { return e.err.Error() }
func (e *nodeError) Unwrap() error { return e.err }

func nested(err error) bool {
	_, ok := err.(*nodeError)
	return ok
}

func (s *scope) node(n *node, e *event) error {
	switch k := n.kind.(type) {
	case assignNode:
		return s.assign(k)
	case opNode:
		value, err := s.op(k)
		if err != nil {
			return err
		}
		return s.set(k.output, value)
	case transferNode:
		value, err := s.get(k.src)
		if err != nil {
			return err
		}
		return s.set(k.dst, value)
	case branchNode:
		return s.branch(k, e)
	case loopNode:
		return s.loop(k, e)
	case yieldNode:
		return s.yield(k)
	case awaitNode:
		return s.await(k)
	}
	return s.cache(n.kind)
}

func (s *scope) assign(k assignNode) error {
	dims, err := s.extents(k.dims)
	s.locals[k.name] = operand{dtype: k.dtype, dims: dims}
	delete(s.values, k.name)
	return err
}

// inner returns a scope for a graph within the scope's.
func (s *scope) inner(name string, events *[]*event) *scope {
	c := *s
	c.b = s.b.Body(s.b.Fresh(name))
	c.values, c.locals, c.loops = maps.Clone(s.values), maps.Clone(s.locals), maps.Clone(s.loops)
	c.changed = map[string]bool{}
	c.handed = s.handed.clone()
	c.events = events
	return &c
}

// typeOf returns the type in the graph of a variable or of a value that is assigned.
func (s *scope) typeOf(name string) graph.Type {
	if v := s.vars[name]; v != nil {
		if v.memory == memPersistent {
			return s.stateType(v)
		}
		return s.network.typeOf(name, v.dtype, s.dims[name])
	}
	o := s.locals[name]
	return s.network.typeOf(name, o.dtype, o.dims)
}

// truth returns a scalar as a boolean.
func (s *scope) truth(name string) (string, error) {
	o, err := s.operand(name)
	if err != nil || o.dtype == dtBool {
		return o.value, err
	}
	return s.b.Op("Cast", []string{o.value}, graph.IntAttr("to", onnxBool)), nil
}

// Codes of element types in attributes of standard operators.
const (
	onnxInt64 = 7
	onnxBool  = 9
)

// branch lowers a branch: nodes of the block, or an If whose outputs are what either block
// changes.
func (s *scope) branch(k branchNode, e *event) error {
	if k.cond == "" {
		e.body = &[]*event{}
		events := s.events
		s.events = e.body
		err := s.call(k.then)
		s.events = events
		return err
	}
	cond, err := s.truth(k.cond)
	if err != nil {
		return err
	}
	e.body, e.otherwise = &[]*event{}, &[]*event{}
	sides := []*scope{s.inner("then", e.body), s.inner("else", e.otherwise)}
	changed := map[string]bool{}
	for i, name := range []string{k.then, k.otherwise} {
		if err := sides[i].call(name); err != nil {
			return err
		}
		maps.Copy(changed, sides[i].changed)
	}
	names := sortedKeys(changed)
	marked := len(names) == 0 || slices.ContainsFunc(sides, (*scope).idle)
	for _, side := range sides {
		for _, name := range names {
			value, err := side.get(name)
			if err != nil {
				return err
			}
			give(side.b, value, side.b.Fresh("out"), s.typeOf(name))
		}
		if marked {
			side.b.Output(side.b.Op("Not", []string{cond}), side.b.Fresh("out"), graph.TensorOf(tensor.Bool, graph.Dims{}))
		}
	}
	out := s.b.Node("", "If", []string{cond}, len(names)+bit(marked),
		graph.GraphAttr("then_branch", sides[0].b.Graph()), graph.GraphAttr("else_branch", sides[1].b.Graph()))
	for i, name := range names {
		if err := s.set(name, out[i]); err != nil {
			return err
		}
	}
	return nil
}

// idle reports whether a run of the scope's graph has no steps, so that a trace cannot tell
// that it ran.
func (s *scope) idle() bool {
	return !slices.ContainsFunc(s.b.Graph().Nodes, func(n *graph.Node) bool { return n.Op != "Constant" && n.Op != "Identity" })
}

// maxUnrolled bounds the nodes that a loop is unrolled into.
const maxUnrolled = 4096

// loop lowers a loop: nodes for each turn, or a Loop where there are many or where a run
// tells how many.
func (s *scope) loop(k loopNode, e *event) error {
	e.body = &[]*event{}
	start, err := s.bound(k.start)
	if err != nil {
		return err
	}
	end, err := s.bound(k.end)
	if err != nil {
		return err
	}
	once := slices.ContainsFunc(k.body, func(n *node) bool { _, ok := n.kind.(returnNode); return ok })
	if start.value != "" || end.value != "" {
		return s.turns(k, e, start, s.trips(start, end, once))
	}
	n := end.n - start.n // both are not negative
	if once {
		n = min(n, 1)
	}
	if n > maxUnrolled || n*int64(s.weigh(k.body, 0)) > maxUnrolled {
		return s.turns(k, e, start, s.b.Int(n))
	}
	for i := range max(n, 0) {
		if err := s.turn(k, e, start.n+i); err != nil {
			return err
		}
	}
	return nil
}

// turn lowers one turn of a loop.
func (s *scope) turn(k loopNode, e *event, at int64) error {
	events, locals, loops := s.events, s.locals, s.loops
	s.events, s.locals, s.loops = e.body, maps.Clone(locals), maps.Clone(loops)
	s.loops[k.index] = loopIndex{n: at}
	err := s.list(k.body)
	s.forget(locals)
	s.events, s.loops = events, loops
	return err
}

// weigh counts the nodes that nodes are lowered into, about.
func (s *scope) weigh(nodes []*node, depth int) int {
	n := 1
	for _, x := range nodes {
		n++
		switch k := x.kind.(type) {
		case loopNode:
			inner := s.weigh(k.body, depth)
			start, err1 := s.size(k.start)
			end, err2 := s.size(k.end)
			if err1 == nil && err2 == nil && end > start && end-start <= maxUnrolled && inner*int(end-start) <= maxUnrolled {
				inner *= int(end - start)
			}
			n += inner
		case branchNode:
			for _, name := range []string{k.then, k.otherwise} {
				if b := s.unit.blocks[name]; b != nil && depth < 8 {
					n += s.weigh(b.nodes, depth+1)
				}
			}
		}
		if n > maxUnrolled {
			return n
		}
	}
	return n
}

// bound returns a bound of a loop.
func (s *scope) bound(text string) (loopIndex, error) {
	if n, err := s.size(text); err == nil {
		return loopIndex{n: int64(n)}, nil
	}
	return s.integerOf(text)
}

// integerOf returns the current value of a scalar, as an int64.
func (s *scope) integerOf(name string) (loopIndex, error) {
	if v := s.vars[name]; v != nil {
		if t, err := s.constantValue(v); err != nil || t != nil {
			if err != nil {
				return loopIndex{}, err
			}
			if n, ok := scalarInteger(v.dtype, t).int64(); ok {
				return loopIndex{n: n}, nil
			}
		}
	}
	o, err := s.operand(name)
	if err != nil || o.dtype == dtI64 {
		return loopIndex{value: o.value}, err
	}
	return loopIndex{value: s.b.Op("Cast", []string{o.value}, graph.IntAttr("to", onnxInt64))}, nil
}

// known returns an integer as a value.
func (s *scope) known(x loopIndex) string {
	if x.value == "" {
		return s.b.Int(x.n)
	}
	return x.value
}

// trips returns how many turns a loop makes.
func (s *scope) trips(start, end loopIndex, once bool) string {
	n := s.b.Op("Max", []string{s.b.Op("Sub", []string{s.known(end), s.known(start)}), s.b.Int(0)})
	if once {
		n = s.b.Op("Min", []string{n, s.b.Int(1)})
	}
	return n
}

// turns lowers a loop to a Loop, which carries what its body changes.
func (s *scope) turns(k loopNode, e *event, start loopIndex, count string) error {
	e.looped = true
	var names []string
	for _, name := range sortedKeys(s.writes(k.body, map[string]bool{})) {
		if _, ok := s.locals[name]; ok || s.vars[name] != nil {
			names = append(names, name)
		}
	}
	inputs := []string{count, ""}
	for _, name := range names {
		value, err := s.get(name)
		if err != nil {
			return err
		}
		inputs = append(inputs, value)
	}
	body := s.inner("body", e.body)
	turn := body.b.Input(body.b.Fresh("turn"), graph.TensorOf(tensor.I64, graph.Dims{}))
	goes := body.b.Input(body.b.Fresh("goes"), graph.TensorOf(tensor.Bool, graph.Dims{}))
	body.loops[k.index] = loopIndex{value: body.b.Op("Add", []string{turn, body.known(start)})}
	for _, name := range names {
		body.values[name] = body.b.Input(body.b.Fresh("in"), s.typeOf(name))
	}
	if err := body.list(k.body); err != nil {
		return err
	}
	if err := body.join(); err != nil {
		return err
	}
	body.b.Output(body.b.Op("Identity", []string{goes}), body.b.Fresh("goes"), graph.TensorOf(tensor.Bool, graph.Dims{}))
	for _, name := range names {
		give(body.b, body.values[name], body.b.Fresh("out"), s.typeOf(name))
	}
	if len(names) == 0 { // a body of a Loop has an output
		inputs = append(inputs, s.b.Int(0))
		in := body.b.Input(body.b.Fresh("in"), graph.TensorOf(tensor.I64, graph.Dims{}))
		body.b.Output(in, body.b.Fresh("out"), graph.TensorOf(tensor.I64, graph.Dims{}))
	}
	out := s.b.Node("", "Loop", inputs, len(inputs)-2, graph.GraphAttr("body", body.b.Graph()))
	for i, name := range names {
		if err := s.set(name, out[i]); err != nil {
			return err
		}
	}
	return nil
}

// prefix returns a tensor of a prefix table.
func (s *scope) prefix(v *decl, indices []string) (string, error) {
	at := make([]int64, len(indices))
	open := -1
	var index loopIndex
	for i, text := range indices {
		x, err := s.indexOf(text)
		if err != nil {
			return "", err
		}
		if at[i] = x.n; x.value != "" {
			if open >= 0 {
				return "", graph.Errorf(graph.ErrUnsupported, "%q has two indices that only a run tells; the bounds of one loop must be numbers or sizes", v.name)
			}
			open, index = i, x
		}
	}
	if open < 0 {
		w, err := s.prefixTensor(v, at)
		if err != nil {
			return "", err
		}
		return s.weight(w), nil
	}
	return s.choose(v, at, open, index.value)
}

// choose returns the tensor of a prefix table at an index that only a run tells, of all
// that the model has from index 0 on.
func (s *scope) choose(v *decl, at []int64, open int, index string) (string, error) {
	var list []string
	for at[open] = 0; ; at[open]++ {
		w := s.weights[filled(v.pattern, v.indices, at)]
		if w == nil {
			break
		}
		if err := s.fits(v, "tensor", w.Name, w.Tensor.DType(), w.Tensor.Shape()); err != nil {
			return "", err
		}
		list = append(list, s.weight(w))
	}
	if len(list) == 0 {
		at[open] = 0
		_, err := s.prefixTensor(v, at)
		return "", err
	}
	all := s.b.Op("SequenceConstruct", list)
	return s.b.Op("SequenceAt", []string{all, index}), nil
}

// indexOf returns an index of a prefix table or of a cache.
func (s *scope) indexOf(name string) (loopIndex, error) {
	if x, ok := s.loops[name]; ok {
		return x, nil
	}
	return s.bound(name)
}
