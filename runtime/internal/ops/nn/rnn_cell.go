package nn

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
)

// RecurrentFunction is an activation with its parameters.
type RecurrentFunction struct {
	Name        string
	Alpha, Beta float32
}

// formula returns the function of one number.
func (f RecurrentFunction) formula() func(x float64) float64 {
	a, _ := kit.FindActivation(f.Name)
	return func(x float64) float64 { return a.Of(x, float64(f.Alpha), float64(f.Beta)) }
}

// RecurrentCell has the functions of one direction of a recurrent network.
type RecurrentCell struct {
	Functions   [3]RecurrentFunction // f, g and h, as far as the operator has them
	Clip        float32              // bound of the sums before f and g; +Inf for none
	InputForget bool                 // LSTM's forget gate is 1 - input gate
}

// bindActivations finds functions by name, ignoring case. A function with an alpha or beta takes
// the next one of the list; if the list is empty, it takes the default.
func bindActivations(names []string, alphas, betas []float32) ([]RecurrentFunction, error) {
	next := func(list *[]float32, v *float32) {
		if len(*list) > 0 {
			*v, *list = (*list)[0], (*list)[1:]
		}
	}
	out := make([]RecurrentFunction, len(names))
	for i, name := range names {
		a, ok := kit.FindRecurrentActivation(name)
		if !ok {
			return nil, graph.Errorf(graph.ErrUnsupported, "activation %q is not one of the standard's", name)
		}
		out[i].Name = a.Name
		out[i].Alpha, out[i].Beta = a.Values()
		if len(a.Params) > 0 {
			next(&alphas, &out[i].Alpha)
		}
		if len(a.Params) > 1 {
			next(&betas, &out[i].Beta)
		}
	}
	return out, nil
}
