package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseSkipNorm joins the sum of two values of one shape with the normalisation of
// its rows that follows, which then reads it while it is at hand. What else reads
// the sum gets it as a further output. For halves of floats it does not pay: each
// of the two operators alone converts them in passing.
func fuseSkipNorm(s *Scope) (*Edit, error) {
	f := newFinder(s)
	for _, n := range f.live {
		op := map[string]string{"LayerNormalization": "SkipLayerNormalization", "RMSNormalization": "SkipSimplifiedLayerNormalization"}[n.Op]
		if n.Domain != "" || op == "" || len(n.Outputs) > 1 || f.dtype(n.Inputs[0]) != tensor.F32 || intOr(n, "stash_type", 1) != 1 {
			continue
		}
		sum := f.from(n.Inputs[0], "Add")
		d := f.dims(n.Inputs[0])
		if sum == nil || len(d) < 2 || len(d) > 3 || !f.has(sum.Inputs[0], d) || !f.has(sum.Inputs[1], d) {
			continue
		}
		if axis := intOr(n, "axis", -1); axis != -1 && axis != int64(len(d)-1) || !f.has(n.Inputs[1], d[len(d)-1:]) || len(n.Inputs) > 2 && !f.has(n.Inputs[2], d[len(d)-1:]) {
			continue
		}
		if _, taken := f.edit.Replace[sum]; taken {
			continue
		}
		fused := instead(n, microsoft, op, 1, slices.Concat(sum.Inputs, n.Inputs[1:]), floatAttr("epsilon", floatOf(n, "epsilon", 1e-5)))
		if f.reader(sum) != n {
			fused.Outputs = []string{n.Outputs[0], "", "", sum.Outputs[0]}
		}
		if f.replace(n, fused) {
			f.edit.Replace[sum] = nil
		}
	}
	return f.result()
}

// intOr returns an integer attribute, def if it is not there.
func intOr(n *graph.Node, name string, def int64) int64 {
	if a := n.Attr(name); a != nil {
		return a.Int
	}
	return def
}
