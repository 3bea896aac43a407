// Package cases defines the cases of the suite and helpers that build them: seeded tensors, element
// types, and index arithmetic.
package cases

import (
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Case is a node with its inputs and expected outputs.
type Case struct {
	Domain  string
	Op      string
	Version int    // the first version of the operator for which it holds
	Until   int    // the first version for which it no longer holds; 0 for none
	Note    string // the distinction of the case
	Attrs   []*graph.Attr
	In      []*tensor.Tensor // nil for an input that is left out
	Want    []*tensor.Tensor // nil for an output that is left out
	// Ulps is the largest error of floats, in units in the last place of the expected number, or of
	// 1 if that is larger. Other types must be equal.
	Ulps float64
	// Fails is the kind of error that refuses the node, for errors.Is: one of package graph's. A
	// case has either Want or Fails.
	Fails error
}

// Name identifies the case within the suite.
func (c *Case) Name() string {
	types := make([]string, len(c.In))
	for i, t := range c.In {
		types[i] = strings.ReplaceAll(t.String(), "/", "")
	}
	return fmt.Sprintf("%s-%d %s %s", c.Key(), c.Version, c.Note, strings.Join(types, " "))
}

// Key returns the RowKey of the operator.
func (c *Case) Key() string { return RowKey(c.Domain, c.Op) }

// RowKey returns the name of an operator, prefixed by its domain unless that is the standard's.
func RowKey(domain, name string) string {
	if domain == "" {
		return name
	}
	return domain + "." + name
}

// Node returns the case's node in the given version of the operator set.
func (c *Case) Node(version int) *graph.Node {
	n := &graph.Node{Name: c.Note, Domain: c.Domain, Op: c.Op, Version: version, Attrs: c.Attrs}
	for i, t := range c.In {
		n.Inputs = append(n.Inputs, operand("in", i, t != nil))
	}
	for i, t := range c.Want {
		n.Outputs = append(n.Outputs, operand("out", i, t != nil))
	}
	if c.Fails != nil {
		n.Outputs = []string{"out0"}
	}
	return n
}

func operand(what string, i int, there bool) string {
	if !there {
		return ""
	}
	return fmt.Sprint(what, i)
}

// Versions returns the versions of the row for which the case holds.
func (c *Case) Versions(row *op.Row) []int {
	var list []int
	for i, v := range row.Since {
		next := 0
		if i+1 < len(row.Since) {
			next = row.Since[i+1]
		}
		if (next == 0 || next > c.Version) && (c.Until == 0 || v < c.Until) {
			list = append(list, max(v, c.Version))
		}
	}
	return list
}

// Eval computes one node on a device.
type Eval func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error)

// Check runs the case in one version and reports any difference.
func (c *Case) Check(eval Eval, version int) error {
	got, err := eval(c.Node(version), c.In)
	if c.Fails != nil {
		return c.checkError(got, err)
	}
	if err != nil {
		return err
	}
	return c.Compare(got)
}

// checkError reports an error of a kind other than c.Fails.
func (c *Case) checkError(got []*tensor.Tensor, err error) error {
	switch {
	case err == nil:
		return fmt.Errorf("got %v, want an error of kind %q", got, c.Fails)
	case errors.Is(err, guard.ErrInternal):
		return fmt.Errorf("a defect: %w", err)
	case !errors.Is(err, c.Fails):
		return fmt.Errorf("the error is of another kind than %q: %w", c.Fails, err)
	}
	return nil
}

// Compare reports outputs that differ from the expected ones.
func (c *Case) Compare(got []*tensor.Tensor) error {
	if len(got) != len(c.Want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(c.Want))
	}
	var list []error
	for i, want := range c.Want {
		if want == nil {
			continue
		}
		if err := compare(got[i], want, c.Ulps); err != nil {
			list = append(list, fmt.Errorf("output %d: %w", i, err))
		}
	}
	return errors.Join(list...)
}

// Suite collects the cases of one family.
type Suite struct {
	*Source
	list []*Case
}

// Make returns the cases that f adds to a suite. Its source starts from the name of f.
func Make(f func(*Suite)) []*Case {
	s := &Suite{Source: NewSource(goruntime.FuncForPC(reflect.ValueOf(f).Pointer()).Name())}
	f(s)
	return s.list
}

// Add adds a case to the suite. Inputs that are made for the next case follow from the name of this
// one, so that a new case leaves the others as they are, but for the case after it.
func (s *Suite) Add(c Case) {
	s.list = append(s.list, &c)
	s.Source = NewSource(c.Name())
}
