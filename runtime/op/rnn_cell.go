package op

import (
	"strings"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// activation is a function that the standard names for recurrent operators. It
// has the first params of alpha and beta; def is what they are if the node does
// not say.
type activation struct {
	params int
	def    bindings.RNNFunction
}

// activations holds them by name in small letters.
var activations = map[string]activation{
	"relu":            {0, bindings.RNNFunction{Kind: bindings.RNNRelu}},
	"tanh":            {0, bindings.RNNFunction{Kind: bindings.RNNTanh}},
	"sigmoid":         {0, bindings.RNNFunction{Kind: bindings.RNNSigmoid}},
	"affine":          {2, bindings.RNNFunction{Kind: bindings.RNNAffine, A: 1}},
	"leakyrelu":       {1, bindings.RNNFunction{Kind: bindings.RNNLeakyRelu, A: 0.01}},
	"thresholdedrelu": {1, bindings.RNNFunction{Kind: bindings.RNNThresholdedRelu, A: 1}},
	"scaledtanh":      {2, bindings.RNNFunction{Kind: bindings.RNNScaledTanh, A: 1, B: 1}},
	"hardsigmoid":     {2, bindings.RNNFunction{Kind: bindings.RNNHardSigmoid, A: 0.2, B: 0.5}},
	"elu":             {1, bindings.RNNFunction{Kind: bindings.RNNElu, A: 1}},
	"softsign":        {0, bindings.RNNFunction{Kind: bindings.RNNSoftsign}},
	"softplus":        {0, bindings.RNNFunction{Kind: bindings.RNNSoftplus}},
}

// bindActivations finds functions by name, whatever the case. Those that have an
// alpha or beta take the next one of the list, and the default when it is empty.
func bindActivations(names []string, alphas, betas []float32) ([]bindings.RNNFunction, error) {
	next := func(list *[]float32, v *float32) {
		if len(*list) > 0 {
			*v, *list = (*list)[0], (*list)[1:]
		}
	}
	out := make([]bindings.RNNFunction, len(names))
	for i, name := range names {
		a, ok := activations[strings.ToLower(name)]
		if !ok {
			return nil, graph.Mark(graph.ErrUnsupported, "activation %q is not one of the standard's", name)
		}
		out[i] = a.def
		if a.params > 0 {
			next(&alphas, &out[i].A)
		}
		if a.params > 1 {
			next(&betas, &out[i].B)
		}
	}
	return out, nil
}
