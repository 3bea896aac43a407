package openinfer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checker checks the nodes of a block.
type checker struct {
	*unit
	block  *block
	locals map[string]operand // assigned so far
	loops  []string           // indices of the enclosing loops
}

func (c *checker) nodes(nodes []*node) error {
	for _, n := range nodes {
		if l, ok := n.kind.(loopNode); ok {
			if err := c.loop(l); err != nil {
				return describe(c.block.name, n, err)
			}
			inner := &checker{c.unit, c.block, maps.Clone(c.locals), append(slices.Clone(c.loops), l.index)}
			if err := inner.nodes(l.body); err != nil {
				return err
			}
			continue
		}
		if err := c.node(n.kind); err != nil {
			return describe(c.block.name, n, err)
		}
	}
	return nil
}

func (c *checker) node(kind nodeKind) error {
	switch k := kind.(type) {
	case assignNode:
		return c.assign(k)
	case opNode:
		return c.op(k)
	case branchNode:
		return c.branch(k)
	case readNode:
		return c.read(k)
	case writeNode:
		return c.write(k)
	case countNode:
		return c.count(k)
	case resetNode:
		return c.reset(k)
	case transferNode:
		return c.transfer(k)
	case yieldNode:
		return c.handed("yield", k.vars)
	case awaitNode:
		return c.handed("await", k.vars)
	}
	return nil
}

func (c *checker) assign(k assignNode) error {
	switch {
	case !isName(k.name):
		return fmt.Errorf("%q is no name", k.name)
	case c.vars[k.name] != nil:
		return fmt.Errorf("%q is a variable already; a value that is assigned needs a name of its own", k.name)
	case c.locals[k.name].dtype != noType:
		return fmt.Errorf("%q is assigned already", k.name)
	}
	dims, err := c.extents(k.dims)
	c.locals[k.name] = operand{k.name, k.dtype, dims}
	return err
}

// missing returns the error for a name without a variable or value.
func (c *checker) missing(name string) error {
	return fmt.Errorf("there is no variable %q; declare it, or assign it before it is used", name)
}

// local finds an assigned value in the block. If branches run the block, it searches the other
// blocks too.
func (c *checker) local(name string) (operand, bool) {
	if o, ok := c.locals[name]; ok {
		return o, true
	}
	if c.targets[c.block.name] {
		for _, b := range c.Program.blocks {
			if o, ok := c.assigned(b.nodes, name); ok && b != c.block {
				return o, true
			}
		}
	}
	return operand{}, false
}

// assigned finds a value that one of the nodes assigns.
func (c *checker) assigned(nodes []*node, name string) (operand, bool) {
	for _, n := range nodes {
		switch k := n.kind.(type) {
		case assignNode:
			if k.name == name {
				dims, err := c.extents(k.dims)
				return operand{name, k.dtype, dims}, err == nil
			}
		case loopNode:
			if o, ok := c.assigned(k.body, name); ok {
				return o, true
			}
		}
	}
	return operand{}, false
}

// value returns the type of a variable for nodes other than cache nodes.
func (c *checker) value(name string) (operand, error) {
	base, indices, ok := cutAccess(name)
	v := c.vars[base]
	switch {
	case v == nil:
		if o, is := c.local(name); is {
			return o, nil
		}
		return operand{}, c.missing(base)
	case v.memory == memPersistent:
		return operand{}, fmt.Errorf("%q is persistent; cache.read gives its value", base)
	case v.prefix() != ok || ok && len(indices) != len(v.indices):
		return operand{}, fmt.Errorf("%q takes %d indices, not %d", base, len(v.indices), len(indices))
	}
	return operand{name, v.dtype, c.dims[base]}, c.prefixIndices(v, indices)
}

// prefixIndices checks the indices of a prefix table, and if all are numbers, the tensor.
func (c *checker) prefixIndices(v *decl, indices []string) error {
	at := make([]int64, len(indices))
	for i, s := range indices {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil && !slices.Contains(c.loops, s) {
			if n, err = sizeOf(c.unit, s); err != nil {
				return fmt.Errorf("index %q of %q is neither a number nor the index of a loop around; the loops have %q", s, v.name, c.loops)
			}
		}
		if at[i] = n; err != nil {
			return nil // a loop index
		}
	}
	if !v.prefix() {
		return nil
	}
	_, err := c.prefixTensor(v, at)
	return err
}

func sizeOf(u *unit, s string) (int64, error) {
	n, err := u.size(s)
	return int64(n), err
}

// target returns the type of a variable that a node writes.
func (c *checker) target(name string) (operand, error) {
	o, err := c.value(name)
	if v := c.vars[name]; err == nil && v != nil {
		if v.memory == memConstant {
			return o, fmt.Errorf("%q is constant and cannot be written", name)
		}
	}
	if _, _, access := cutAccess(name); access && err == nil {
		return o, fmt.Errorf("%q is a tensor of the model and cannot be written", name)
	}
	return o, err
}

func (c *checker) op(k opNode) error {
	row, ok := lookupOp(k.op)
	if !ok {
		return fmt.Errorf("there is no operator %q", k.op)
	}
	var inputs []operand
	for _, name := range k.inputs {
		o, err := c.value(name)
		if err != nil {
			return err
		}
		inputs = append(inputs, o)
	}
	out, err := c.target(k.output)
	if err != nil {
		return err
	}
	attrs, err := c.attrs(k.attrs)
	if err != nil {
		return err
	}
	return row.check(attrs, inputs, out)
}

// attrs converts attributes to the form that operators take.
func (c *checker) attrs(list []attribute) ([]attr, error) {
	var attrs []attr
	for _, a := range list {
		v := a.value
		if name, ok := v.(varName); ok {
			known, err := c.knownAttr(string(name))
			if err != nil {
				return nil, fmt.Errorf("attribute %q: %w", a.name, err)
			}
			if v = known; v == nil {
				o, err := c.value(string(name))
				if err != nil {
					return nil, fmt.Errorf("attribute %q: %w", a.name, err)
				}
				v = o
			}
		}
		if f, ok := v.(float32); ok {
			v = float64(f)
		}
		attrs = append(attrs, attr{a.name, v})
	}
	return attrs, nil
}

// knownAttr returns the value of an attribute that names a constant or a text of the metadata; nil
// for other names.
func (u *unit) knownAttr(name string) (any, error) {
	v := u.vars[name]
	if v == nil {
		if m := u.meta[name]; m != nil && m.Data == nil {
			return m.Value, nil
		}
		return nil, nil
	}
	t, err := u.constantValue(v)
	if err != nil || t == nil || len(t.Shape()) > 0 {
		return nil, err
	}
	switch {
	case v.dtype == dtBool:
		return bitsOf(t) != 0, nil
	case v.dtype.isFloat():
		return tensor.Numbers(t)(0), nil
	}
	n := scalarInteger(v.dtype, t)
	if i, ok := n.int64(); ok {
		return i, nil
	}
	return n.magnitude, nil
}

func (c *checker) branch(k branchNode) error {
	for _, name := range []string{k.then, k.otherwise} {
		if name != "" && c.blocks[name] == nil {
			return fmt.Errorf("there is no block %q; there are %q", name, sortedKeys(c.blocks))
		}
	}
	if (k.cond == "") != (k.otherwise == "") || k.then == "" {
		return fmt.Errorf("a branch takes a block, or a condition and two blocks")
	}
	if k.cond == "" {
		return nil
	}
	o, err := c.value(k.cond)
	switch {
	case err != nil:
		return err
	case len(o.dims) != 0 || o.dtype.isPacked():
		return fmt.Errorf("the condition %q is %v; it must be a scalar of a type of whole bytes", k.cond, o)
	}
	return nil
}

func (c *checker) loop(l loopNode) error {
	if !isName(l.index) {
		return fmt.Errorf("%q is no name of an index", l.index)
	}
	if slices.Contains(c.loops, l.index) {
		return fmt.Errorf("index %q is already the index of an outer loop", l.index)
	}
	for _, bound := range []string{l.start, l.end} {
		if _, err := c.size(bound); err == nil {
			continue
		}
		if c.vars[bound] == nil && !isName(bound) {
			return fmt.Errorf("bound %q is neither a number nor a name", bound)
		}
		if err := c.integer(bound); err != nil {
			return fmt.Errorf("bound %q: %w", bound, err)
		}
	}
	return nil
}

// integer returns an error unless the variable is an integer scalar. It may be persistent.
func (c *checker) integer(name string) error {
	v := c.vars[name]
	if v == nil {
		o, ok := c.local(name)
		if !ok {
			return fmt.Errorf("it is no number, no size variable and no variable")
		}
		v = &decl{name: name, dtype: o.dtype}
		c.dims[name] = o.dims
	}
	switch {
	case v.prefix() || v.cached() || len(c.dims[v.name]) != 0:
		return fmt.Errorf("it is no scalar")
	case !v.dtype.isInt() || v.dtype.isPacked():
		return fmt.Errorf("it is of type %v; an integer of whole bytes is needed", v.dtype)
	}
	return nil
}

func (c *checker) transfer(k transferNode) error {
	src, err := c.value(k.src)
	if err != nil {
		return err
	}
	dst, err := c.target(k.dst)
	if err != nil {
		return err
	}
	if src.dtype != dst.dtype || !slices.Equal(src.dims, dst.dims) {
		return fmt.Errorf("%q is %v and %q is %v; they must be the same", k.src, src, k.dst, dst)
	}
	return nil
}

// handed checks the variables of yield and await.
func (c *checker) handed(word string, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%s names no variable", word)
	}
	if c.targets[c.block.name] && c.block.name != "entry" {
		return fmt.Errorf("%s stands in a block that branches run; it is for entry and for blocks that entry starts by yield", word)
	}
	for _, name := range names {
		v := c.vars[name]
		if _, err := c.value(name); err != nil {
			return err
		}
		if word == "await" && v != nil && v.memory == memConstant {
			return fmt.Errorf("%q is constant and cannot be awaited", name)
		}
	}
	return nil
}

// ends checks that a block started by entry yields only as its last node, and yields all that it
// awaits.
func (c *checker) ends() error {
	if c.block.name == "entry" || c.targets[c.block.name] {
		return nil
	}
	nodes := c.block.nodes
	if n := len(nodes); n > 0 {
		if _, ok := nodes[n-1].kind.(returnNode); ok {
			nodes = nodes[:n-1]
		}
	}
	var awaited, yielded []string
	for i, n := range nodes {
		switch k := n.kind.(type) {
		case awaitNode:
			awaited = append(awaited, k.vars...)
		case yieldNode:
			if i != len(nodes)-1 {
				return fmt.Errorf("node %d (%s) must be the last of the block", n.index, k.text())
			}
			yielded = k.vars
		}
	}
	for _, name := range awaited {
		if !slices.Contains(yielded, name) {
			return fmt.Errorf("it awaits %q and does not yield it as its last node", name)
		}
	}
	return nil
}
