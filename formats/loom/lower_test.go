package loom_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// opened writes a network to a file and opens it.
func opened(t *testing.T, n *loom.Network) *nacre.Model {
	t.Helper()
	testenv.Need(t, bindings.Available())
	m, err := n.Model()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := loom.WriteEntity(&b, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	out, err := nacre.Decode("x.entity", b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out
}

// ran returns the outputs of one run, of a stream if the model has states.
func ran(m *nacre.Model, o nacre.Options, inputs map[string]*nacre.Tensor) (map[string]*nacre.Tensor, error) {
	s, err := m.NewSession(o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if len(m.States()) == 0 {
		return s.Run(context.Background(), inputs)
	}
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Run(context.Background(), inputs)
}

// numbersOf returns n numbers around 0.
func numbersOf(r *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(r.NormFloat64())
	}
	return list
}

// weighted gives a layer random weights.
func weighted(t *testing.T, r *rand.Rand, l *loom.Layer) *loom.Layer {
	t.Helper()
	l.DType = loom.Float32
	n, err := l.Count()
	if err != nil {
		t.Fatal(err)
	}
	l.Weights = loom.NewStore(loom.Float32, numbersOf(r, n))
	return l
}

// gridOf returns a network of layers one after the other.
func gridOf(layers ...*loom.Layer) *loom.Network {
	for i, l := range layers {
		l.L = i
	}
	return &loom.Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: len(layers), Layers: layers}
}

// TestItems checks that every row and item is computed by itself. Loom computes fewer, or all as
// one.
func TestItems(t *testing.T) {
	norm := &loom.Layer{Type: loom.RMSNorm, DType: loom.Float32, InputHeight: 2, OutputHeight: 2, Weights: loom.NewStore(loom.Float32, []float32{1, 1})}
	for _, c := range []struct {
		layer         *loom.Layer
		shape         []int
		x, want, odds numbers
	}{
		{norm, []int{1, 2, 2}, numbers{3, -3, 0, 5}, numbers{1, -1, 0, math.Sqrt2}, numbers{1, -1, 0, 0}},
		{&loom.Layer{Type: loom.Softmax}, []int{2, 2}, numbers{1, 1, 3, 3}, numbers{0.5, 0.5, 0.5, 0.5}, numbers{0.0596015, 0.0596015, 0.4403985, 0.4403985}},
		{&loom.Layer{Type: loom.Softmax, SoftmaxType: loom.SoftmaxSparse}, []int{2, 2}, numbers{1, 1, 1, 3}, numbers{0.5, 0.5, 0, 1}, numbers{0, 0, 0, 1}},
	} {
		m := opened(t, gridOf(c.layer))
		for quirks, want := range map[bool]numbers{false: c.want, true: c.odds} {
			in := must(nacre.NewTensor([]float32(c.x), c.shape...))
			out, err := ran(m, nacre.Options{Lowering: formats.Lowering{Quirks: quirks}}, map[string]*nacre.Tensor{"input": in})
			if err == nil {
				err = (within{1e-5, 1e-5}).compare(out["output"], &array{c.shape, want})
			}
			if err != nil {
				t.Errorf("%v, quirks %v: %v", c.layer.Type, quirks, err)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// convolved computes a convolution, or a transposed one, along one axis of two channels, as the
// format's specification defines it.
func convolved(transposed bool, x, weights []float32, in, out, kernel, stride, padding int) []float32 {
	const channels, filters = 2, 3
	y := make([]float32, filters*out)
	for f := range filters {
		for c := range channels {
			for k := range kernel {
				w := weights[(f*channels+c)*max(kernel, 1)+k]
				for i := range max(in, out) {
					from, to := i*stride+k-padding, i
					if transposed {
						from, to = i, from
					}
					if from >= 0 && from < in && to >= 0 && to < out {
						y[f*out+to] += x[c*in+from] * w
					}
				}
			}
		}
	}
	return y
}

// TestConvGeometry computes convolutions with an output extent other than their window gives, with
// stride 0, and with an empty kernel.
func TestConvGeometry(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 120 {
		l := &loom.Layer{Type: loom.CNN1, Activation: loom.Linear, InputChannels: 2, Filters: 3,
			KernelSize: r.IntN(5), Stride: r.IntN(4), Padding: r.IntN(4)}
		in, out := 1+r.IntN(6), 1+r.IntN(9)
		l.InputHeight, l.OutputHeight = in, out
		if r.IntN(2) == 0 {
			l.Type, l.InputHeight, l.OutputHeight, l.InputWidth, l.OutputWidth = loom.ConvTransposed1D, 0, 0, in, out
		}
		weighted(t, r, l)
		x := numbersOf(r, 2*in)
		want := convolved(l.Type == loom.ConvTransposed1D, x, must(l.Weights.Float32()), in, out, l.KernelSize, l.Stride, l.Padding)
		given, err := nacre.NewTensor(x, 1, 2, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ran(opened(t, gridOf(l)), nacre.Options{Threads: 1}, map[string]*nacre.Tensor{"input": given})
		if err == nil {
			err = (within{1e-5, 1e-5}).compare(got["output"], &array{[]int{1, 3, out}, want})
		}
		if err != nil {
			t.Errorf("%v of %d to %d, kernel %d, stride %d, padding %d: %v", l.Type, in, out, l.KernelSize, l.Stride, l.Padding, err)
		}
	}
}

// TestArchitectureRuns computes architectures with weights from a seed.
func TestArchitectureRuns(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for name, c := range map[string]struct {
		layers string
		count  int
		shape  []int
	}{
		"attention": {`{"type":"ATTENTION","dtype":"FP4","d_model":16,"num_heads":4,"num_kv_heads":2},{"l":1,"type":"SWIGLU","dtype":"uint4","input_height":16,"output_height":24}`, 2, []int{1, 4, 16}},
		"dense":     {`{"type":"dense","dtype":"int8","input_height":4,"output_height":6},{"l":1,"type":"layernorm","dtype":"bf16","input_height":6,"output_height":6}`, 2, []int{3, 4}},
		"cnn":       {`{"type":"CNN2","dtype":"FP16","input_height":8,"output_height":8,"input_channels":3,"filters":4,"kernel_size":3,"stride":1,"padding":1}`, 1, []int{2, 3, 8, 8}},
		"link":      {`{"type":"parallel","parallel_branches":[{"is_remote_link":true,"target_l":1}]},{"l":1,"type":"dense","input_height":3,"output_height":3}`, 2, []int{1, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := nacre.Decode("x.json", fmt.Appendf(nil, `{"depth":1,"rows":1,"cols":1,"layers_per_cell":%d,"layers":[%s]}`, c.count, c.layers))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			in := must(nacre.NewTensor(numbersOf(rand.New(rand.NewPCG(5, 6)), tensor.Shape(c.shape).Len()), c.shape...))
			var outs []string
			for _, seed := range []uint64{7, 7, 8} {
				out, err := ran(m, nacre.Options{Lowering: formats.Lowering{Seed: seed}}, map[string]*nacre.Tensor{"input": in})
				if err != nil {
					t.Fatal(err)
				}
				outs = append(outs, fmt.Sprint(must(nacre.Data[float32](out["output"]))))
			}
			if outs[0] != outs[1] || outs[0] == outs[2] {
				t.Errorf("seeds 7, 7 and 8 give\n%s\n%s\n%s", outs[0], outs[1], outs[2])
			}
		})
	}
}

// TestInitialize checks the distribution of made weights.
func TestInitialize(t *testing.T) {
	list := loom.Initialize(1, "layers.0", 10000)
	sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
	for _, v := range list {
		sum, least, most = sum+float64(v), min(least, float64(v)), max(most, float64(v))
	}
	if least < -0.1 || least > -0.0999 || most >= 0.1 || most < 0.0999 || math.Abs(sum/10000) > 0.003 {
		t.Errorf("from %g to %g, mean %g", least, most, sum/10000)
	}
	if other := loom.Initialize(1, "layers.1", 1); other[0] == list[0] {
		t.Error("two layers have the same weights")
	}
}

// TestNoGraph lowers networks that cannot run. Errors name the layer and the reason.
func TestNoGraph(t *testing.T) {
	spec := func(layers string) string {
		return `{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[` + layers + `]}`
	}
	deep := `{"type":"dense","input_height":2,"output_height":2}`
	for range 30 {
		deep = `{"type":"sequential","sequential_layers":[` + deep + `]}`
	}
	twice := strings.TrimSuffix(strings.Repeat(`{"is_remote_link":true},`, 9), ",")
	for name, c := range map[string]struct{ text, want string }{
		"cells without layers": {`{"depth":2147483647,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"dense","input_height":2,"output_height":2}]}`, "2147483647 layers"},
		"no weights":           {`{"depth":1,"rows":1,"cols":1,"layers_per_cell":1,"layers":[{"type":"Dense","softmax_type":"Standard","input_height":2,"output_height":2}]}`, "layers.0 (Dense): it has no weights"},
		"weights":              {spec(`{"type":"dense","input_height":1000000,"output_height":1000000}`), "more than 268435456 weights"},
		"itself":               {spec(`{"type":"sequential","sequential_layers":[{"is_remote_link":true}]}`), "links from layer to layer"},
		"itself often":         {spec(`{"type":"parallel","parallel_branches":[` + twice + `]}`), "links from layer to layer"},
		"beyond the grid":      {spec(`{"type":"sequential","sequential_layers":[{"is_remote_link":true,"target_z":7}]}`), "z 7"},
		"heads":                {spec(`{"type":"mha","d_model":6,"num_heads":3,"num_kv_heads":2}`), "cannot share"},
		"too little":           {spec(`{"type":"sequential","sequential_layers":[{"type":"dense","input_height":2,"output_height":2},{"type":"dense","input_height":3,"output_height":2}]}`), "it reads 3 numbers of each item, and the layer before gives 2"},
		"extents":              {spec(`{"type":"cnn2","input_height":4,"output_height":99999999999,"input_channels":1,"filters":1,"kernel_size":1,"stride":1}`), "99999999999"},
		"long combination":     {spec(`{"type":"parallel","combine_mode":"` + strings.Repeat("x", 1<<20) + `","parallel_branches":[` + deep + `]}`), `xxx..." is no combine_mode`},
		"combination":          {spec(`{"type":"parallel","combine_mode":"ADD","parallel_branches":[` + deep + `]}`), `"ADD" is no combine_mode`},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := nacre.Decode("x.json", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if _, err := m.Network(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "x.json") {
				t.Errorf("%v does not say %q", err, c.want)
			}
		})
	}
}

// TestNarrowFloats computes with floats of eight and four bits, both with codes of a standard type
// and with Loom's own codes.
func TestNarrowFloats(t *testing.T) {
	for d, both := range map[loom.DType][][]byte{
		loom.FP8E4M3: {{0x38, 0xb0, 0x42, 0}, {0x38, 0x01, 0x42, 0x83}},
		loom.FP8E5M2: {{0x38, 0xb0, 0x42, 0}, {0x38, 0x01, 0x42, 0x83}},
		loom.FP4:     {{0x1d, 0x4a}, {0x98, 0x35}},
	} {
		for _, codes := range both {
			l := &loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 2, DType: d, Activation: loom.Linear, SeqLength: 1,
				Weights: &loom.Blob{DType: d, Scale: 0.75, Native: true, Data: codes}}
			n := gridOf(l)
			must(n.Model())
			w := must(l.Weights.Float32())
			want := []float32{2*w[0] - 3*w[1], 2*w[2] - 3*w[3]}
			if got, err := computed(t, n, false, 2, -3); err != nil || !close32(got, want) {
				t.Errorf("%v with codes %x: %v, %v; not %v", d, codes, got, err, want)
			}
		}
	}
}

// TestPackedFP4 checks that fp4 weights stay four-bit when they run, and become int8 for ONNX.
func TestPackedFP4(t *testing.T) {
	m := must(gridOf(&loom.Layer{Type: loom.Dense, InputHeight: 2, OutputHeight: 3, DType: loom.FP4, Activation: loom.Linear, SeqLength: 1,
		Weights: &loom.Blob{DType: loom.FP4, Scale: 0.3, Native: true, Data: []byte{0x15, 0xdc, 0x32}}}).Model())
	for _, c := range []struct {
		o     formats.Lowering
		dtype tensor.DType
		want  []float64
	}{
		{formats.Lowering{}, tensor.F4E2M1, []float64{1.5, 6, -6, -4, 3, 2}},
		{formats.Lowering{Portable: true}, tensor.I8, []float64{3, 12, -12, -8, 6, 4}},
	} {
		n, err := formats.Network(m, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if len(n.Graph.Initializers) != 1 || n.Graph.Initializers[0].Tensor.DType() != c.dtype {
			t.Fatalf("%+v: %v, not one of %v", c.o, n.Graph.Initializers, c.dtype)
		}
		at := tensor.Numbers(n.Graph.Initializers[0].Tensor)
		for i, want := range c.want {
			if at(i) != want {
				t.Errorf("%+v: element %d is %v, not %v", c.o, i, at(i), want)
			}
		}
	}
}
