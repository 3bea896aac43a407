// Package invent makes inputs that nobody gave: extents of open axes, and random tensors.
package invent

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Normal returns the normal form of an expression. Equal expressions have the same normal form.
func Normal(text string) string { return graph.ParseDim(text).String() }

// HasAxis reports whether name is an open axis of an input, or a symbol of an open axis.
func HasAxis(inputs []nacre.Info, name string) bool {
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
		return Normal(s)
	}
	return fmt.Sprintf("%s[%d]", v.Name, axis)
}

// Extents has the extents of open axes by name, in normal form, and the names that were assumed to
// be 1.
type Extents struct {
	Numbers map[string]int
	Assumed []string
}

// Take sets the extents of v's axes with symbols from shape, the shape of a given tensor. A symbol
// with another extent before is an error.
func (e *Extents) Take(v nacre.Info, shape []int) error {
	if len(shape) != len(v.Shape) {
		return nil // the session reports the error
	}
	for k, d := range v.Shape {
		if d.Symbol == "" {
			continue
		}
		name := Normal(d.Symbol)
		if n, ok := e.Numbers[name]; ok && n != shape[k] {
			return fmt.Errorf("%s is %d and axis %d of input %q has extent %d", name, n, k, v.Name, shape[k])
		}
		e.Numbers[name] = shape[k]
	}
	return nil
}

// of returns the extent of an axis. Symbols without a number count as 1. If the expression still
// has no value, the extent is 1.
func (e *Extents) of(v nacre.Info, axis int) int {
	d := v.Shape[axis]
	if !d.Open() {
		return d.Size
	}
	name := axisName(v, axis)
	if n, ok := e.Numbers[name]; ok {
		return n
	}
	var missing []string
	n, ok := graph.ParseDim(d.String()).Eval(func(symbol string) (int, bool) {
		n, ok := e.Numbers[symbol]
		if !ok {
			missing, n = append(missing, symbol), 1
		}
		return n, true
	})
	if !ok || n < 0 {
		missing, n = []string{name}, 1
	}
	for _, s := range missing {
		if !slices.Contains(e.Assumed, s) {
			e.Assumed = append(e.Assumed, s)
		}
	}
	return n
}

// Shape returns the extents of all axes of v.
func (e *Extents) Shape(v nacre.Info) []int {
	shape := make([]int, len(v.Shape))
	for k := range shape {
		shape[k] = e.of(v, k)
	}
	return shape
}
