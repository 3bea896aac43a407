package openinfer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// call lowers the nodes of a block. Values that the block assigned are gone afterwards.
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

// fetchable names the values that the block entry assigned in the graph, so that runs can fetch
// them.
func (s *scope) fetchable() {
	for _, name := range sortedKeys(s.locals) {
		if value := s.values[name]; value != "" {
			s.b.Name(s.b.Op("Identity", []string{value}), name)
		}
	}
}

// forget drops the values assigned since locals.
func (s *scope) forget(locals map[string]operand) {
	for name := range s.locals {
		if _, stays := locals[name]; !stays {
			delete(s.values, name)
			delete(s.changed, name)
		}
	}
	s.locals = locals
}

// list lowers nodes up to the first return.
func (s *scope) list(nodes []*node) error {
	for _, n := range nodes {
		if s.expanded++; s.expanded > maxExpanded {
			return describe(s.block, n, graph.Errorf(graph.ErrUnsupported, "branches and loops make more than %d nodes of the program; it must be smaller", maxExpanded))
		}
		err := s.making.Budget.Err()
		if err == nil {
			err = s.b.Err()
		}
		if err != nil {
			return &nodeError{err}
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

// nodeError is an error that names its node.
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

// inner returns a scope for a graph nested in this scope's graph.
func (s *scope) inner(name string, events *[]*event) *scope {
	c := *s
	c.b = s.b.Body(s.b.Fresh(name))
	c.values, c.locals, c.loops = maps.Clone(s.values), maps.Clone(s.locals), maps.Clone(s.loops)
	c.changed = map[string]bool{}
	c.handed = s.handed.clone()
	c.events = events
	return &c
}

// typeOf returns the type in the graph of a variable or an assigned value.
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

// truth converts a scalar to a boolean.
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

// branch lowers a branch: to the nodes of the block, or to an If that outputs the variables that
// either block changes.
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
	return s.choice(cond, sides, sortedKeys(changed))
}

// choice adds an If with two graphs that output the values of variables. If a trace could not tell
// which graph ran, both output the negated condition too.
func (s *scope) choice(cond string, sides []*scope, names []string) error {
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

// idle reports whether a run of the scope's graph has no steps. A trace then cannot tell that it
// ran.
func (s *scope) idle() bool {
	return !slices.ContainsFunc(s.b.Graph().Nodes, func(n *graph.Node) bool { return n.Op != "Constant" && n.Op != "Identity" })
}
