package openinfer

import (
	"maps"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxUnrolled bounds the number of nodes in an unrolled loop.
const maxUnrolled = 4096

// loop lowers a loop: to nodes for each iteration, or to a Loop if there are many or if their number
// is known only at run time.
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
		return s.iterations(k, e, start, s.trips(start, end, once))
	}
	n := end.n - start.n // both are nonnegative
	if once {
		n = min(n, 1)
	}
	if n > maxUnrolled || n*int64(s.weigh(k.body, 0)) > maxUnrolled {
		return s.iterations(k, e, start, s.b.Int(n))
	}
	for i := range max(n, 0) {
		if err := s.iteration(k, e, start.n+i); err != nil {
			return err
		}
	}
	return nil
}

// iteration lowers one iteration of a loop.
func (s *scope) iteration(k loopNode, e *event, at int64) error {
	events, locals, loops := s.events, s.locals, s.loops
	s.events, s.locals, s.loops = e.body, maps.Clone(locals), maps.Clone(loops)
	s.loops[k.index] = loopIndex{n: at}
	err := s.list(k.body)
	s.forget(locals)
	s.events, s.loops = events, loops
	return err
}

// weigh estimates the number of graph nodes that nodes become.
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

// integerOf returns the current value of a scalar as an int64.
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

// known returns a loop index as a value of the graph.
func (s *scope) known(x loopIndex) string {
	if x.value == "" {
		return s.b.Int(x.n)
	}
	return x.value
}

// trips returns the number of iterations of a loop.
func (s *scope) trips(start, end loopIndex, once bool) string {
	n := s.b.Op("Max", []string{s.b.Op("Sub", []string{s.known(end), s.known(start)}), s.b.Int(0)})
	if once {
		n = s.b.Op("Min", []string{n, s.b.Int(1)})
	}
	return n
}

// iterations lowers a loop to a Loop. The Loop carries the variables that its body changes.
func (s *scope) iterations(k loopNode, e *event, start loopIndex, count string) error {
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
	number := body.b.Input(body.b.Fresh("turn"), graph.TensorOf(tensor.I64, graph.Dims{}))
	goes := body.b.Input(body.b.Fresh("goes"), graph.TensorOf(tensor.Bool, graph.Dims{}))
	body.loops[k.index] = loopIndex{value: body.b.Op("Add", []string{number, body.known(start)})}
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
	if len(names) == 0 { // a Loop needs a carried value
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
