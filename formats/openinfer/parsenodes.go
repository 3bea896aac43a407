package openinfer

import "strings"

// node reads a node.
func (p *parser) node(block string, depth int) (nodeKind, error) {
	at := p.tok
	word, err := p.name("a node or \"}\"")
	if err != nil {
		return nil, err
	}
	if word == "cache" {
		if err := p.expect("."); err != nil {
			return nil, err
		}
		return p.cacheNode()
	}
	var k nodeKind
	switch word {
	case "assign":
		k, err = p.assign()
	case "op":
		k, err = p.op()
	case "branch":
		k, err = p.branch()
	case "loop":
		return p.loop(block, depth)
	case "barrier":
		k = barrierNode{}
	case "return":
		k = returnNode{}
	case "dep":
		k, err = p.dep()
	case "transfer":
		k, err = p.transfer()
	case "yield":
		list, fail := p.names("a variable", ";")
		return yieldNode{list}, fail
	case "await":
		list, fail := p.names("a variable", ";")
		return awaitNode{list}, fail
	default:
		return nil, placed(p.text, at.at, "%v is no node", at)
	}
	if err != nil {
		return nil, err
	}
	return k, p.expect(";")
}

func (p *parser) assign() (nodeKind, error) {
	name, err := p.name("the name of a value")
	if err != nil {
		return nil, err
	}
	d, dims, err := p.typeAndDims()
	return assignNode{name, d, dims}, err
}

func (p *parser) op() (nodeKind, error) {
	n := opNode{}
	var err error
	if n.op, err = p.name("an operator"); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if err := p.list(")", func() error { return p.operand(&n) }); err != nil {
		return nil, err
	}
	if err := p.expect(">>"); err != nil {
		return nil, err
	}
	n.output, err = p.name("a variable")
	return n, err
}

// operand reads an input or an attribute of an operator.
func (p *parser) operand(n *opNode) error {
	at := p.tok.at
	name, err := p.name("an input")
	if err != nil {
		return err
	}
	if ok, err := p.skip("="); err != nil || ok {
		if err != nil {
			return err
		}
		v, err := p.value(name)
		n.attrs = append(n.attrs, attribute{name, v})
		return err
	}
	if len(n.attrs) > 0 {
		return placed(p.text, at, "input %q follows attributes; inputs go first", name)
	}
	ok, err := p.skip("[")
	if err != nil {
		return err
	}
	if ok {
		var list []string
		err = p.list("]", func() error {
			s, err := p.atom("an index")
			list = append(list, s)
			return err
		})
		name += "[" + strings.Join(list, ",") + "]"
	}
	n.inputs = append(n.inputs, name)
	return err
}

// value reads the value of an attribute of an operator.
func (p *parser) value(name string) (any, error) {
	t := p.tok
	switch {
	case t.kind == tokText:
		return t.text, p.advance()
	case p.is("["):
		list := []int64{}
		if err := p.advance(); err != nil {
			return nil, err
		}
		err := p.list("]", func() error {
			n, err := p.integer("an integer")
			list = append(list, n)
			return err
		})
		return list, err
	case t.kind == tokInt:
		return p.integer("an integer")
	case p.is("-"):
		return p.negative()
	}
	if x, ok := floatOf(t); ok {
		return x, p.advance()
	}
	if t.kind != tokName {
		return nil, p.errorf("%v stands where a value is needed", t)
	}
	if name == "acc" || name == "to" {
		return p.dtype()
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if t.text == "true" || t.text == "false" {
		return t.text == "true", nil
	}
	return varName(t.text), nil
}

// negative reads a number that begins with a minus.
func (p *parser) negative() (any, error) {
	t, _, err := lex(p.text, p.end)
	if err != nil {
		return nil, err
	}
	x, ok := floatOf(t)
	if !ok {
		return p.integer("a number")
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	return -x, p.advance()
}

func (p *parser) branch() (nodeKind, error) {
	at := p.tok.at
	var list []string
	for p.tok.kind == tokName {
		list = append(list, p.tok.text)
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	switch len(list) {
	case 1:
		return branchNode{"", list[0], ""}, nil
	case 3:
		return branchNode{list[0], list[1], list[2]}, nil
	}
	return nil, placed(p.text, at, "branch takes a block, or a condition and two blocks, and not %d names", len(list))
}

func (p *parser) loop(block string, depth int) (nodeKind, error) {
	var n loopNode
	var err error
	if n.name, err = p.name("the name of a loop"); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if n.index, err = p.name("the name of an index"); err != nil {
		return nil, err
	}
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	if n.start, err = p.atom("a bound"); err != nil {
		return nil, err
	}
	if err := p.expect(".."); err != nil {
		return nil, err
	}
	if n.end, err = p.atom("a bound"); err != nil {
		return nil, err
	}
	if err := p.expect(")", "{"); err != nil {
		return nil, err
	}
	n.body, err = p.nodes(block, depth+1)
	return n, err
}

func (p *parser) dep() (nodeKind, error) {
	var names [2]string
	for i, word := range []string{"after", "before"} {
		if err := p.expect(word, "("); err != nil {
			return nil, err
		}
		var err error
		if names[i], err = p.name("an operator"); err != nil {
			return nil, err
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	return depNode{names[0], names[1]}, nil
}

func (p *parser) transfer() (nodeKind, error) {
	src, err := p.name("a variable")
	if err != nil {
		return nil, err
	}
	if err := p.expect(">>"); err != nil {
		return nil, err
	}
	dst, err := p.name("a variable")
	return transferNode{src, dst}, err
}

// cacheNode reads the rest of a node that begins with "cache.".
func (p *parser) cacheNode() (nodeKind, error) {
	at := p.tok
	word, err := p.name("read, write, increment, decrement or reset")
	if err != nil {
		return nil, err
	}
	var k nodeKind
	switch word {
	case "read":
		var n readNode
		if n.src, err = p.access(); err == nil {
			err = p.expect(">>")
		}
		if err == nil {
			n.dst, err = p.name("a variable")
		}
		k = n
	case "write":
		var n writeNode
		if n.src, err = p.name("a variable"); err == nil {
			err = p.expect(">>")
		}
		if err == nil {
			n.dst, err = p.access()
		}
		k = n
	case "increment", "decrement":
		n := countNode{amount: 1, down: word == "decrement"}
		if p.tok.kind == tokInt || p.is("-") {
			n.amount, err = p.integer("an integer")
		}
		if err == nil {
			n.target, err = p.name("a persistent variable")
		}
		k = n
	case "reset":
		var n resetNode
		n.target, err = p.access()
		k = n
	default:
		return nil, placed(p.text, at.at, "%v is no access to persistent variables; there are cache.read, .write, .increment, .decrement and .reset", at)
	}
	if err != nil {
		return nil, err
	}
	return k, p.expect(";")
}

// access reads a persistent variable with optional indices.
func (p *parser) access() (a access, err error) {
	if a.base, err = p.name("a persistent variable"); err != nil {
		return a, err
	}
	if a.bracketed, err = p.skip("["); err != nil || !a.bracketed {
		return a, err
	}
	for !p.is("]") {
		x, err := p.index()
		if err != nil {
			return a, err
		}
		if a.indices = append(a.indices, x); len(a.indices) > maxIndices {
			return a, p.errorf("there are more than %d indices", maxIndices)
		}
		if more, err := p.skip(","); err != nil {
			return a, err
		} else if more && p.is("]") && x.slice && x.start == nil && x.end == nil {
			a.indices = append(a.indices, index{slice: true})
		}
	}
	return a, p.advance()
}

// index reads one index of an access. An empty index means all.
func (p *parser) index() (x index, err error) {
	if p.is(",") || p.is("]") {
		return index{slice: true}, nil
	}
	if !p.is("..") {
		if x.start, err = p.indexValue(); err != nil {
			return x, err
		}
	}
	if x.slice, err = p.skip(".."); err != nil || !x.slice || p.is(",") || p.is("]") {
		return x, err
	}
	x.end, err = p.indexValue()
	return x, err
}

func (p *parser) indexValue() (*indexValue, error) {
	if p.tok.kind == tokName {
		v := &indexValue{name: p.tok.text}
		return v, p.advance()
	}
	n, err := p.integer("an index")
	return &indexValue{n: n}, err
}
