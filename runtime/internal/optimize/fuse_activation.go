package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// fuseActivation applies an activation within the convolution or the product that
// computes its operand.
func fuseActivation() run {
	return rewriting(rule{
		pattern: applyAny(activations, as(y, once(applyAny(fusible)))),
		write: func(m *match) *graph.Node {
			by := m.fused(m.nodeOf(y))
			f, ok := m.activation(m.root)
			if by == nil || !ok {
				return nil
			}
			by.Attrs = slices.Concat(by.Attrs, f.attrs(by.Op))
			by.Outputs = m.root.Outputs
			return by
		},
	})
}

// activation is an element-wise function with its parameters.
type activation struct {
	name   string
	params []float32
}

// activations lists the operators of one input that are activations of epilogues, and PRelu, which
// is LeakyRelu if it has one slope.
var activations = func() []string {
	list := []string{"PRelu"}
	for _, a := range kit.Activations() {
		if a.Kernel != "" {
			list = append(list, a.Name)
		}
	}
	return list
}()

// attrs returns the attributes that make a node of operator op apply the function.
func (f activation) attrs(op string) []*graph.Attr {
	list := []*graph.Attr{{Name: "activation", Kind: graph.AttrString, Str: []byte(f.name)}}
	switch {
	case len(f.params) == 0:
	case op == "FusedGemm":
		for i, v := range f.params {
			list = append(list, &graph.Attr{Name: []string{"activation_alpha", "activation_beta"}[i], Kind: graph.AttrFloat,
				Float: v})
		}
	default:
		list = append(list, &graph.Attr{Name: "activation_params", Kind: graph.AttrFloats, Floats: f.params})
	}
	return list
}

// activation returns the function that a node applies. If fused nodes cannot apply it, ok is false.
func (s *Scope) activation(n *graph.Node) (f activation, ok bool) {
	f.name = n.Op
	switch n.Op {
	case "PRelu":
		slope, ok := s.scalar(n.Inputs[1])
		if rank, known := s.rank(n.Inputs[0]); !ok || !known || len(s.value(n.Inputs[1]).Dims) > rank || !single(slope) {
			return f, false
		}
		return activation{"LeakyRelu", []float32{float32(slope)}}, true
	case "Gelu":
		if attrs(n).Str("approximate", "none") == "tanh" {
			f.name = "FastGelu"
		}
	case "Clip":
		return s.clip(n)
	}
	a, ok := kit.FindActivation(f.name)
	for _, p := range a.Params {
		f.params = append(f.params, attrs(n).Float(p.Name, p.Default))
	}
	return f, ok
}

// single reports whether float32 represents a number exactly.
func single(v float64) bool { return float64(float32(v)) == v }

// clip returns the limits of a Clip. They are attributes before version 11 and inputs since. An
// omitted limit is the largest number of the element type.
func (s *Scope) clip(n *graph.Node) (f activation, ok bool) {
	d := s.dtype(n.Inputs[0])
	low, high := elements.Bounds[float64](d)
	ends := [2]float64{low, high}
	for i, name := range []string{"min", "max"} {
		if n.Version < 11 {
			ends[i] = float64(attrs(n).Float(name, float32(ends[i])))
		} else if i+1 < len(n.Inputs) && n.Inputs[i+1] != "" {
			var known bool
			if ends[i], known = s.scalar(n.Inputs[i+1]); !known || !single(ends[i]) {
				return f, false
			}
		}
	}
	return activation{"Clip", []float32{float32(ends[0]), float32(ends[1])}}, single(ends[0]) && single(ends[1])
}
