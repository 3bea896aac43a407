package openinfer

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// text returns a node in the text language, without the semicolon. For a loop, it returns only the
// head.
func (n assignNode) text() string {
	return fmt.Sprintf("assign %s: %v%s", n.name, n.dtype, dimsText(n.dims))
}

func (n opNode) text() string {
	args := append([]string(nil), n.inputs...)
	for _, a := range n.attrs {
		args = append(args, a.name+"="+valueText(a.value))
	}
	return fmt.Sprintf("op %s(%s) >> %s", n.op, strings.Join(args, ", "), n.output)
}

func (n branchNode) text() string {
	if n.cond == "" {
		return "branch " + n.then
	}
	return fmt.Sprintf("branch %s %s %s", n.cond, n.then, n.otherwise)
}

func (n loopNode) text() string {
	return fmt.Sprintf("loop %s (%s in %s..%s)", n.name, n.index, n.start, n.end)
}

func (n readNode) text() string  { return fmt.Sprintf("cache.read %v >> %s", n.src, n.dst) }
func (n writeNode) text() string { return fmt.Sprintf("cache.write %s >> %v", n.src, n.dst) }

func (n countNode) text() string {
	word := "cache.increment"
	if n.down {
		word = "cache.decrement"
	}
	if n.amount == 1 {
		return word + " " + n.target
	}
	return fmt.Sprintf("%s %d %s", word, n.amount, n.target)
}

func (n resetNode) text() string    { return fmt.Sprintf("cache.reset %v", n.target) }
func (n transferNode) text() string { return fmt.Sprintf("transfer %s >> %s", n.src, n.dst) }
func (n yieldNode) text() string    { return "yield " + strings.Join(n.vars, ", ") }
func (n awaitNode) text() string    { return "await " + strings.Join(n.vars, ", ") }
func (n depNode) text() string      { return fmt.Sprintf("dep after(%s) before(%s)", n.after, n.before) }
func (barrierNode) text() string    { return "barrier" }
func (returnNode) text() string     { return "return" }

func dimsText(dims []string) string {
	if len(dims) == 0 {
		return ""
	}
	return "[" + strings.Join(dims, ", ") + "]"
}

// valueText returns the value of an attribute in the text language.
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case float32:
		return floatText(float64(v), 32)
	case float64:
		return floatText(v, 64)
	case []int64:
		list := make([]string, len(v))
		for i, n := range v {
			list[i] = strconv.FormatInt(n, 10)
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// floatText returns a number that parses as the same float.
func floatText(v float64, bits int) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case math.IsNaN(v):
		return "nan"
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}
