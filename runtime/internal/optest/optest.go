// Package optest holds one suite of operator cases for every device: nodes,
// inputs made from a seed, and outputs that plain Go code computes by the
// definition of the operator, in float64 and by index arithmetic. It shares no
// code with the operators that it checks.
package optest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
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
	return fmt.Sprintf("%s-%d %s %s", c.key(), c.Version, c.Note, strings.Join(types, " "))
}

// key is the operator as Rows lists it.
func (c *Case) key() string { return rowKey(c.Domain, c.Op) }

func rowKey(domain, name string) string {
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

// families are the sources of cases, one line per file.
func families() []func(*suite) {
	return []func(*suite){
		attentionCases,
		castCases,
		constantCases,
		convCases,
		eltwiseCases,
		logicCases,
		matmulCases,
		microsoftCases,
		moveCases,
		normCases,
		pickCases,
		poolCases,
		quantCases,
		quantByteCases,
		quantFusedCases,
		quantLSTMCases,
		reduceCases,
		resizeCases,
		recurrentCases,
		shapeCases,
		detectCases,
		signalCases,
		randomCases,
		lossCases,
		einsumCases,
		sumLikeCases,
		mlCases,
		textCases,
		imageCases,
		nbitsCases,
		copyCases,
		expertCases,
	}
}

// Cases returns every case of the suite, which must not be changed.
var Cases = sync.OnceValue(func() []*Case {
	var list []*Case
	for i, f := range families() {
		s := &suite{source: newSource(uint64(i))}
		f(s)
		list = append(list, s.list...)
	}
	list = append(list, copies(list)...)
	return list
})

// Eval computes one node on a device.
type Eval func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error)

// Run checks every case, in every version that it holds for, on one device.
// Operators without a row are left out.
func Run(t *testing.T, eval Eval) {
	rows := Rows()
	for _, c := range Cases() {
		row := rows[c.key()]
		if row == nil {
			continue
		}
		for _, v := range c.Versions(row) {
			if err := c.Check(eval, v); err != nil {
				t.Errorf("%s in version %d: %v", c.Name(), v, err)
			}
		}
	}
}

// Rows are the rows of the operator table by name, behind the domain if it is not
// the standard's.
var Rows = sync.OnceValue(func() map[string]*op.Row {
	rows := map[string]*op.Row{}
	for _, row := range standard.Registry().Rows() {
		rows[rowKey(row.Domain, row.Name)] = row
	}
	return rows
})

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
	case errors.Is(err, op.ErrInternal):
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

// suite collects the cases of one family.
type suite struct {
	*source
	list []*Case
}

func (s *suite) add(c Case) { s.list = append(s.list, &c) }
