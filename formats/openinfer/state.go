package openinfer

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stateType returns the type in the graph of a persistent variable: all entries for a table of
// fixed sizes, bytes for a growing variable, else the variable's own type.
func (n *network) stateType(v *decl) graph.Type {
	switch {
	case v.dense():
		return graph.TensorOf(v.dtype.tensor(), graph.DimsOf(n.denseShape(v)))
	case v.cached():
		return graph.TensorOf(tensor.U8, graph.UnknownDims(1))
	}
	return graph.TensorOf(v.dtype.tensor(), graph.DimsOf(n.dims[v.name]))
}

// state adds a persistent variable as a state of the graph.
func (n *network) state(s *scope, v *decl) error {
	t, axis := n.stateType(v), -1
	if v.cached() && !v.dense() {
		axis, t.Dims = 0, graph.Dims{graph.Symbol(pastPrefix + v.name)}
	}
	outer := t
	if v.dtype.isPacked() { // states have whole bytes
		outer = graph.TensorOf(tensor.U8, graph.DimsOf(tensor.Shape{v.dtype.tensor().Bytes(tensor.Shape(n.dims[v.name]).Len())}))
	}
	value := n.root.State(pastPrefix+v.name, presentPrefix+v.name, axis, outer)
	if v.dtype.isPacked() {
		value = n.root.Node(domain, "from_bytes", []string{value}, 1, s.typeAttrs(v)...)[0]
	}
	s.values[v.name] = value
	if axis == 0 {
		return nil
	}
	first, zero, err := n.begins(s, v)
	if err != nil || zero {
		return err
	}
	then, otherwise := s.b.Body(s.b.Fresh("then")), s.b.Body(s.b.Fresh("else"))
	then.Output(value, then.Fresh("out"), t)
	otherwise.Output(first, otherwise.Fresh("out"), t)
	s.values[v.name] = s.b.Op("If", []string{n.started(s)}, graph.GraphAttr("then_branch", then.Graph()), graph.GraphAttr("else_branch", otherwise.Graph()))
	return nil
}

// leave outputs the last value of a persistent variable.
func (n *network) leave(s *scope, v *decl) {
	value, t := s.values[v.name], n.stateType(v)
	if v.dtype.isPacked() {
		value = n.root.Node(domain, "to_bytes", []string{value}, 1)[0]
		t = graph.TensorOf(tensor.U8, graph.UnknownDims(1))
	}
	give(n.root, value, presentPrefix+v.name, t)
}

// typeAttrs describes the type of a variable to operators on bytes.
func (s *scope) typeAttrs(v *decl) []*graph.Attr {
	dims := make([]int64, len(s.dims[v.name]))
	for i, n := range s.dims[v.name] {
		dims[i] = int64(n)
	}
	return []*graph.Attr{graph.StringAttr("type", v.dtype.tensor().String()), graph.IntsAttr("shape", dims...)}
}

// started returns a truth value: whether a step was run before.
func (n *network) started(s *scope) string {
	const name = startedName + "." // not the name of a variable
	if s.values[name] == "" {
		s.values[name] = n.root.State(pastPrefix+name, presentPrefix+name, -1, graph.TensorOf(tensor.Bool, graph.Dims{}))
	}
	return s.values[name]
}

// begins returns the initial value of a persistent variable. If the value is all zeros, begins
// returns no value, and zero is true.
func (n *network) begins(s *scope, v *decl) (value string, zero bool, err error) {
	if v.cached() {
		if v.init == nil || isZero(v.init) {
			return "", true, nil
		}
		value, err = s.filled(v.dtype, n.denseShape(v), v.init)
		return value, false, err
	}
	t, w, err := n.initial(v)
	if zero = t == nil || t != nil && w == nil && isZero(t); err != nil || zero { // t is uniform, or a single element
		return "", zero, err
	}
	value, err = s.first(v)
	return value, false, err
}

func isZero(t *tensor.Tensor) bool {
	for _, b := range t.Bytes() {
		if b != 0 {
			return false
		}
	}
	return true
}

// cache lowers the nodes of persistent variables. Other nodes do nothing.
func (s *scope) cache(kind nodeKind) error {
	switch k := kind.(type) {
	case readNode:
		return s.read(k)
	case writeNode:
		return s.write(k)
	case countNode:
		return s.count(k)
	case resetNode:
		return s.reset(k)
	}
	return nil
}

func (s *scope) read(k readNode) error {
	v := s.vars[k.src.base]
	state, err := s.get(v.name)
	if err != nil {
		return err
	}
	switch {
	case v.dense():
		state, err = s.part(v, state, k.src)
	case v.cached():
		return s.readGrowing(v, state, k)
	}
	if err != nil {
		return err
	}
	return s.set(k.dst, state)
}

func (s *scope) write(k writeNode) error {
	v := s.vars[k.dst.base]
	value, err := s.get(k.src)
	if err != nil || !v.cached() {
		if err == nil {
			err = s.set(v.name, value)
		}
		return err
	}
	state, err := s.get(v.name)
	if err != nil {
		return err
	}
	if !v.dense() {
		return s.writeGrowing(v, state, value, k.dst)
	}
	at, err := s.place(v, k.dst)
	if err != nil {
		return err
	}
	return s.set(v.name, s.put(v, state, value, at))
}

// put returns a dense table with value stored at the first indices at: one entry, or all entries
// that share these indices.
func (s *scope) put(v *decl, state, value string, at []string) string {
	indices := s.b.Op("Unsqueeze", []string{s.b.Op("Concat", at, graph.IntAttr("axis", 0)), s.b.Ints(0)})
	update := s.b.Op("Unsqueeze", []string{value, s.b.Ints(0)})
	return s.b.Op("ScatterND", []string{state, indices, update})
}

// place returns the indices of an access to a dense table, as vectors of one element.
func (s *scope) place(v *decl, a access) ([]string, error) {
	var list []string
	for i, x := range a.indices {
		at, err := s.single(v, i, *x.start)
		if err != nil {
			return nil, err
		}
		list = append(list, s.b.Op("Reshape", []string{at, s.b.Ints(1)}))
	}
	return list, nil
}

// single returns an index of a dense table as a scalar. A negative index becomes the limit, an
// error at run time.
func (s *scope) single(v *decl, i int, x indexValue) (string, error) {
	limit, _ := v.limit(v.indices[i])
	at, err := s.indexValue(x)
	if err != nil {
		return "", err
	}
	if at.value == "" {
		if at.n < 0 || at.n >= limit {
			return "", fmt.Errorf("index %q of %q is %d, and the size is fixed as %d", v.indices[i], v.name, at.n, limit)
		}
		return s.b.Int(at.n), nil
	}
	return s.b.Op("Where", []string{s.b.Op("Less", []string{at.value, s.b.Int(0)}), s.b.Int(limit), at.value}), nil
}

// indexValue returns an index of an access.
func (s *scope) indexValue(x indexValue) (loopIndex, error) {
	if x.name == "" {
		return loopIndex{n: x.n}, nil
	}
	return s.indexOf(x.name)
}

// part returns the part of a dense table that an access reads.
func (s *scope) part(v *decl, state string, a access) (string, error) {
	for i := len(a.indices) - 1; i >= 0; i-- {
		x := a.indices[i]
		var err error
		switch {
		case !x.slice:
			var at string
			if at, err = s.single(v, i, *x.start); err == nil {
				state = s.b.Op("Gather", []string{state, at}, graph.IntAttr("axis", int64(i)))
			}
		case x.start != nil || x.end != nil:
			state, err = s.slice(v, state, i, x)
		}
		if err != nil {
			return "", err
		}
	}
	return state, nil
}

// slice returns a range along index i of a dense table.
func (s *scope) slice(v *decl, state string, i int, x index) (string, error) {
	limit, _ := v.limit(v.indices[i])
	var ends [2]string
	for j, end := range []*indexValue{x.start, x.end} {
		at := loopIndex{n: []int64{0, limit}[j]}
		if end != nil {
			var err error
			if at, err = s.indexValue(*end); err != nil {
				return "", err
			}
		}
		if at.value == "" && (at.n > limit || at.n < 0 && (j == 0 || at.n < -limit)) {
			return "", fmt.Errorf("index %q of %q is %d, and the size is fixed as %d", v.indices[i], v.name, at.n, limit)
		}
		ends[j] = s.known(at)
		if at.value != "" {
			ends[j] = s.within(at.value, limit, j == 1)
		}
		ends[j] = s.b.Op("Reshape", []string{ends[j], s.b.Ints(1)})
	}
	return s.b.Op("Slice", []string{state, ends[0], ends[1], s.b.Ints(int64(i))}), nil
}

// within returns an end of a range that is known at run time. A Gather fails at run time if the end
// is above limit or too small.
func (s *scope) within(at string, limit int64, signed bool) string {
	low := int64(0)
	if signed {
		low = -limit
	}
	bad := s.b.Op("Or", []string{s.b.Op("Less", []string{at, s.b.Int(low)}), s.b.Op("Greater", []string{at, s.b.Int(limit)})})
	place := s.b.Op("Where", []string{bad, s.b.Int(math.MaxInt32), s.b.Int(0)})
	return s.b.Op("Gather", []string{s.b.Op("Reshape", []string{at, s.b.Ints(1)}), place})
}

// count adds to a persistent scalar, like the operators add and sub.
func (s *scope) count(k countNode) error {
	v := s.vars[k.target]
	state, err := s.get(v.name)
	if err != nil {
		return err
	}
	word := "add"
	if k.down {
		word = "sub"
	}
	row, ok := lookupOp(word)
	if !ok {
		return fmt.Errorf("there is no operator %q", word)
	}
	amount := scalarBits(v.dtype, uint64(k.amount)&(math.MaxUint64>>(64-v.dtype.bits())))
	if v.dtype.isFloat() {
		amount = scalarFloat(v.dtype, float64(k.amount))
	}
	one := operand{value: s.b.Constant(amount), dtype: v.dtype, dims: []int{}}
	in := operand{value: state, dtype: v.dtype, dims: []int{}}
	sum, err := row.lower(s.b, nil, []operand{in, one}, operand{dtype: v.dtype, dims: []int{}})
	if err != nil {
		return err
	}
	return s.set(v.name, sum)
}

// reset gives a persistent variable, or some of its entries, their initial value.
func (s *scope) reset(k resetNode) error {
	v := s.vars[k.target.base]
	if v.cached() && !v.dense() {
		return s.resetGrowing(v, k.target)
	}
	if n := len(k.target.indices); n > 0 {
		at, err := s.place(v, k.target)
		if err != nil {
			return err
		}
		state, err := s.get(v.name)
		if err != nil {
			return err
		}
		rest, err := s.filled(v.dtype, s.denseShape(v)[n:], v.init)
		if err != nil {
			return err
		}
		return s.set(v.name, s.put(v, state, rest, at))
	}
	var value string
	var err error
	if v.cached() {
		value, err = s.filled(v.dtype, s.denseShape(v), v.init)
	} else {
		value, err = s.first(v)
	}
	if err != nil {
		return err
	}
	return s.set(v.name, value)
}
