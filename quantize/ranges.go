package quantize

import (
	"context"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Method says how the range of a value follows from calibration data.
type Method string

// The methods. Percentile leaves out 0.001 % of the numbers, those farthest out. Entropy takes the
// range whose rounded numbers have the least divergence from all numbers.
const (
	MinMax     Method = "minmax"
	Percentile Method = "percentile"
	Entropy    Method = "entropy"
)

// Methods is the table of methods.
var Methods = []Method{MinMax, Percentile, Entropy}

// outside is the share of numbers that Percentile leaves out.
const outside = 1e-5

// Range is the least and the greatest number of a value that has codes of its own.
type Range struct{ Low, High float32 }

// Ranges are the ranges of the values of a network that become codes.
type Ranges struct {
	Method Method
	Values map[string]Range // by the name of the value
}

// MeasureRanges runs a network, as Model.Network returns it, on calibration inputs, and returns the
// ranges of the values that Options.Ranges turns into codes. It keeps a histogram of each value, and
// the numbers of one run.
func MeasureRanges(
	ctx context.Context, network *graph.Model, runs Runs, method Method, o nacre.Options,
) (_ *Ranges, err error) {
	defer guard.At(network.File).End(&err)
	if !slices.Contains(Methods, method) {
		return nil, graph.Errorf(graph.ErrUnsupported, "%q is no method for ranges; have %v", method, Methods)
	}
	constants := constantsOf(network.Graph)
	list := codedValues(network.Graph, func(n *graph.Node) bool {
		p, ok := productOf(n, constants)
		return ok && !p.table && p.weight.Tensor.DType() == tensor.F32
	})
	if len(list) == 0 {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"%s has no MatMul, Gemm or Conv with constant float32 weights, so that no value becomes codes", network.File)
	}
	m, names, err := watched(network, list)
	if err != nil {
		return nil, err
	}
	seen := make([]histogram, len(list))
	err = each(ctx, m, runs, o, func(outputs map[string]*nacre.Tensor) error {
		for i, v := range list {
			if v.like != "" {
				continue
			}
			numbers, err := nacre.Data[float32](outputs[names[i]])
			if err != nil {
				return err
			}
			if !seen[i].add(numbers) {
				return graph.Errorf(graph.ErrUnsupported,
					"value %q of %s is not finite for a calibration input; keep the nodes about it in float by --layer",
					v.name, network.File)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &Ranges{Method: method, Values: map[string]Range{}}
	for i, v := range list {
		h := &seen[i]
		if v.like != "" {
			continue
		}
		if h.total == 0 {
			return nil, graph.Errorf(graph.ErrUnsupported,
				"%s: no calibration input gives value %q an element", network.File, v.name)
		}
		low, high := h.low, h.high
		switch method {
		case Percentile:
			low, high = h.percentile(outside)
		case Entropy:
			low, high = h.entropy()
		}
		r.Values[v.name] = Range{low, high}
	}
	return r, nil
}

// constantsOf returns the constants of a graph that no caller replaces, by name.
func constantsOf(g *graph.Graph) map[string]*graph.Initializer {
	names := map[string]*graph.Initializer{}
	for _, x := range g.Initializers {
		names[x.Name] = x
	}
	for _, v := range g.Inputs {
		delete(names, v.Name)
	}
	return names
}

// watched returns a network whose outputs are the numbers of values, and the names of these outputs.
func watched(network *graph.Model, list []codedValue) (*graph.Model, []string, error) {
	version := standardVersion(network)
	if version < 13 {
		return nil, nil, graph.Errorf(graph.ErrUnsupported,
			"%s has operator set %d, and values become codes from 13 on; export the model with a newer set",
			network.File, version)
	}
	m, g := *network, *network.Graph
	m.Graph = &g
	g.Nodes, g.Initializers = slices.Clone(g.Nodes), slices.Clone(g.Initializers)
	g.Outputs = slices.DeleteFunc(slices.Clone(g.Outputs), func(v *graph.Value) bool {
		return !slices.ContainsFunc(m.States, func(s graph.State) bool { return s.Output == v.Name })
	})
	e := &editor{names: graph.NamesOf(network.Graph)}
	shape := tensor.New(tensor.I64, 1)
	tensor.View[int64](shape)[0] = -1
	flat := e.constant(&graph.Initializer{Name: "range_shape", Tensor: shape})
	g.Initializers = append(g.Initializers, e.added...)
	names := make([]string, len(list))
	for i, v := range list {
		if v.like != "" {
			continue
		}
		names[i] = e.names.New("range_" + v.name)
		g.Nodes = append(g.Nodes, &graph.Node{Name: names[i], Op: "Reshape", Version: version,
			Inputs: []string{v.name, flat}, Outputs: []string{names[i]}})
		t := graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown()})
		g.Outputs = append(g.Outputs, &graph.Value{Name: names[i], Type: t})
	}
	return &m, names, nil
}

// standardVersion returns the version of the standard operators that a model imports, 0 for none.
func standardVersion(m *graph.Model) int {
	for _, o := range m.Opsets {
		if o.Domain == "" {
			return o.Version
		}
	}
	return 0
}
