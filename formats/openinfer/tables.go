package openinfer

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tableAttrs describes a growing persistent variable to its operators.
func (s *scope) tableAttrs(v *decl, more ...*graph.Attr) []*graph.Attr {
	entry, fixed := []int64{}, []int64{}
	for _, n := range s.dims[v.name] {
		entry = append(entry, int64(n))
	}
	for _, name := range v.accessed() {
		n, ok := v.limit(name)
		if !ok {
			n = -1
		}
		fixed = append(fixed, n)
	}
	return append([]*graph.Attr{
		graph.StringAttr("type", v.dtype.tensor().String()), graph.IntsAttr("entry", entry...), graph.IntsAttr("fixed", fixed...),
	}, more...)
}

// vector returns a vector of numbers. Some may be known only at run time.
func (s *scope) vector(list []loopIndex) string {
	ints := make([]int64, len(list))
	parts := make([]string, len(list))
	open := false
	for i, x := range list {
		ints[i] = x.n
		open = open || x.value != ""
	}
	if !open {
		return s.b.Ints(ints...)
	}
	for i, x := range list {
		parts[i] = s.b.Op("Reshape", []string{s.known(x), s.b.Ints(1)})
	}
	return s.b.Op("Concat", parts, graph.IntAttr("axis", 0))
}

// ends returns, for every index of an access to a table, its start and end, whether it is a single
// value, and a mask of its open ends: bit 0 for the start, bit 1 for the end.
func (s *scope) ends(v *decl, a access) (list []loopIndex, single, open []int64, err error) {
	for i := range v.accessed() {
		x := index{slice: true}
		if i < len(a.indices) {
			x = a.indices[i]
		}
		mask := int64(0)
		for j, end := range []*indexValue{x.start, x.end} {
			var at loopIndex
			if end != nil {
				if at, err = s.indexValue(*end); err != nil {
					return nil, nil, nil, err
				}
			} else {
				mask |= 1 << j
			}
			list = append(list, at)
		}
		single = append(single, int64(bit(!x.slice)))
		open = append(open, mask)
	}
	return list, single, open, nil
}

// begin appends the initial element of the variable to the inputs of a reading operator, unless it
// is zero.
func (s *scope) begin(v *decl, inputs ...string) []string {
	if v.init != nil && !isZero(v.init) {
		inputs = append(inputs, s.b.Constant(v.init))
	}
	return inputs
}

// readGrowing lowers a read of a persistent variable that grows.
func (s *scope) readGrowing(v *decl, state string, k readNode) error {
	list, single, open, err := s.ends(v, k.src)
	if err != nil {
		return err
	}
	var out []string
	if len(v.auto) > 0 {
		at, free := begins(list, single)
		out = s.b.Node(domain, "grow_read", s.begin(v, state, s.vector(at)), 2, s.tableAttrs(v, graph.IntsAttr("open", free...))...)
	} else {
		out = s.b.Node(domain, "table_read", s.begin(v, state, s.vector(list)), 2,
			s.tableAttrs(v, graph.IntsAttr("single", single...), graph.IntsAttr("open", open...))...)
	}
	if err := s.set(v.name, out[1]); err != nil {
		return err
	}
	return s.set(k.dst, out[0])
}

// begins returns the starts of a list of starts and ends, and 1 for each index that is not a single
// value.
func begins(list []loopIndex, single []int64) (at []loopIndex, free []int64) {
	for i, one := range single {
		at, free = append(at, list[2*i]), append(free, 1-one)
	}
	return at, free
}

// writeGrowing lowers a write of a persistent variable that grows.
func (s *scope) writeGrowing(v *decl, state, value string, a access) error {
	list, single, _, err := s.ends(v, a)
	if err != nil {
		return err
	}
	at, free := begins(list, single)
	inputs := []string{state, s.vector(at), value}
	if len(v.auto) > 0 {
		return s.set(v.name, s.b.Node(domain, "grow_write", inputs, 1, s.tableAttrs(v, graph.IntsAttr("open", free...))...)[0])
	}
	return s.set(v.name, s.b.Node(domain, "table_write", inputs, 1, s.tableAttrs(v)...)[0])
}

// resetGrowing lowers a reset of a persistent variable that grows.
func (s *scope) resetGrowing(v *decl, a access) error {
	if len(a.indices) == 0 {
		return s.set(v.name, s.b.Constant(tensor.New(tensor.U8, 0)))
	}
	if len(v.auto) > 0 {
		return fmt.Errorf("%q grows as a whole and is reset as a whole", v.name)
	}
	state, err := s.get(v.name)
	if err != nil {
		return err
	}
	var at []loopIndex
	for _, x := range a.indices {
		n, err := s.indexValue(*x.start)
		if err != nil {
			return err
		}
		at = append(at, n)
	}
	return s.set(v.name, s.b.Node(domain, "table_reset", []string{state, s.vector(at)}, 1, s.tableAttrs(v)...)[0])
}
