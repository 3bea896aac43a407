package openinfer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ParseJSON reads a program from its JSON form. Members that are unknown, missing or repeated are
// errors that name their place.
func ParseJSON(data []byte) (_ *Program, err error) {
	defer guard.At("").End(&err)
	return parseJSON(nil, data)
}

// parseJSON is ParseJSON, but takes memory within b, and stops if b's context is done.
func parseJSON(b *budget.Budget, data []byte) (*Program, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("the program is of %d bytes; at most %d are read", len(data), maxBytes)
	}
	if at, err := container.Valid(b, data); err != nil {
		return nil, fmt.Errorf("this is no JSON, at byte %d: %w", at, err)
	}
	top, err := jsonValue{raw: data, in: b}.object()
	if err != nil {
		return nil, err
	}
	r := &jsonReader{program: &Program{}}
	for _, read := range []func(o *jsonObject) error{r.variables, r.blocks, r.next, (*jsonObject).done} {
		if err := read(top); err != nil {
			return nil, err
		}
	}
	return r.program, nil
}

// jsonReader reads a program.
type jsonReader struct {
	program *Program
	nodes   int
}

func (r *jsonReader) next(o *jsonObject) (err error) {
	r.program.next, err = needs[int64](o, "next_index")
	return err
}

func (r *jsonReader) variables(o *jsonObject) error {
	v, err := o.need("vars")
	if err != nil {
		return err
	}
	list, err := v.object()
	if err != nil {
		return err
	}
	if len(list.keys) > maxVars {
		return v.errorf("there are %d variables; at most %d may be", len(list.keys), maxVars)
	}
	for _, key := range list.keys {
		item, _ := list.take(key)
		decl, err := readVariable(item)
		if err == nil && decl.name != key {
			err = item.errorf("the declaration has the name %q", decl.name)
		}
		if err != nil {
			return err
		}
		r.program.vars = append(r.program.vars, decl)
	}
	return nil
}

func readVariable(v jsonValue) (*decl, error) {
	o, err := v.object()
	if err != nil {
		return nil, err
	}
	x := &decl{}
	var fail error
	note := func(err error) {
		if fail == nil {
			fail = err
		}
	}
	x.name, err = needs[string](o, "name")
	note(err)
	kind, err := needs[string](o, "kind")
	note(err)
	if i := slices.Index(memories[:], strings.ToLower(kind)); i >= 0 {
		x.memory = memory(i)
	} else {
		note(v.errorf("kind %q is none of Dynamic, Volatile, Constant and Persistent", kind))
	}
	x.dtype, err = needsType(o)
	note(err)
	x.dims, err = needs[[]string](o, "dims")
	note(err)
	x.ref, err = may[string](o, "ref_name")
	note(err)
	x.pattern, err = may[string](o, "pattern")
	note(err)
	x.table, err = may[bool](o, "table")
	note(err)
	x.indices, err = may[[]string](o, "table_indices")
	note(err)
	x.auto, err = may[[]string](o, "auto_dim")
	note(err)
	if fail != nil {
		return nil, fail
	}
	if err := x.readInit(o); err != nil {
		return nil, err
	}
	if err := x.readFixed(o); err != nil {
		return nil, err
	}
	return x, o.done()
}

func (x *decl) readFixed(o *jsonObject) error {
	v, ok := o.take("fixed")
	if !ok || v.isNull() {
		return nil
	}
	list, err := v.list(maxIndices)
	if err != nil {
		return err
	}
	for _, item := range list {
		pair, err := item.list(2)
		if err != nil || len(pair) != 2 {
			return item.errorf("a name and a number are needed")
		}
		name, err := scalarOf[string](pair[0])
		if err != nil {
			return err
		}
		size, err := scalarOf[int64](pair[1])
		if err != nil {
			return err
		}
		x.fixed = append(x.fixed, fixedIndex{name, size})
	}
	return nil
}

// maxIndices bounds the indices of a table.
const maxIndices = 64

func needsType(o *jsonObject) (dtype, error) {
	word, err := needs[string](o, "dtype")
	if err != nil {
		return noType, err
	}
	d, ok := jsonType(word)
	if !ok {
		return noType, jsonValue{path: o.path}.errorf("%q is no element type", word)
	}
	return d, nil
}

// jsonType finds a type by its name in JSON, which begins with a capital letter.
func jsonType(word string) (dtype, bool) {
	d, ok := parseDType(strings.ToLower(word))
	return d, ok && jsonWord(d) == word
}

func jsonWord(d dtype) string {
	if d == dtBool || d == dtBitset {
		s := d.String()
		return strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.ToUpper(d.String())
}

// readInit reads the initial value of a variable.
func (x *decl) readInit(o *jsonObject) error {
	v, err := o.need("init")
	if err != nil || v.isNull() {
		return err
	}
	word, inner, err := v.variant()
	if err != nil {
		return err
	}
	d, ok := jsonType(word)
	if !ok || d != x.dtype {
		return v.errorf("%q is not the type of the variable, %s", word, jsonWord(x.dtype))
	}
	x.init, err = readScalar(d, inner)
	return err
}

// readScalar reads an element: a number, or its bits if JSON has no number for it.
func readScalar(d dtype, v jsonValue) (*tensor.Tensor, error) {
	switch {
	case (d == dtF32 || d == dtF64) && v.isNull():
		return scalarFloat(d, math.Inf(1)), nil // null means infinity
	case d == dtF32 || d == dtF64:
		n, err := scalarOf[float64](v)
		return scalarFloat(d, n), err
	case d == dtBool:
		b, err := scalarOf[bool](v)
		return scalarBits(d, uint64(bit(b))), err
	case d.isFloat() || d.isPacked() || d == dtBitset:
		o, err := v.object()
		if err != nil {
			return nil, err
		}
		code, err := needs[uint64](o, "bits")
		if err == nil && code > math.MaxUint64>>(64-d.bits()) {
			err = v.errorf("%d takes more than the %d bits of %v", code, d.bits(), d)
		}
		if err != nil {
			return nil, err
		}
		return scalarBits(d, code), o.done()
	}
	var n whole
	u, err := scalarOf[uint64](v)
	if n.magnitude = u; err != nil {
		i, err := scalarOf[int64](v)
		if err != nil {
			return nil, err
		}
		n = whole{uint64(-i), true}
	}
	t, err := scalarInt(d, n)
	if err != nil {
		return nil, v.errorf("%s %w", clip(v.raw), err)
	}
	return t, nil
}

func (r *jsonReader) blocks(o *jsonObject) error {
	v, err := o.need("blocks")
	if err != nil {
		return err
	}
	list, err := v.object()
	if err != nil {
		return err
	}
	for _, key := range list.keys {
		item, _ := list.take(key)
		inner, err := item.object()
		if err != nil {
			return err
		}
		b := &block{}
		if b.name, err = needs[string](inner, "name"); err == nil && b.name != key {
			err = item.errorf("the block has the name %q", b.name)
		}
		if err != nil {
			return err
		}
		if b.nodes, err = r.nodeList(inner, "nodes", 0); err != nil {
			return err
		}
		if err := inner.done(); err != nil {
			return err
		}
		r.program.blocks = append(r.program.blocks, b)
	}
	return nil
}

func (r *jsonReader) nodeList(o *jsonObject, key string, depth int) ([]*node, error) {
	v, err := o.need(key)
	if err != nil {
		return nil, err
	}
	if depth > maxNesting {
		return nil, v.errorf("loops are nested more than %d deep", maxNesting)
	}
	list, err := v.list(maxNodes)
	if err != nil {
		return nil, err
	}
	if r.nodes += len(list); r.nodes > maxNodes {
		return nil, v.errorf("the program has more than %d nodes", maxNodes)
	}
	nodes := make([]*node, len(list))
	for i, item := range list {
		if nodes[i], err = r.node(item, depth); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

func (r *jsonReader) node(v jsonValue, depth int) (*node, error) {
	o, err := v.object()
	if err != nil {
		return nil, err
	}
	n := &node{}
	if n.index, err = needs[int64](o, "index"); err != nil {
		return nil, err
	}
	if n.uuid, err = needs[string](o, "uuid"); err != nil {
		return nil, err
	}
	kind, err := o.need("kind")
	if err != nil {
		return nil, err
	}
	word, inner, err := kind.variant()
	if err != nil {
		return nil, err
	}
	if n.kind, err = r.kind(word, inner, depth); err != nil {
		return nil, err
	}
	return n, o.done()
}
