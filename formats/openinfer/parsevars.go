package openinfer

import (
	"strconv"
)

// declaration reads a variable.
func (p *parser) declaration(m memory) (err error) {
	v := &decl{memory: m}
	at := p.tok.at
	if v.name, err = p.name("the name of a variable"); err != nil {
		return err
	}
	if p.program.variable(v.name) != nil {
		return placed(p.text, at, "variable %q is there twice", v.name)
	}
	if len(p.program.vars) >= maxVars {
		return p.errorf("there are more than %d variables", maxVars)
	}
	paren, err := p.skip("(")
	if err != nil {
		return err
	}
	if paren {
		if v.indices, err = p.names("an index", ")"); err != nil {
			return err
		}
	}
	if v.dtype, v.dims, err = p.typeAndDims(); err != nil {
		return err
	}
	given := map[string]bool{}
	for p.is("@") {
		if err := p.attribute(v, given); err != nil {
			return err
		}
	}
	p.program.vars = append(p.program.vars, v)
	return p.expect(";")
}

// typeAndDims reads a colon, an element type, and extents.
func (p *parser) typeAndDims() (d dtype, dims []string, err error) {
	if err := p.expect(":"); err != nil {
		return 0, nil, err
	}
	if d, err = p.dtype(); err != nil {
		return 0, nil, err
	}
	bracket, err := p.skip("[")
	if err != nil || !bracket {
		return d, nil, err
	}
	err = p.list("]", func() error {
		dim, err := p.dim()
		dims = append(dims, dim)
		return err
	})
	return d, dims, err
}

func (p *parser) dtype() (dtype, error) {
	at := p.tok
	word, err := p.name("an element type")
	if err != nil {
		return noType, err
	}
	d, ok := parseDType(word)
	if !ok {
		return noType, placed(p.text, at.at, "%v is no element type", at)
	}
	return d, nil
}

// dim reads an extent.
func (p *parser) dim() (string, error) {
	a, err := p.atom("an extent (a number or a size variable)")
	if err != nil {
		return "", err
	}
	product, err := p.skip("*")
	if err != nil || !product {
		return a, err
	}
	b, err := p.atom("an extent (a number or a size variable)")
	return a + "*" + b, err
}

// atom reads a nonnegative number or a name.
func (p *parser) atom(what string) (string, error) {
	if p.tok.kind != tokInt && p.tok.kind != tokName {
		return "", p.errorf("%v stands where %s is needed", p.tok, what)
	}
	s := p.tok.text
	return s, p.advance()
}

// attribute reads an attribute of a variable.
func (p *parser) attribute(v *decl, given map[string]bool) error {
	if err := p.advance(); err != nil {
		return err
	}
	at := p.tok
	word, err := p.name("an attribute (init, ref, pattern, table, auto_dim or fixed)")
	if err != nil {
		return err
	}
	if given[word] {
		return placed(p.text, at.at, "attribute %v is there twice", at)
	}
	given[word] = true
	if word == "table" {
		v.table = true
		return nil
	}
	if err := p.expect("("); err != nil {
		return err
	}
	switch word {
	case "init":
		err = p.init(v)
	case "ref":
		if v.ref = p.tok.text; p.tok.kind != tokText {
			v.ref, err = p.name("the name of a tensor")
		} else {
			err = p.advance()
		}
	case "pattern":
		if p.tok.kind != tokText {
			return p.errorf("%v stands where a text is needed", p.tok)
		}
		v.pattern = p.tok.text
		err = p.advance()
	case "auto_dim":
		v.auto, err = p.names("an index", ")")
		return err
	case "fixed":
		return p.list(")", func() error { return p.fixed(v) })
	default:
		return placed(p.text, at.at, "%v is no attribute; there are init, ref, pattern, table, auto_dim and fixed", at)
	}
	if err != nil {
		return err
	}
	return p.expect(")")
}

func (p *parser) fixed(v *decl) error {
	name, err := p.name("an index")
	if err != nil {
		return err
	}
	if err := p.expect("="); err != nil {
		return err
	}
	n, err := p.integer("a size")
	v.fixed = append(v.fixed, fixedIndex{name, n})
	return err
}

// init reads the initial value of a variable.
func (p *parser) init(v *decl) error {
	at := p.tok.at
	minus, err := p.skip("-")
	if err != nil {
		return err
	}
	t := p.tok
	if err := p.advance(); err != nil {
		return err
	}
	switch {
	case v.dtype.isFloat():
		x, ok := floatOf(t)
		if !ok {
			return placed(p.text, at, "%v stands where a number with a point, such as 1.0, is needed for %v", t, v.dtype)
		}
		if minus {
			x = -x
		}
		v.init = scalarFloat(v.dtype, x)
		return nil
	case t.kind == tokName && (t.text == "true" || t.text == "false") && v.dtype == dtBool && !minus:
		v.init = scalarBits(dtBool, uint64(bit(t.text == "true")))
		return nil
	case t.kind != tokInt:
		return placed(p.text, at, "%v stands where an integer is needed for %v", t, v.dtype)
	}
	n, err := strconv.ParseUint(t.text, 10, 64)
	if err != nil {
		return placed(p.text, at, "%s takes more than 64 bits", t.text)
	}
	if v.init, err = scalarInt(v.dtype, whole{n, minus}); err != nil {
		return placed(p.text, at, "%v %w", t, err)
	}
	return nil
}

// floatOf returns the number of a float token.
func floatOf(t token) (float64, bool) {
	if t.kind != tokFloat && (t.kind != tokName || t.text != "inf" && t.text != "nan") {
		return 0, false
	}
	x, err := strconv.ParseFloat(t.text, 64)
	return x, err == nil
}
