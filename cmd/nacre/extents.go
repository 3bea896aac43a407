package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// dimFlags are the extents of open axes from the command line.
type dimFlags struct{ list []string }

func (f *dimFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.list, "dim", nil, "`NAME=N`: extent of an open axis, of one without a name as "+
		"INPUT[AXIS]; repeat for more")
}

// extents parses the flags. A name that is no open axis of inputs is an error.
func (f *dimFlags) extents(inputs []nacre.Info) (*openExtents, error) {
	e := &openExtents{numbers: map[string]int{}}
	for _, arg := range f.list {
		i := strings.LastIndex(arg, "=")
		n, err := strconv.Atoi(arg[i+1:])
		if i < 0 || err != nil || n < 0 {
			return nil, usagef("--dim %s: the form is NAME=N", arg)
		}
		name := normal(arg[:i])
		if !hasAxis(inputs, name) {
			return nil, fmt.Errorf("no axis of an input is named %q; the model takes %s", name, valueList(inputs))
		}
		e.numbers[name] = n
	}
	return e, nil
}

// normal returns the normal form of an expression. Equal expressions have the same normal form.
func normal(text string) string { return graph.ParseDim(text).String() }

// hasAxis reports whether name is an open axis of an input, or a symbol of an open axis.
func hasAxis(inputs []nacre.Info, name string) bool {
	for _, v := range inputs {
		for k, d := range v.Shape {
			if d.Open() && (axisName(v, k) == name || slices.Contains(graph.ParseDim(d.String()).Symbols(), name)) {
				return true
			}
		}
	}
	return false
}

// axisName returns the normal form of an axis's symbol. An axis without one is INPUT[AXIS].
func axisName(v nacre.Info, axis int) string {
	if s := v.Shape[axis].Symbol; s != "" {
		return normal(s)
	}
	return fmt.Sprintf("%s[%d]", v.Name, axis)
}

// openExtents has the extents of open axes by name, and the names that were assumed to be 1.
type openExtents struct {
	numbers map[string]int
	assumed []string
}

// take sets the extents of v's axes with symbols from shape, the shape of a given tensor. A symbol
// with another extent before is an error.
func (e *openExtents) take(v nacre.Info, shape []int) error {
	if len(shape) != len(v.Shape) {
		return nil // the session reports the error
	}
	for k, d := range v.Shape {
		if d.Symbol == "" {
			continue
		}
		name := normal(d.Symbol)
		if n, ok := e.numbers[name]; ok && n != shape[k] {
			return fmt.Errorf("%s is %d and axis %d of input %q has extent %d", name, n, k, v.Name, shape[k])
		}
		e.numbers[name] = shape[k]
	}
	return nil
}

// of returns the extent of an axis. Symbols without a number count as 1. If the expression still
// has no value, the extent is 1.
func (e *openExtents) of(v nacre.Info, axis int) int {
	d := v.Shape[axis]
	if !d.Open() {
		return d.Size
	}
	name := axisName(v, axis)
	if n, ok := e.numbers[name]; ok {
		return n
	}
	var missing []string
	n, ok := graph.ParseDim(d.String()).Eval(func(symbol string) (int, bool) {
		n, ok := e.numbers[symbol]
		if !ok {
			missing, n = append(missing, symbol), 1
		}
		return n, true
	})
	if !ok || n < 0 {
		missing, n = []string{name}, 1
	}
	for _, s := range missing {
		if !slices.Contains(e.assumed, s) {
			e.assumed = append(e.assumed, s)
		}
	}
	return n
}

// shape returns the extents of all axes of v.
func (e *openExtents) shape(v nacre.Info) []int {
	shape := make([]int, len(v.Shape))
	for k := range shape {
		shape[k] = e.of(v, k)
	}
	return shape
}

// say writes which extents were assumed.
func (e *openExtents) say(w io.Writer) {
	for _, name := range e.assumed {
		printable.Fprintf(w, "%s = 1 (assumed; --dim %s=N sets it)\n", name, name)
	}
}
