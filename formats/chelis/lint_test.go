package chelis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	snake  = regexp.MustCompile(`^[a-z_][a-z0-9]*(_[a-z0-9]+)*$`)
	pascal = regexp.MustCompile(`^([A-Z][a-z0-9]*)+$`)
	title  = regexp.MustCompile(`[A-Z][A-Z]`)
	prefix = regexp.MustCompile(`^[a-z]{2,4}_`)
)

var keywords = strings.Fields(`def sig type dim macro match with fn module import export if then else grad vmap jit realize copy
	tensor cast cast_trunc par do quote unquote splice true false effect handler perform resume borrow`)

// check returns an error if Chelis would refuse a module: its formatter would change the text, its
// linter blocks a name, or a name is used before its definition.
func check(text string) error {
	s, err := parse(text)
	if err != nil {
		return err
	}
	if again := canonical(s); again != text {
		return fmt.Errorf("the formatter would print\n%s", again)
	}
	for _, part := range strings.Split(s.module, ".") {
		if !pascal.MatchString(part) || title.MatchString(part) {
			return fmt.Errorf("module %s is not in title case", s.module)
		}
	}
	value := func(name string) error {
		if !snake.MatchString(name) || slices.Contains(keywords, name) || arity[name] != 0 {
			return fmt.Errorf("%q is no name for a value", name)
		}
		return nil
	}
	prefixes, global := map[string]string{}, map[string]bool{}
	for _, t := range s.types {
		if !pascal.MatchString(t.name) {
			return fmt.Errorf("%q is no name for a type", t.name)
		}
	}
	for _, d := range s.defs {
		if err := value(d.name); err != nil {
			return err
		}
		if p := prefix.FindString(d.name); p != "" {
			if prefixes[p] != "" {
				return fmt.Errorf("%s and %s share a prefix", prefixes[p], d.name)
			}
			prefixes[p] = d.name
		}
		for _, suffix := range []string{"int", "f32", "f64", "bool", "string"} {
			if strings.HasSuffix(d.name, "_"+suffix) && !strings.Contains(d.result.String(), suffix) {
				return fmt.Errorf("%s ends like a type that it has not", d.name)
			}
		}
		if global[d.name] {
			return fmt.Errorf("%s is defined twice", d.name)
		}
		global[d.name] = true
		if err := effects(d, s.imports); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		if err := scope(d, global, value); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	if !global["forward"] || !slices.Contains(s.exports, "forward") {
		return fmt.Errorf("there is no forward")
	}
	return nil
}

// isReader reports whether name is a function of Std.Io.Tensors.
func isReader(name string) bool {
	kind, ok := strings.CutPrefix(name, "read_")
	return name == "open_hnw" || ok && kinds[kind] != 0
}

// effects checks that functions of Std.Io.Tensors are imported, and used with the IO effect.
func effects(d definition, imports []string) error {
	var uses func(e expr) error
	uses = func(e expr) error {
		if e.kind == 'c' && isReader(e.text) && (!d.io || !slices.Contains(imports, e.text)) {
			return fmt.Errorf("%s without its import or effect", e.text)
		}
		for _, a := range e.args {
			if err := uses(a); err != nil {
				return err
			}
		}
		return nil
	}
	for _, l := range d.lines {
		if err := uses(l.expr); err != nil {
			return err
		}
		if l.kind.name != "" {
			if err := variables(l.kind, d.dims); err != nil {
				return err
			}
		}
	}
	return uses(d.tail)
}

// scope checks the names of a definition.
func scope(d definition, global map[string]bool, value func(string) error) error {
	local := map[string]bool{}
	bind := func(name string) error {
		if local[name] || global[name] {
			return fmt.Errorf("%s is bound twice", name)
		}
		local[name] = true
		return value(name)
	}
	for _, v := range d.dims {
		if err := value(v); err != nil {
			return err
		}
	}
	for _, p := range d.params {
		if err := bind(p.name); err != nil {
			return err
		}
		if err := variables(p.kind, d.dims); err != nil {
			return err
		}
	}
	if err := variables(d.result, d.dims); err != nil {
		return err
	}
	var uses func(e expr) error
	uses = func(e expr) error {
		head, _, _ := strings.Cut(e.text, ".")
		switch {
		case e.kind == 'i' && !local[head] && kinds[head] == 0 && head != "true" && head != "false":
			return fmt.Errorf("%s is used and not bound", e.text)
		case e.kind == 'c' && len(e.args) == 0 && !global[e.text], e.kind == 'c' && len(e.args) > 0 && arity[e.text] == 0 && !isReader(e.text):
			return fmt.Errorf("there is no %s to call", e.text)
		}
		for _, a := range e.args {
			if err := uses(a); err != nil {
				return err
			}
		}
		return nil
	}
	for _, l := range d.lines {
		if err := uses(l.expr); err != nil {
			return err
		}
		if err := bind(l.name); err != nil {
			return err
		}
	}
	return uses(d.tail)
}

// variables checks that the extents of a type are numbers or bound variables.
func variables(t chType, bound []string) error {
	for i, a := range t.args {
		last := t.name == "tensor" && i == len(t.args)-1
		if last && kinds[a] == 0 || !last && !slices.Contains(bound, a) && strings.Trim(a, "0123456789") != "" {
			return fmt.Errorf("%s in %v", a, t)
		}
	}
	return nil
}

// kinds maps element types to their width in bits for floats, 1 for others.
var kinds = map[string]int{"f32": 32, "f64": 64, "i32": 1, "i64": 1, "bool": 1}
