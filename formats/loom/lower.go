package loom

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lower returns a model whose graph computes the network. Its float32 input and output are named
// input and output. MultiHeadAttention layers have a cache, a state of the model. A transformer
// bundle becomes a decoder from input_ids to logits. The spec of an architecture gets the weights
// of Initialize for the seed in the options. The result is nil for a model without a network.
func Lower(m *graph.Model, o container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	n, ok := m.Source.(*Network)
	if !ok {
		return nil, nil
	}
	w := newLowerer(m, n, o)
	err = w.initialize(o)
	if err == nil {
		w.version()
		if n.Transformer != nil {
			err = w.bundle()
		} else {
			err = w.grid()
		}
	}
	if err == nil {
		err = w.top.Err()
	}
	if err != nil {
		return nil, w.failure(m, err)
	}
	return w.top.Model(m), nil
}

// spareLayers is the number of layers that a graph may have beyond the layers of its file, because
// links to layers of the grid repeat them.
const spareLayers = 1 << 12

// twoBits is the first version of the standard operators that takes two-bit codes.
const twoBits = 25

// lowerer puts the layers of a network into a graph.
type lowerer struct {
	b        *graph.Builder // of the graph, or of a branch of it
	top      *graph.Builder // of the graph
	net      *Network
	made     container.Lowering // counts memory
	quirks   bool
	ranks    bool // fix the number of axes of inputs
	portable bool // use only element types that other programs know
	inits    map[string]*graph.Initializer
	shares   map[string]*graph.Initializer // parts of inits
	caches   int                           // of attention, so far
	left     int                           // layers that may follow
	rules    rules                         // of earlier Metacognition layers
}

func newLowerer(m *graph.Model, n *Network, o container.Lowering) *lowerer {
	b := o.Builder("network")
	w := &lowerer{b: b, top: b, net: n, made: o, quirks: o.Quirks, ranks: o.Ranks, portable: o.Portable, left: 2*len(n.Layers) + spareLayers,
		inits: map[string]*graph.Initializer{}, shares: map[string]*graph.Initializer{}}
	for _, init := range m.Graph.Initializers {
		w.inits[init.Name] = init
	}
	return w
}

// version chooses an operator version that takes the codes of the weights.
func (w *lowerer) version() {
	for _, init := range w.inits {
		if d := init.Tensor.DType(); d == tensor.I2 || d == tensor.U2 {
			w.b.Opset("", twoBits)
		}
	}
}

// failure adds the name of the file to an error. Errors are of kind graph.ErrUnsupported, but for
// the ones of the budget.
func (w *lowerer) failure(m *graph.Model, err error) error {
	var known *graph.Error
	if errors.As(err, &known) {
		return err
	}
	kind := graph.ErrUnsupported
	if errors.Is(err, graph.ErrMemory) || w.made.Budget.Err() != nil {
		kind = nil
	}
	return &graph.Error{Stage: "lower", File: m.File, Offset: -1, Kind: kind, Err: err}
}

// flow is a value of the graph with its known extents. dims is nil if the number of axes is open;
// an open extent is -1.
type flow struct {
	name string
	dims []int
}

// item returns the number of elements of one row of the first axis. ok is false if it is unknown.
func (v flow) item() (n int, ok bool) {
	if len(v.dims) == 0 || slices.Contains(v.dims[1:], -1) {
		return 0, false
	}
	n, err := product(v.dims[1:]...)
	return n, err == nil
}

// grid runs the enabled layers of all cells one after the other.
func (w *lowerer) grid() error {
	if cells := w.net.cells(); int64(len(w.net.Layers)) != cells {
		return fmt.Errorf("the grid has room for %d layers, and the file describes %d: every cell needs a layer with weights to run (is_disabled leaves one out)",
			cells, len(w.net.Layers))
	}
	x := flow{"input", nil}
	first := true
	for i, l := range w.net.Layers {
		if w.rules.cell = i; l.Disabled {
			continue
		}
		if first {
			x.dims = l.inputDims()
			if x.dims == nil && w.ranks {
				x.dims = usualDims(w.net.Layers)
			}
			w.input(x.dims)
			first = false
		}
		var err error
		if x, err = w.target(l, fmt.Sprintf("layers.%d", w.net.Index(l.Z, l.Y, l.X, l.L)), x, 0); err != nil {
			return err
		}
	}
	if first {
		if w.ranks {
			x.dims = usualDims(nil)
		}
		w.input(x.dims)
	}
	w.b.Output(x.name, "output", graph.TensorOf(tensor.F32, known(x.dims)))
	return nil
}

// input declares the input of the network.
func (w *lowerer) input(dims []int) {
	w.b.Input("input", graph.TensorOf(tensor.F32, known(dims)))
}

// known converts extents to the graph's form. An open first extent becomes the symbol batch.
func known(dims []int) graph.Dims {
	if dims == nil {
		return nil
	}
	d := graph.UnknownDims(len(dims))
	for i, n := range dims {
		switch {
		case n >= 0:
			d[i] = graph.Known(n)
		case i == 0:
			d[i] = graph.Symbol("batch")
		}
	}
	return d
}

// inputDims returns the extents of the layer's input; nil if its configuration does not settle
// them.
func (l *Layer) inputDims() []int {
	switch l.Type {
	case CNN1, CNN2, CNN3, ConvTransposed1D, ConvTransposed2D, ConvTransposed3D:
		return append([]int{-1, l.InputChannels}, l.window().in...)
	case RNN, LSTM:
		return []int{-1, l.SeqLength, l.InputHeight}
	}
	return nil
}

// usualDims returns input extents for layers that take any: sequences of rows for attention, else a
// matrix.
func usualDims(layers []*Layer) []int {
	for _, l := range layers {
		if l.Disabled {
			continue
		}
		inside := slices.Concat(l.Branches, l.Steps)
		if l.Observed != nil {
			inside = append(inside, l.Observed)
		}
		switch l.Type {
		case RMSNorm, LayerNorm, Softmax, Residual:
			continue
		case MultiHeadAttention:
			return []int{-1, -1, l.DModel}
		case Dense:
			return []int{-1, l.InputHeight}
		case Parallel, Sequential, Metacognition:
			if len(inside) == 0 {
				continue
			}
			return usualDims(inside)
		}
		if dims := l.inputDims(); dims != nil {
			return dims
		}
		break
	}
	return []int{-1, -1}
}

// layer puts a layer, nested depth levels deep, into the graph and returns its output. Errors name
// its path.
func (w *lowerer) layer(l *Layer, path string, x flow, depth int) (flow, error) {
	if err := w.top.Err(); err != nil {
		return x, err
	}
	if w.left--; w.left < 0 || depth > maxNesting {
		return x, fmt.Errorf("%s: links from layer to layer make more layers than a network can have", path)
	}
	if l.Remote {
		at := l.Target
		i := w.net.Index(at[0], at[1], at[2], at[3])
		if i < 0 || i >= len(w.net.Layers) {
			return x, fmt.Errorf("%s: it is a link to the layer at z %d, y %d, x %d, l %d, which the grid does not have", path, at[0], at[1], at[2], at[3])
		}
		return w.layer(w.net.Layers[i], fmt.Sprintf("layers.%d", i), x, depth+1)
	}
	y, err := w.compute(l, path, x, depth)
	if err != nil {
		var inner *layerError
		if !errors.As(err, &inner) {
			err = &layerError{path, l.Type, err}
		}
		return x, err
	}
	return y, nil
}

// layerError reports that a layer cannot be put into a graph.
type layerError struct {
	path string
	kind LayerType
	err  error
}

func (e *layerError) Error() string { return fmt.Sprintf("%s (%v): %v", e.path, e.kind, e.err) }
func (e *layerError) Unwrap() error { return e.err }

// compute puts the nodes of a layer into the graph.
func (w *lowerer) compute(l *Layer, path string, x flow, depth int) (flow, error) {
	switch l.Type {
	case Dense:
		return w.dense(l, path, x)
	case Embedding:
		return w.embedding(l, path, x)
	case KMeans:
		return w.kmeans(l, path, x)
	case CNN1, CNN2, CNN3:
		return w.conv(l, path, x)
	case ConvTransposed1D, ConvTransposed2D, ConvTransposed3D:
		return w.convTransposed(l, path, x)
	case RNN, LSTM:
		return w.recurrent(l, path, x)
	case RMSNorm, LayerNorm:
		return w.norm(l, path, x)
	case Softmax:
		return w.softmax(l, x)
	case SwiGLU:
		return w.swiglu(l, path, x)
	case MultiHeadAttention:
		return w.attention(l, path, x)
	case Parallel:
		return w.parallel(l, path, x, depth)
	case Sequential:
		return w.sequential(l, path, x, depth)
	case Residual:
		return x, nil // the sequence adds the skip connection
	case Metacognition:
		return w.metacognition(l, path, x, depth)
	}
	return x, fmt.Errorf("%v is no type of layer", l.Type)
}

// positive returns an error if one of these fields is not positive.
func positive(fields ...any) error {
	for i := 0; i < len(fields); i += 2 {
		if n := fields[i+1].(int); n <= 0 {
			return fmt.Errorf("its %s is %d; it must be positive", fields[i], n)
		}
	}
	return nil
}
