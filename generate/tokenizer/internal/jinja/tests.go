package jinja

// A test reports something about a value. It counts its work.
type test = func(r *run, v any, a *arguments) bool

// test runs a test.
func (r *run) test(is test, v any, a *arguments) bool {
	r.steps(1)
	return is(r, v, a)
}

// tests are the known tests.
var tests = map[string]test{
	"defined":     func(_ *run, v any, _ *arguments) bool { return kindOf(v) != "undefined" },
	"undefined":   func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "undefined" },
	"none":        func(_ *run, v any, _ *arguments) bool { return v == nil },
	"string":      func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "string" },
	"boolean":     func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "boolean" },
	"integer":     func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "integer" },
	"float":       func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "float" },
	"number":      func(_ *run, v any, _ *arguments) bool { _, ok := number(v); return ok },
	"mapping":     func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "mapping" },
	"callable":    func(_ *run, v any, _ *arguments) bool { return kindOf(v) == "function" },
	"true":        func(_ *run, v any, _ *arguments) bool { return v == true },
	"false":       func(_ *run, v any, _ *arguments) bool { return v == false },
	"iterable":    iterable,
	"sequence":    iterable,
	"odd":         func(_ *run, v any, _ *arguments) bool { return whole(v, 0)&1 == 1 },
	"even":        func(_ *run, v any, _ *arguments) bool { return whole(v, 0)&1 == 0 },
	"lower":       func(r *run, v any, _ *arguments) bool { s := r.text(v); return s == r.lower(s) },
	"upper":       func(r *run, v any, _ *arguments) bool { s := r.text(v); return s == r.upper(s) },
	"divisibleby": divisible,
	"equalto":     compared("=="), "eq": compared("=="), "==": compared("=="), "sameas": compared("=="),
	"ne": compared("!="), "!=": compared("!="), "in": compared("in"),
	"lt": compared("<"), "lessthan": compared("<"), "<": compared("<"), "le": compared("<="), "<=": compared("<="),
	"gt": compared(">"), "greaterthan": compared(">"), ">": compared(">"), "ge": compared(">="), ">=": compared(">="),
}

func iterable(_ *run, v any, _ *arguments) bool {
	switch kindOf(v) {
	case "list", "mapping", "string":
		return true
	}
	return false
}

func divisible(_ *run, v any, a *arguments) bool {
	n := whole(a.at(0, "num"), 0)
	if n == 0 {
		fail("a division by 0")
	}
	return whole(v, 0)%n == 0
}

// compared returns the test of an operator.
func compared(name string) test {
	return func(r *run, v any, a *arguments) bool {
		if len(a.list) != 1 {
			fail("the test %s takes one value", name)
		}
		return r.compare(name, v, a.list[0])
	}
}
