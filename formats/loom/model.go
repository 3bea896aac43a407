package loom

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sort orders the layers by number. Of two layers with one number the later stays, as in Loom.
func (n *Network) sort() {
	slices.SortStableFunc(n.Layers, func(a, b *Layer) int { return n.Index(a.Z, a.Y, a.X, a.L) - n.Index(b.Z, b.Y, b.X, b.L) })
	list := n.Layers[:0]
	for i, l := range n.Layers {
		if i+1 == len(n.Layers) || n.Index(l.Z, l.Y, l.X, l.L) != n.Index(n.Layers[i+1].Z, n.Layers[i+1].Y, n.Layers[i+1].X, n.Layers[i+1].L) {
			list = append(list, l)
		}
	}
	n.Layers = list
}

// Model returns the network as a model of tensors: an initializer for each blob, named by its path,
// another for the scales of Q4_0, and a value for each store that a layer needs but lacks. The
// model's Source is n. It fails if a store holds less than its layer needs.
func (n *Network) Model() (_ *graph.Model, err error) {
	defer guard.At("").End(&err)
	return n.model(func(int) bool { return true })
}

// errEnded reports that the budget is spent.
var errEnded = errors.New("the budget is spent")

// model is Model, but counts memory before allocating it, and stops if take returns false.
func (n *Network) model(take func(bytes int) bool) (*graph.Model, error) {
	m := &graph.Model{Format: Name, Graph: &graph.Graph{}, Source: n, Meta: n.topology()}
	var problem error
	n.walk(func(path func() string, l *Layer) {
		if problem == nil && !take(0) {
			problem = errEnded
		}
		if problem != nil {
			return
		}
		if b := l.Weights; b != nil {
			if err := b.fit(l); err != nil && problem == nil {
				problem = fmt.Errorf("weights of %s: %w", path(), err)
			}
			return
		}
		if v := declared(path, l); v != nil {
			m.Graph.Values = append(m.Graph.Values, v)
		}
	})
	if problem != nil {
		return nil, problem
	}
	blobs, paths := n.ordered()
	for _, b := range blobs {
		if b.Shape == nil {
			continue
		}
		if !take(b.made()) {
			return nil, errEnded
		}
		list, err := b.initializers(paths[b])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", paths[b], err)
		}
		m.Graph.Initializers = append(m.Graph.Initializers, list...)
	}
	return m, nil
}

// made returns an upper bound, in bytes, for the memory of the blob's tensors that are not views of
// it.
func (b *Blob) made() int {
	n := b.Shape.Len()
	switch row := dtypes[b.DType]; {
	case b.Kind == "" && row.codes == tensor.Invalid:
		return 4 * n
	case b.Kind == "" && row.bits >= 8:
		return 0
	}
	return n
}

// declared returns the store that a layer needs but lacks. It is nil if the layer needs none or has
// its parts.
func declared(path func() string, l *Layer) *graph.Value {
	shape, err := l.Shape()
	if err != nil || shape == nil || len(l.Extra) > 0 {
		return nil
	}
	dims := make(graph.Dims, len(shape))
	for i, d := range shape {
		dims[i] = graph.Known(d)
	}
	d := dtypes[l.DType].codes
	if d == tensor.Invalid {
		d = tensor.F32
	}
	return &graph.Value{Name: path(), Type: graph.TensorOf(d, dims)}
}

// topology returns the network without its weights as metadata for other formats to keep: the JSON
// of an ENTITY file's header, or of a spec.
func (n *Network) topology() []graph.Pair {
	text := func(f func(e *emitter)) string {
		var b strings.Builder
		e := newEmitter(&b, false)
		f(e)
		e.w.Flush()
		return b.String()
	}
	kind := inCheckpoint
	if n.Spec {
		kind = inSpec
	}
	list := []graph.Pair{{Key: "network", Value: text(func(e *emitter) { e.network(n, kind, nil) }), Kind: "json"}}
	if t := n.Transformer; t != nil {
		list = append(list, graph.Pair{Key: "transformer", Value: text(t.emit), Kind: "json"})
	}
	return list
}

// initializers returns the blob as a named tensor of codes, or of numbers if Nacre has no type for
// the codes, followed by its scales if they are a tensor.
func (b *Blob) initializers(name string) ([]*graph.Initializer, error) {
	init := &graph.Initializer{Name: name, Stored: &graph.Stored{DType: b.word(), Offset: b.offset}}
	list := []*graph.Initializer{init}
	var err error
	switch b.Kind {
	case Q4_0:
		var scales *graph.Initializer
		scales, err = b.initQ4(init)
		list = append(list, scales)
	case BitNetTernary:
		err = b.initBitNet(init)
	default:
		init.Tensor, err = b.DType.tensor(b.Data, b.Scale, b.Shape)
		if err == nil && b.DType.Scaled() {
			scale := b.DType.scaleWith(init.Tensor.DType(), b.Scale)
			init.Meta = []graph.Pair{{Key: "scale", Value: float(float64(scale), 32), Kind: Float32.String()}}
		}
	}
	if err != nil {
		return nil, err
	}
	if t := init.Tensor.Bytes(); len(t) != len(b.Data) || len(t) > 0 && &t[0] != &b.Data[0] {
		init.Stored.Bytes = b.Data
	}
	return list, nil
}

// scaleOf returns the scale of an initializer's codes, or 0 if it has none.
func scaleOf(init *graph.Initializer) (float32, error) {
	for _, p := range init.Meta {
		if p.Key == "scale" {
			f, err := strconv.ParseFloat(p.Value, 32)
			if err != nil {
				return 0, fmt.Errorf("the scale of %s is %q, which is no number", init.Name, p.Value)
			}
			return float32(f), nil
		}
	}
	return 0, nil
}
