package formats

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Lowering says how the networks of formats other than ONNX become nodes. The zero value computes
// what each format's users expect. The fields:
//
//   - Quirks: the results of the format's own program, even if they are wrong
//   - Seed: of weights that the file leaves to chance
//   - Context: the most tokens of a decoder's run
//   - Batches: inputs for several texts at once, for encoders
//   - Ranks: the usual number of axes for inputs with any number
//   - Portable: only element types that ONNX Runtime computes with
//   - Budget: of the bytes of weights and nodes that are made
//
// "go doc github.com/nacre-ml/nacre/formats/internal/container.Lowering" shows all that they mean.
type Lowering = container.Lowering

// Network returns a model whose graph has the nodes of its network. If the file has nodes, this is
// m. If not, it is a copy with the nodes that the format describes. The copy shares the tensors of
// m, and must not be used after m is closed. If the file describes no network, the error is
// ErrNoNetwork.
func Network(m *graph.Model, o Lowering) (n *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	if len(m.Graph.Nodes)+len(m.Graph.Outputs) > 0 {
		return m, nil
	}
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == m.Format })
	if i >= 0 && Formats[i].lower != nil {
		return lowered(m, o, Formats[i].lower)
	}
	return nil, noNetwork(m)
}

// lowered returns the network that lower makes of m, and checks it.
func lowered(m *graph.Model, o Lowering, lower func(m *graph.Model, o Lowering) (*graph.Model, error)) (*graph.Model, error) {
	n, err := lower(m, o)
	if err == nil && n == nil {
		err = noNetwork(m)
	}
	if err == nil {
		err = validated(o.Budget, n)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// ErrNoNetwork is the error of Network for a file that describes no network.
var ErrNoNetwork = container.ErrNoNetwork

func noNetwork(m *graph.Model) error {
	tensors := fmt.Sprintf("%d tensors", len(m.Graph.Initializers))
	if len(m.Graph.Initializers) == 1 {
		tensors = "1 tensor"
	}
	return &graph.Error{Stage: "load", File: m.File, Offset: -1, Kind: graph.ErrUnsupported, Err: fmt.Errorf(
		"the file (%s) holds %s and %w (nacre inspect shows its contents, and nacre convert writes it in another format)", m.Format, tensors, ErrNoNetwork)}
}
