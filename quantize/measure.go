package quantize

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Runs are the inputs of runs, or an error that ends them.
type Runs = iter.Seq2[map[string]*nacre.Tensor, error]

// Measure runs a network, as Model.Network returns it, on calibration inputs, and returns the
// importance of its weights: of those that MatMul and Gemm read, also behind casts. A run of a model
// with states begins without any. Sums of squares are added within the network, so that no
// activations are kept.
func Measure(ctx context.Context, network *graph.Model, runs Runs, o nacre.Options) (_ *Importance, err error) {
	defer guard.At(network.File).End(&err)
	return measure(ctx, network, runs, o, false)
}

// MeasureProducts is Measure for Options.Compensate. It takes memory for the square of the columns
// of each input of products.
func MeasureProducts(ctx context.Context, network *graph.Model, runs Runs, o nacre.Options) (_ *Importance, err error) {
	defer guard.At(network.File).End(&err)
	return measure(ctx, network, runs, o, true)
}

func measure(ctx context.Context, network *graph.Model, runs Runs, o nacre.Options, products bool) (*Importance, error) {
	m, taps, err := tapped(network, products)
	if err != nil {
		return nil, err
	}
	sums, counts, pairs := map[string][]float64{}, map[string]float64{}, map[string][]float64{}
	p := &Importance{Columns: map[string][]float32{}, counts: map[string]float32{}}
	if products {
		p.products = map[string][]float64{}
	}
	err = each(ctx, m, runs, o, func(outputs map[string]*nacre.Tensor) error {
		p.Chunks++
		for _, t := range taps {
			squares, err := nacre.Data[float32](outputs[t.squares])
			if err != nil {
				return err
			}
			size, err := nacre.Data[int64](outputs[t.size])
			if err != nil {
				return err
			}
			if sums[t.squares] == nil {
				sums[t.squares] = make([]float64, len(squares))
			}
			for i, v := range squares {
				sums[t.squares][i] += float64(v)
			}
			if products {
				list, err := nacre.Data[float32](outputs[t.products])
				if err != nil {
					return err
				}
				if pairs[t.squares] == nil {
					pairs[t.squares] = make([]float64, len(list))
				}
				for i, v := range list {
					pairs[t.squares][i] += float64(v)
				}
			}
			counts[t.squares] += float64(size[0]) / float64(max(len(squares), 1))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range taps {
		n := counts[t.squares]
		if n == 0 {
			return nil, graph.Errorf(graph.ErrUnsupported, "%s: no calibration input has a row", network.File)
		}
		for i := range pairs[t.squares] {
			pairs[t.squares][i] /= n
		}
		for _, weight := range t.weights {
			if _, ok := p.Columns[weight]; ok {
				continue
			}
			list := make([]float32, len(sums[t.squares]))
			for i, v := range sums[t.squares] {
				list[i] = float32(v / n)
			}
			if err := p.put(weight, list); err != nil {
				return nil, graph.Errorf(graph.ErrFormat, "%s: importance of %q: %w", network.File, weight, err)
			}
			p.counts[weight] = float32(n)
			if products {
				p.products[weight] = pairs[t.squares]
			}
		}
	}
	return p, nil
}

// tap is a pair of outputs: the sums of squares of the columns of a value, and the number of its
// elements.
type tap struct {
	squares, size string
	products      string   // output with the sums of products of columns; empty for none
	weights       []string // that products multiply the value by
}

// tapped returns a network whose outputs are taps.
func tapped(network *graph.Model, products bool) (*graph.Model, []*tap, error) {
	constants, behind := map[string]*graph.Initializer{}, map[string]string{}
	for _, x := range network.Graph.Initializers {
		constants[x.Name] = x
		behind[x.Name] = x.Name
	}
	m, g := *network, *network.Graph
	m.Graph = &g
	g.Nodes = slices.Clone(g.Nodes)
	version := standardVersion(network)
	if version < 13 {
		return nil, nil, graph.Errorf(graph.ErrUnsupported,
			"%s has operator set %d, and importance is measured from 13 on; export the model with a newer set",
			network.File, version)
	}
	e := &editor{names: graph.NamesOf(network.Graph)}
	turned := map[string]bool{} // by Transpose
	met := map[string]*tap{}
	var taps []*tap
	// The states' outputs stay, since a stream reads them.
	outputs := map[string]bool{}
	for _, s := range network.States {
		outputs[s.Output] = true
	}
	g.Outputs = slices.DeleteFunc(slices.Clone(g.Outputs), func(v *graph.Value) bool { return !outputs[v.Name] })
	for _, n := range network.Graph.Nodes {
		if n.Domain == "" && slices.Contains([]string{"Cast", "Identity", "Transpose", "DequantizeLinear"}, n.Op) && len(n.Outputs) == 1 {
			if w := behind[n.Inputs[0]]; w != "" {
				behind[n.Outputs[0]] = w
				turned[n.Outputs[0]] = turned[n.Inputs[0]] != (n.Op == "Transpose")
			}
		}
		if n.Domain != "" || n.Op != "MatMul" && n.Op != "Gemm" || len(n.Inputs) < 2 {
			continue
		}
		if a := n.Attr("transA"); a != nil && a.Int != 0 {
			continue
		}
		weight := behind[n.Inputs[1]]
		if weight == "" || len(constants[weight].Tensor.Shape()) != 2 || behind[n.Inputs[0]] != "" {
			continue
		}
		t := met[n.Inputs[0]]
		if t == nil {
			k := depth(n, constants[weight].Tensor.Shape(), turned[n.Inputs[1]])
			t = &tap{squares: e.names.New("importance_" + n.Inputs[0]), size: e.names.New("elements_" + n.Inputs[0])}
			if products {
				t.products = e.names.New("products_" + n.Inputs[0])
				g.Outputs = append(g.Outputs, &graph.Value{Name: t.products, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(k), graph.Known(k)})})
			}
			met[n.Inputs[0]] = t
			taps = append(taps, t)
			nodes, added := e.tap(t, n.Inputs[0], k, version)
			g.Nodes = append(g.Nodes, nodes...)
			g.Initializers = append(slices.Clone(g.Initializers), added...)
			g.Outputs = append(g.Outputs, &graph.Value{Name: t.squares, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(k)})},
				&graph.Value{Name: t.size, Type: graph.TensorOf(tensor.I64, graph.Dims{})})
		}
		t.weights = append(t.weights, weight)
	}
	if taps == nil {
		return nil, nil, graph.Errorf(graph.ErrUnsupported, "%s has no MatMul or Gemm with a constant matrix", network.File)
	}
	return &m, taps, nil
}

// depth returns the number of elements that each sum of a product adds.
func depth(n *graph.Node, weight tensor.Shape, turned bool) int {
	a := n.Attr("transB")
	if (a != nil && a.Int != 0) != turned {
		return weight[1]
	}
	return weight[0]
}

// tap returns the nodes and constants of a tap of a value with k columns.
func (e *editor) tap(t *tap, value string, k, version int) (nodes []*graph.Node, added []*graph.Initializer) {
	node := func(op, output string, inputs []string, attrs ...*graph.Attr) string {
		nodes = append(nodes, &graph.Node{Name: output, Op: op, Version: version, Inputs: inputs, Outputs: []string{output}, Attrs: attrs})
		return output
	}
	ints := func(like string, list ...int64) string {
		x := tensor.New(tensor.I64, len(list))
		copy(tensor.View[int64](x), list)
		added = append(added, &graph.Initializer{Name: e.names.New(like), Tensor: x})
		return added[len(added)-1].Name
	}
	floats := node("Cast", e.names.New(t.squares+"_floats"), []string{value}, graph.IntAttr("to", int64(tensor.F32.Code())))
	rows := node("Reshape", e.names.New(t.squares+"_rows"), []string{floats, ints(t.squares+"_shape", -1, int64(k))})
	if version >= 18 {
		node("ReduceSumSquare", t.squares, []string{rows, ints(t.squares+"_axes", 0)}, graph.IntAttr("keepdims", 0))
	} else {
		node("ReduceSumSquare", t.squares, []string{rows}, graph.IntsAttr("axes", 0), graph.IntAttr("keepdims", 0))
	}
	if t.products != "" {
		turned := node("Transpose", e.names.New(t.products+"_turned"), []string{rows}, graph.IntsAttr("perm", 1, 0))
		node("MatMul", t.products, []string{turned, rows})
	}
	node("Size", t.size, []string{value})
	return nodes, added
}

// each runs a model on all inputs.
func each(ctx context.Context, m *graph.Model, runs Runs, o nacre.Options, took func(outputs map[string]*nacre.Tensor) error) (err error) {
	copied := *m
	copied.Closer = nil // the caller closes it
	model, err := nacre.NewModel(&copied)
	if err != nil {
		return err
	}
	session, err := model.NewSessionContext(ctx, o)
	if err != nil {
		return err
	}
	defer session.Close()
	run := session.Run
	reset := func() {}
	if len(m.States) > 0 {
		stream, err := session.NewStream(ctx, nacre.StreamOptions{})
		if err != nil {
			return err
		}
		defer stream.Close()
		run, reset = stream.Run, stream.Reset
	}
	for inputs, err := range runs {
		if err != nil {
			return err
		}
		reset()
		outputs, err := run(ctx, inputs)
		if err != nil {
			return err
		}
		if err := took(outputs); err != nil {
			return err
		}
	}
	return nil
}

// Divergence is the distance between the outputs of two networks.
type Divergence struct {
	Output string  `json:"output"`
	Rows   int     `json:"rows"`
	KL     float64 `json:"kl"`    // mean over rows, in nats
	Most   float64 `json:"most"`  // of a row
	Same   float64 `json:"same"`  // share of rows whose greatest element is the same
	Error  float64 `json:"error"` // relative, of all elements
}

// Compare runs two networks on the same inputs, and compares the first output of floats that is no
// state. Rows, along the last axis, are logits: KL is the divergence of their probabilities.
func Compare(ctx context.Context, reference, network *graph.Model, runs Runs, o nacre.Options) (d *Divergence, err error) {
	defer guard.At(network.File).End(&err)
	d = &Divergence{}
	for _, v := range reference.Graph.Outputs {
		state := slices.ContainsFunc(reference.States, func(s graph.State) bool { return s.Output == v.Name })
		if !state && v.Type.DType.IsFloat() {
			d.Output = v.Name
			break
		}
	}
	if d.Output == "" {
		return nil, graph.Errorf(graph.ErrUnsupported, "%s has no output of floats to compare", reference.File)
	}
	next, stop := iter.Pull2(outputsOf(ctx, network, runs, o, d.Output))
	defer stop()
	var s sums
	for want, err := range outputsOf(ctx, reference, runs, o, d.Output) {
		if err != nil {
			return nil, err
		}
		got, err, ok := next()
		if err != nil {
			return nil, err
		}
		if !ok || len(got.list) != len(want.list) {
			return nil, graph.Errorf(graph.ErrShape, "output %q has %d elements, and %d in the original", d.Output, len(got.list), len(want.list))
		}
		s.add(want.list, got.list, nil)
		for at := 0; at+want.row <= len(want.list) && want.row > 0; at += want.row {
			a, b := want.list[at:at+want.row], got.list[at:at+want.row]
			kl := divergence(a, b)
			d.Rows++
			d.KL += kl
			d.Most = max(d.Most, kl)
			if greatest(a) == greatest(b) {
				d.Same++
			}
		}
	}
	d.Error = s.error()
	if d.Rows > 0 {
		d.KL /= float64(d.Rows)
		d.Same /= float64(d.Rows)
	}
	return d, nil
}

// logits are the elements of an output and the length of its rows.
type logits struct {
	list []float32
	row  int
}

// outputsOf returns the elements of one output of each run.
func outputsOf(ctx context.Context, m *graph.Model, runs Runs, o nacre.Options, name string) iter.Seq2[logits, error] {
	return func(yield func(logits, error) bool) {
		stopped := fmt.Errorf("stopped")
		err := each(ctx, m, runs, o, func(outputs map[string]*nacre.Tensor) error {
			y := outputs[name]
			if y == nil {
				return graph.Errorf(graph.ErrUnsupported, "%s has no output %q", m.File, name)
			}
			x := logits{row: 1}
			if shape := y.Shape(); len(shape) > 0 {
				x.row = shape[len(shape)-1]
			}
			list, err := nacre.Float32s(y)
			if err != nil {
				return err
			}
			if x.list = slices.Clone(list); !yield(x, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && err != stopped {
			yield(logits{}, err)
		}
	}
}

// divergence returns the Kullback-Leibler divergence of the probabilities of logits b from the
// probabilities of logits a.
func divergence(a, b []float32) (kl float64) {
	sum := func(x []float32) float64 {
		most, s := float64(slices.Max(x)), 0.0
		for _, v := range x {
			s += math.Exp(float64(v) - most)
		}
		return most + math.Log(s)
	}
	ta, tb := sum(a), sum(b)
	for i, v := range a {
		p := float64(v) - ta
		if share := math.Exp(p); share > 0 { // masked logits are -Inf
			kl += share * (p - float64(b[i]) + tb)
		}
	}
	return max(kl, 0)
}

// greatest returns the place of the greatest element.
func greatest(x []float32) (at int) {
	for i, v := range x {
		if v > x[at] {
			at = i
		}
	}
	return at
}

// Model returns the importance as a file of GGUF holds it.
func (p *Importance) Model() *graph.Model {
	m := &graph.Model{Format: "gguf", Container: 3, Graph: &graph.Graph{}}
	word := func(key string, v int) {
		t := tensor.New(tensor.U32)
		tensor.View[uint32](t)[0] = uint32(v)
		m.Meta = append(m.Meta, graph.Pair{Key: key, Kind: "u32", Data: t})
	}
	m.Meta = append(m.Meta, graph.Pair{Key: "general.type", Kind: "string", Value: "imatrix"})
	if list, err := tensor.FromStrings(p.Datasets, len(p.Datasets)); err == nil {
		m.Meta = append(m.Meta, graph.Pair{Key: "imatrix.datasets", Kind: "array of string", Data: list})
	}
	word("imatrix.chunk_count", p.Chunks)
	word("imatrix.chunk_size", p.ChunkSize)
	var names []string
	for name := range p.Columns {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		n := p.counts[name]
		if n == 0 {
			n = 1
		}
		list := p.Columns[name]
		sums, count := tensor.New(tensor.F32, 1, len(list)), tensor.New(tensor.F32, 1, 1)
		for i, v := range list {
			tensor.View[float32](sums)[i] = v * n
		}
		tensor.View[float32](count)[0] = n
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name + ".in_sum2", Tensor: sums},
			&graph.Initializer{Name: name + ".counts", Tensor: count})
	}
	return m
}
