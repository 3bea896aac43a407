package optest

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
)

// copied maps operators of com.microsoft to the version of the standard operator that they copy.
var copied = map[string]int{"Pad": 13, "Range": 11, "Trilu": 14, "GatherND": 11, "GridSample": 16}

// copies returns the cases of such operators, for com.microsoft.
func copies(list []*cases.Case) []*cases.Case {
	var out []*cases.Case
	for _, c := range list {
		v := copied[c.Op]
		if c.Domain != "" || v == 0 || c.Version > v || c.Until != 0 && c.Until <= v ||
			!Rows()[cases.RowKey(cases.Microsoft, c.Op)].Types.Has(c.In[0].DType()) {
			continue
		}
		if c.Op == "GridSample" && slices.ContainsFunc(c.Attrs,
			func(a *graph.Attr) bool { return string(a.Str) == "bicubic" }) {
			continue // places beyond the border differ
		}
		same := *c
		same.Domain, same.Version, same.Until = cases.Microsoft, 1, 0
		out = append(out, &same)
	}
	return out
}
