package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseActivation puts a function of elements into the node of the convolution or
// the product before it, whose kernel applies it while its sums are in the cache.
func fuseActivation(s *Scope) (*Edit, error) {
	e := newEdit()
	for _, n := range s.Nodes {
		if e.touches(n) {
			continue
		}
		last := s.next(n, activations...)
		if last == nil || last.Inputs[0] != n.Outputs[0] {
			continue
		}
		by := s.fusible(n)
		f, ok := s.activation(last)
		if by == nil || !ok {
			continue
		}
		by.Attrs = append(by.Attrs[:len(by.Attrs):len(by.Attrs)], f.attrs(by.Op)...)
		by.Outputs = last.Outputs
		e.fuse(by, n, last)
	}
	return e, nil
}

// activation is a function of elements with its parameters.
type activation struct {
	name   string
	params []float32
}

var activations = []string{
	"Relu", "LeakyRelu", "PRelu", "ThresholdedRelu", "Clip", "Sigmoid", "HardSigmoid", "Swish", "HardSwish", "Tanh",
	"Elu", "Selu", "Celu", "Softplus", "Softsign", "Gelu", "Mish",
}

// attrs names the function to a node of that operator.
func (f activation) attrs(op string) []*graph.Attr {
	list := []*graph.Attr{{Name: "activation", Kind: graph.AttrString, Str: []byte(f.name)}}
	switch {
	case len(f.params) == 0:
	case op == "FusedGemm":
		for i, v := range f.params {
			list = append(list, &graph.Attr{Name: []string{"activation_alpha", "activation_beta"}[i], Kind: graph.AttrFloat, Float: v})
		}
	default:
		list = append(list, &graph.Attr{Name: "activation_params", Kind: graph.AttrFloats, Floats: f.params})
	}
	return list
}

// activation returns what a node computes of each element, if it is a function that
// nodes can take in.
func (s *Scope) activation(n *graph.Node) (f activation, ok bool) {
	a := attrs(n)
	f.name = n.Op
	switch n.Op {
	case "LeakyRelu":
		f.params = []float32{a.Float("alpha", 0.01)}
	case "PRelu":
		slope, ok := s.scalar(n.Inputs[1])
		if rank, known := s.rank(n.Inputs[0]); !ok || !known || len(s.value(n.Inputs[1]).Dims) > rank || !single(slope) {
			return f, false
		}
		f.name, f.params = "LeakyRelu", []float32{float32(slope)}
	case "ThresholdedRelu", "Elu", "Celu", "Swish":
		f.params = []float32{a.Float("alpha", 1)}
	case "Selu":
		f.params = []float32{a.Float("alpha", 1.67326319), a.Float("gamma", 1.05070102)}
	case "HardSigmoid":
		f.params = []float32{a.Float("alpha", 0.2), a.Float("beta", 0.5)}
	case "Gelu":
		if a.Str("approximate", "none") == "tanh" {
			f.name = "FastGelu"
		}
	case "Clip":
		return s.clip(n)
	}
	return f, true
}

// single reports whether a number is the same as a float32.
func single(v float64) bool { return float64(float32(v)) == v }

// clip reads the ends of a Clip: attributes before version 11, then inputs.
func (s *Scope) clip(n *graph.Node) (f activation, ok bool) {
	d := s.dtype(n.Inputs[0])
	ends := [2]float64{-largest[d], largest[d]}
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
