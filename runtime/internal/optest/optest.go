// Package optest holds one suite of operator cases for every device: nodes, inputs that follow from
// the names of cases, and outputs that plain Go code computes by the definition of the operator, in
// float64 and by index arithmetic. It shares no code with the operators that it checks. Package
// cases defines a case. Each family of operators has a package of cases.
package optest

import (
	"slices"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/optest/arith"
	"github.com/nacre-ml/nacre/runtime/internal/optest/array"
	"github.com/nacre-ml/nacre/runtime/internal/optest/attention"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/internal/optest/ml"
	"github.com/nacre-ml/nacre/runtime/internal/optest/moe"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nn"
	"github.com/nacre-ml/nacre/runtime/internal/optest/openinfer"
	"github.com/nacre-ml/nacre/runtime/internal/optest/quant"
	"github.com/nacre-ml/nacre/runtime/internal/optest/signal"
	"github.com/nacre-ml/nacre/runtime/internal/optest/text"
	"github.com/nacre-ml/nacre/runtime/internal/optest/vision"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
)

// Cases returns every case of the suite. Callers must not change them.
var Cases = sync.OnceValue(func() []*cases.Case {
	var list []*cases.Case
	for _, f := range slices.Concat(
		arith.Cases(),
		array.Cases(),
		attention.Cases(),
		ml.Cases(),
		moe.Cases(),
		nn.Cases(),
		quant.Cases(),
		signal.Cases(),
		text.Cases(),
		vision.Cases(),
		openinfer.Cases(),
	) {
		list = append(list, cases.Make(f)...)
	}
	return append(list, copies(list)...)
})

// Run checks every case on one device, in every version for which it holds. It skips operators
// without a row.
func Run(t *testing.T, eval cases.Eval) {
	rows := Rows()
	for _, c := range Cases() {
		row := rows[c.Key()]
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

// Rows returns the rows of the operator table by name, prefixed by the domain unless it is the
// standard's.
var Rows = sync.OnceValue(func() map[string]*op.Row {
	rows := map[string]*op.Row{}
	for _, row := range standard.Registry().Rows() {
		rows[cases.RowKey(row.Domain, row.Name)] = row
	}
	return rows
})
