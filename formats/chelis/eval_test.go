package chelis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// array is a tensor, or a scalar if shape is nil.
type array struct {
	kind  string
	shape []int
	data  []float64
}

func count(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func newArray(kind string, shape []int) *array {
	return &array{kind, append([]int{}, shape...), make([]float64, count(shape))}
}

// index returns the coordinates of element i.
func index(i int, shape []int) []int {
	at := make([]int, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		at[k] = i % shape[k]
		i /= shape[k]
	}
	return at
}

func offset(at, shape []int) int {
	i := 0
	for k := range shape {
		i = i*shape[k] + at[k]
	}
	return i
}

// made returns a tensor with elements given by f.
func made(kind string, shape []int, f func(at []int) float64) *array {
	a := newArray(kind, shape)
	for i := range a.data {
		a.data[i] = f(index(i, shape))
	}
	return a
}

func (a *array) at(at []int) float64 { return a.data[offset(at, a.shape)] }

type interpreter struct {
	defs map[string]definition
	vars map[string]any
}

// evaluate calls forward and returns its results in order. It fails if Chelis types do not match:
// nothing broadcasts, and element types do not convert.
func evaluate(text string, inputs map[string]*array, order []string) ([]*array, error) {
	return evaluateWith(text, "", inputs, order)
}

// evaluateWith is evaluate with the weights of an archive, if forward takes them.
func evaluateWith(text, archive string, inputs map[string]*array, order []string) (results []*array, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	in := &interpreter{map[string]definition{}, map[string]any{}}
	for _, d := range s.defs {
		in.defs[d.name] = d
	}
	forward := in.defs["forward"]
	names := forward.params
	if n := len(names); n > 0 && names[n-1].kind.name == "ForwardWeights" {
		in.stored(s, names[n-1].name, archive)
		names = names[:n-1]
	}
	under := ""
	if len(s.types) > 0 && len(names) == 1 && names[0].kind.name == "ForwardInputs" {
		under, names = names[0].name+".", s.record("ForwardInputs")
	}
	if len(names) != len(order) {
		return nil, fmt.Errorf("%d inputs, want %d", len(names), len(order))
	}
	extents := map[string]int{}
	for i, p := range names {
		in.vars[under+p.name] = inputs[order[i]]
		fits(inputs[order[i]], p.kind, extents)
	}
	for _, l := range forward.lines {
		in.vars[l.name] = in.eval(l.expr)
	}
	if forward.tail.kind != '{' {
		r := in.eval(forward.tail).(*array)
		fits(r, forward.result, extents)
		return []*array{r}, nil
	}
	body := s.record("ForwardOutputs")
	for i, e := range forward.tail.args {
		r := in.eval(e).(*array)
		fits(r, body[i].kind, extents)
		results = append(results, r)
	}
	return results, nil
}

// fits panics unless a has type t.
func fits(a *array, t chType, extents map[string]int) {
	if a == nil || a.kind != t.args[len(t.args)-1] || len(a.shape) != len(t.args)-1 {
		panic(fmt.Sprintf("%v where %v is declared", a, t))
	}
	for k, d := range t.args[:len(a.shape)] {
		n, err := strconv.Atoi(d)
		if err != nil {
			if _, ok := extents[d]; !ok {
				extents[d] = a.shape[k]
			}
			n = extents[d]
		}
		if n != a.shape[k] {
			panic(fmt.Sprintf("extents %v where %v is declared", a.shape, t))
		}
	}
}

func (in *interpreter) eval(e expr) any {
	switch e.kind {
	case 'n':
		return numberOf(e.text)
	case 's':
		return strings.Trim(e.text, `"`)
	case 'i':
		if v, ok := in.vars[e.text]; ok {
			return v
		}
		return e.text
	case '[', '(':
		list := make([]any, len(e.args))
		for i, a := range e.args {
			list[i] = in.eval(a)
		}
		return list
	}
	if d, ok := in.defs[e.text]; ok {
		w := (&interpreter{in.defs, nil}).eval(d.tail).(*array)
		fits(w, d.result, nil)
		return w
	}
	args := make([]any, len(e.args))
	for i, a := range e.args {
		args[i] = in.eval(a)
	}
	if isReader(e.text) {
		return readStored(e.text, args)
	}
	if n := arity[e.text]; n > 0 && len(args) != n || n == 0 {
		panic(fmt.Sprintf("%s of %d arguments", e.text, len(args)))
	}
	return apply(e.text, args)
}

func numberOf(text string) *array {
	kind := "i32"
	body := text
	for k := range kinds {
		if b, ok := strings.CutSuffix(text, k); ok {
			kind, body = k, b
		}
	}
	v, err := strconv.ParseFloat(body, max(32, kinds[kind]))
	if err != nil {
		panic(err)
	}
	return &array{kind, nil, []float64{v}}
}

// arity maps the operations to their number of arguments; negative means any.
var arity = map[string]int{
	"relu": 1, "sigmoid": 1, "tanh": 1, "sqrt": 1, "exp": 1, "log": 1, "sin": 1, "cos": 1, "tan": 1, "floor": 1, "ceil": 1, "not": 1,
	"recip": 1, "abs": 1, "neg": 1, "gelu": 1, "add": 2, "sub": 2, "mul": 2, "div": 2, "trunc_div": 2, "max_elem": 2, "min_elem": 2,
	"and": 2, "or": 2, "eq": 2, "neq": 2, "gt": 2, "gte": 2, "cmplt": 2, "lte": 2, "where": 3, "cast": 2, "cast_trunc": 2,
	"reshape": 2, "permute": -1, "expand": 3, "pad": 3, "shrink": 2, "stride": -1, "concat": 2, "gather": 3, "to_tensor": 1, "shape": 2,
	"sum": 2, "mean": 2, "max_reduce": 2, "min_reduce": 2, "prod_reduce": 2, "argmax_reduce": 2, "argmin_reduce": 2, "softmax": 2, "matmul": 2,
	"conv": 4, "reduce_window_max": 3, "reduce_window_sum": 3, "reduce_window_mean": 3,
}

var unaries = map[string]func(float64) float64{
	"relu": func(x float64) float64 { return max(x, 0) }, "sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, "tanh": math.Tanh,
	"sqrt": math.Sqrt, "exp": math.Exp, "log": math.Log, "sin": math.Sin, "cos": math.Cos, "tan": math.Tan, "floor": math.Floor, "ceil": math.Ceil,
	"recip": func(x float64) float64 { return 1 / x }, "abs": math.Abs, "neg": func(x float64) float64 { return -x },
	"gelu": func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) },
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var binaries = map[string]func(a, b float64) float64{
	"add": func(a, b float64) float64 { return a + b }, "sub": func(a, b float64) float64 { return a - b }, "mul": func(a, b float64) float64 { return a * b },
	"div": func(a, b float64) float64 { return a / b }, "trunc_div": func(a, b float64) float64 { return math.Trunc(a / b) },
	"max_elem": func(a, b float64) float64 { return max(a, b) }, "min_elem": func(a, b float64) float64 { return min(a, b) },
	"and": func(a, b float64) float64 { return a * b }, "or": func(a, b float64) float64 { return max(a, b) },
	"eq": func(a, b float64) float64 { return truth(a == b) }, "neq": func(a, b float64) float64 { return truth(a != b) },
	"gt": func(a, b float64) float64 { return truth(a > b) }, "gte": func(a, b float64) float64 { return truth(a >= b) },
	"cmplt": func(a, b float64) float64 { return truth(a < b) }, "lte": func(a, b float64) float64 { return truth(a <= b) },
}

func require(ok bool, name string, args []any) {
	if !ok {
		text := ""
		for _, a := range args {
			if x, is := a.(*array); is {
				text += fmt.Sprintf(" %s%v", x.kind, x.shape)
			} else {
				text += fmt.Sprintf(" %v", a)
			}
		}
		panic(name + " of" + text)
	}
}

func apply(name string, args []any) any {
	x, _ := args[0].(*array)
	if f := unaries[name]; f != nil {
		require(x.shape != nil && kinds[x.kind] > 1, name, args)
		return made(x.kind, x.shape, func(at []int) float64 { return f(x.at(at)) })
	}
	if f := binaries[name]; f != nil {
		y := args[1].(*array)
		kind := x.kind
		if slices.Contains([]string{"eq", "neq", "gt", "gte", "cmplt", "lte"}, name) {
			kind = "bool"
		}
		logical := name == "and" || name == "or"
		require(x.shape != nil && slices.Equal(x.shape, y.shape) && x.kind == y.kind && logical == (x.kind == "bool") || kind == "bool" && x.kind == y.kind && slices.Equal(x.shape, y.shape), name, args)
		require((name != "div" || kinds[x.kind] > 1) && (name != "trunc_div" || kinds[x.kind] == 1), name, args)
		return made(kind, x.shape, func(at []int) float64 { return f(x.at(at), y.at(at)) })
	}
	return movement(name, x, args)
}

func list(v any) []int {
	var out []int
	for _, x := range v.([]any) {
		out = append(out, whole(x, "i64"))
	}
	return out
}

// whole returns a scalar of an integer type.
func whole(v any, kind string) int {
	a := v.(*array)
	if a.shape != nil || a.kind != kind {
		panic(fmt.Sprintf("%v where a number of %s belongs", a, kind))
	}
	return int(a.data[0])
}
