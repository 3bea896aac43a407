// Package cases says what a case of the suite is, and has what the families make cases of:
// seeded tensors, element types, and index arithmetic.
package cases

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Case is a node with its inputs and the outputs that it must have.
type Case struct {
	Domain  string
	Op      string
	Version int    // the first version of the operator that it holds for
	Until   int    // the first version that it does not hold for; 0 for none
	Note    string // what is special about it
	Attrs   []*graph.Attr
	In      []*tensor.Tensor // nil where an input is left out
	Want    []*tensor.Tensor // nil where an output is left out
	// Ulps is how far floats may be off: in units of the last place of the
	// expected number, or of 1 when that is smaller. Other types must be equal.
	Ulps float64
	// Fails is the kind of error that refuses the node, for errors.Is: one of those
	// of package graph. A case has Want or Fails.
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

// Key is RowKey of the operator.
func (c *Case) Key() string { return RowKey(c.Domain, c.Op) }

// RowKey is the name of an operator, behind its domain if that is not the standard's.
func RowKey(domain, name string) string {
	if domain == "" {
		return name
	}
	return domain + "." + name
}

// Node is the case's node in the given version of the operator set.
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

// Versions are those of the row that the case holds for.
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

// Check runs the case in one version and reports what is wrong.
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

// checkError reports an error of another kind than the case names.
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

// Compare reports an output that differs from the one that is wanted.
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

// Make returns the cases that a function adds to a suite with that seed.
func Make(seed uint64, f func(*Suite)) []*Case {
	s := &Suite{Source: NewSource(seed)}
	f(s)
	return s.list
}

// Add puts a case into the suite.
func (s *Suite) Add(c Case) { s.list = append(s.list, &c) }
