package loom

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// weighted gives a layer random weights of its dtype.
func weighted(t *testing.T, r *rand.Rand, l *Layer) *Layer {
	t.Helper()
	if l.SeqLength == 0 {
		l.SeqLength = 1
	}
	l.fill()
	n, err := l.Count()
	if err != nil {
		t.Fatal(err)
	}
	if n > 0 {
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(r.NormFloat64())
		}
		l.Weights = NewStore(l.DType, w)
	}
	return l
}

// layer returns a small layer of a type and dtype. Nested layers have the same dtype.
func layer(t *testing.T, r *rand.Rand, kind LayerType, d DType) *Layer {
	t.Helper()
	l := &Layer{Type: kind, DType: d, Activation: Activation(r.IntN(8) - 1)}
	dense := func(in, out int) *Layer {
		return weighted(t, r, &Layer{Type: Dense, DType: d, Activation: ReLU, InputHeight: in, OutputHeight: out})
	}
	switch kind {
	case MultiHeadAttention:
		l.NumHeads, l.DModel, l.SeqLength = 2, 6, 1+r.IntN(3)
	case CNN1, CNN2, CNN3, ConvTransposed1D, ConvTransposed2D, ConvTransposed3D:
		l.InputChannels, l.Filters, l.KernelSize, l.Stride, l.Padding, l.OutputPadding = 2, 3, r.IntN(3), 1, 1, 1
		l.InputHeight, l.OutputHeight = 5, 5
	case Embedding:
		l.VocabSize, l.EmbeddingDim = 7, 3
	case KMeans:
		l.NumClusters, l.InputHeight, l.KMeansTemperature, l.OutputMode = 3, 5, 1e-7, "features"
	case Softmax:
		l.SoftmaxType, l.Temperature, l.SoftmaxRows, l.SoftmaxCols, l.EntmaxAlpha, l.GumbelNoise = SoftmaxGrid, 0.3, 2, 3, 1.5, true
	case Parallel:
		l.CombineMode, l.Branches = "a<b>&c", []*Layer{dense(3, 2), dense(3, 5)}
	case Sequential:
		l.Steps = []*Layer{dense(3, 4), {Type: Residual, DType: d, SeqLength: 1}, {Type: Parallel, DType: d, SeqLength: 2, Branches: []*Layer{dense(4, 4)}}}
	case Metacognition:
		l.Observed = dense(3, 3)
		l.Rules = []Rule{{1, 1e21, 90, 0.1, 2, true}, {8, -1e-7, 1e-7, 1e21, 0, false}}
	case Residual:
		l.Disabled, l.UseTiling, l.TileSize = true, true, 4
	default:
		l.InputHeight, l.OutputHeight, l.SeqLength = 5, 3, 1+r.IntN(3)
	}
	return weighted(t, r, l)
}

// grid returns a network of layers in a row.
func grid(layers ...*Layer) *Network {
	for i, l := range layers {
		l.X = i
	}
	return &Network{Depth: 1, Rows: 1, Cols: len(layers), LayersPerCell: 1, Layers: layers}
}

func model(t *testing.T, n *Network) *graph.Model {
	t.Helper()
	m, err := n.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestIdempotent saves, loads and saves every layer type in every dtype.
func TestIdempotent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range LayerTypes() {
		for _, d := range DTypes() {
			t.Run(fmt.Sprintf("%v %v", kind, d), func(t *testing.T) {
				n := grid(layer(t, r, kind, d), layer(t, r, kind, d))
				m := model(t, n)
				text, entity := asJSON(t, m), asEntity(t, m)
				fromText, err := Read(nil, "x", text)
				if err != nil {
					t.Fatal(err)
				}
				fromEntity, err := ReadEntity(nil, "x", entity)
				if err != nil {
					t.Fatal(err)
				}
				if got := asJSON(t, fromText); !bytes.Equal(got, text) {
					t.Errorf("%s\nbecame\n%s", text, got)
				}
				if got := asEntity(t, fromEntity); !bytes.Equal(got, entity) {
					t.Errorf("%q\nbecame\n%q", entity, got)
				}
				if got := asEntity(t, fromText); !bytes.Equal(got, entity) {
					t.Errorf("JSON became\n%q, not\n%q", got, entity)
				}
				if got := asJSON(t, fromEntity); !bytes.Equal(got, text) && (kind != RMSNorm || d == Float32) {
					t.Errorf("the entity became\n%s, not\n%s", got, text)
				}
				for _, other := range []*graph.Model{fromText, fromEntity} {
					sameStores(t, other, m)
				}
			})
		}
	}
}

// sameStores compares the names and the weights of two models.
func sameStores(t *testing.T, got, want *graph.Model) {
	t.Helper()
	if len(got.Graph.Initializers) != len(want.Graph.Initializers) {
		t.Fatalf("%d stores, not %d", len(got.Graph.Initializers), len(want.Graph.Initializers))
	}
	a, b := stores(got), stores(want)
	for path, x := range b {
		w, err := x.Float32()
		if err != nil {
			t.Fatal(err)
		}
		list := make([]number, len(w))
		for i := range w {
			list[i] = number(w[i])
		}
		if w, err = a[path].Float32(); err != nil {
			t.Fatal(err)
		}
		equal(t, path, w, list)
	}
}

func stores(m *graph.Model) map[string]*Blob {
	list := map[string]*Blob{}
	m.Source.(*Network).Walk(func(path string, l *Layer) {
		if l.Weights != nil {
			list[path] = l.Weights
		}
	})
	return list
}

// TestTensors compares the codes in tensors, times their scale, with the restored weights.
func TestTensors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range DTypes() {
		for n := range 20 {
			if n == 0 {
				continue
			}
			w := make([]float32, n)
			for i := range w {
				w[i] = float32(r.NormFloat64())
			}
			b := NewStore(d, w)
			list, err := b.initializers("w")
			if err != nil {
				t.Fatal(d, err)
			}
			init := list[0]
			if init.Stored.DType != d.String() || init.Tensor.Len() != n {
				t.Fatalf("%v: %v, %+v", d, init.Tensor, init.Stored)
			}
			if init.Stored.Bytes == nil && !bytes.Equal(init.Tensor.Bytes(), b.Data) {
				t.Fatalf("%v: the tensor is not as stored", d)
			}
			want, err := b.Float32()
			if err != nil {
				t.Fatal(err)
			}
			if init.Tensor.DType() == tensor.F32 {
				got, _ := tensor.Data[float32](init.Tensor.Aligned())
				for i := range got {
					if !same4(got[i], want[i]) {
						t.Fatalf("%v: %v, not %v", d, got, want)
					}
				}
				continue
			}
			layout := init.Tensor.DType().Layout()
			if f := packed.Float8Of(init.Tensor.DType().String()); f != nil {
				for i, c := range init.Tensor.Bytes() {
					if got := f.Float32(c) * b.Scale; got != want[i] {
						t.Fatalf("%v of %d: element %d is %g, not %g", d, n, i, got, want[i])
					}
				}
			}
			if layout == nil {
				continue
			}
			at, scale := tensor.Numbers(init.Tensor), sure(scaleOf(init))
			for i := range want {
				if got := float32(at(i)) * scale; got != want[i] {
					t.Fatalf("%v of %d: element %d is %g, not %g", d, n, i, got, want[i])
				}
			}
			if tail := init.Tensor.Bytes(); layout.Bits*n%8 != 0 && tail[len(tail)-1]>>(layout.Bits*n%8) != 0 {
				t.Errorf("%v of %d: the last byte does not end in zeros", d, n)
			}
		}
	}
	least, err := Ternary.tensor([]byte{0b10_01_00_11}, 1, tensor.Shape{4})
	if err != nil || least.DType() != tensor.I2 || tensor.I2.Layout().At(least.Bytes(), 0) != -2 {
		t.Errorf("a ternary code of -2 is %v, %v", least, err)
	}
}

// TestOddCodes checks that floats stay codes of a standard type if it has the same numbers, or
// twice the numbers of fp4.
func TestOddCodes(t *testing.T) {
	for d, codes := range map[DType]map[byte]tensor.DType{
		FP8E4M3: {0x00: tensor.F8E4M3FN, 0x80: tensor.F8E4M3FN, 0x08: tensor.F8E4M3FN, 0xfe: tensor.F8E4M3FN, 0x01: tensor.F32, 0x87: tensor.F32, 0x7f: tensor.F32, 0xff: tensor.F32},
		FP8E5M2: {0x00: tensor.F8E5M2, 0x80: tensor.F8E5M2, 0x04: tensor.F8E5M2, 0xfb: tensor.F8E5M2, 0x7c: tensor.F8E5M2, 0x7e: tensor.F8E5M2, 0x02: tensor.F32, 0x81: tensor.F32, 0xfc: tensor.F32},
		FP4: {0x22: tensor.F4E2M1, 0x00: tensor.F4E2M1, 0x88: tensor.F4E2M1, 0x15: tensor.F4E2M1, 0x9c: tensor.F4E2M1, 0xdb: tensor.F4E2M1, 0x34: tensor.F4E2M1,
			0x61: tensor.F32, 0x17: tensor.F32, 0xe0: tensor.F32, 0x0f: tensor.F32},
	} {
		for c, want := range codes {
			data := bytes.Repeat([]byte{c}, d.Bytes(4))
			list, err := (&Blob{DType: d, Scale: 0.5, Native: true, Data: data, Shape: tensor.Shape{4}}).initializers("w")
			if err != nil || list[0].Tensor.DType() != want {
				t.Errorf("%v with %#x: %v, %v; not %v", d, c, list, err, want)
				continue
			}
			b := &Blob{DType: d, Scale: 2, Native: true, Data: make([]byte, len(data)), Shape: tensor.Shape{4}}
			back, err := b.from(list[0], nil)
			numbers := sure(back.Float32())
			if same := sure(Restore(d, data, 0.5, 4)); err != nil || !same4(numbers[0], same[0]) || want != tensor.F32 && (back.Scale != 0.5 || !bytes.Equal(back.Data, data)) {
				t.Errorf("%v with %#x: %+v, %v", d, c, back, err)
			}
		}
	}
	odd, err := tensor.FromBytes(tensor.F8E4M3FN, tensor.Shape{1}, []byte{0x7f})
	if err != nil {
		t.Fatal(err)
	}
	b := &Blob{DType: FP8E4M3, Scale: 1, Native: true, Data: []byte{0}, Shape: tensor.Shape{1}}
	if _, err := b.from(&graph.Initializer{Name: "w", Tensor: odd}, nil); err == nil || !strings.Contains(err.Error(), "other numbers") {
		t.Errorf("a code of another number: %v", err)
	}
}

func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestSelected(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := grid(layer(t, r, Dense, Int8), layer(t, r, Parallel, Int4), layer(t, r, RNN, Float32))
	data := asEntity(t, model(t, n))
	for _, c := range []struct {
		layers []int
		want   []string
	}{
		{nil, nil}, {[]int{0}, []string{"layers.0"}}, {[]int{2}, []string{"layers.2"}},
		{[]int{1}, []string{"layers.1.parallel_branches.0", "layers.1.parallel_branches.1"}},
	} {
		m, err := ReadEntityLayers(nil, "x", data, c.layers)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, init := range m.Graph.Initializers {
			names = append(names, init.Name)
			off := init.Stored.Offset
			if b := stores(m)[init.Name]; !bytes.Equal(data[off:off+int64(len(b.Data))], b.Data) {
				t.Errorf("%s does not lie at %d", init.Name, off)
			}
		}
		if fmt.Sprint(names) != fmt.Sprint(c.want) || len(m.Graph.Values)+len(names) != 4 {
			t.Errorf("of %v there are %v, and %d are declared", c.layers, names, len(m.Graph.Values))
		}
		if err := WriteEntity(new(bytes.Buffer), m, container.Options{}); err == nil || !strings.Contains(err.Error(), "without the weights") {
			t.Errorf("written: %v", err)
		}
	}
}

func TestRefused(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	other := &graph.Model{Format: "onnx", Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 2)}}}}
	inf := grid(layer(t, r, Dense, Int8))
	inf.Layers[0].Temperature = 1 / (inf.Layers[0].Temperature - inf.Layers[0].Temperature)
	outside := grid(layer(t, r, Dense, Int8))
	outside.Layers[0].Z = 7
	short := grid(layer(t, r, Dense, Int8))
	shortModel := model(t, short)
	short.Layers[0].OutputHeight = 1000
	spec := &Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: 1, Spec: true, Layers: []*Layer{{Mask: []bool{true}}}}
	cases := []struct {
		name         string
		m            *graph.Model
		o            container.Options
		json, entity string
	}{
		{"no network", other, container.Options{}, "a network of layers", "a network of layers"},
		{"infinity", model(t, inf), container.Options{}, "temperature", "temperature"},
		{"outside", model(t, outside), container.Options{}, "outside the grid", "outside the grid"},
		{"too few", shortModel, container.Options{}, "do not fit", "do not fit"},
		{"spec", model(t, spec), container.Options{}, "", "spec of an architecture"},
		{"dtype", model(t, grid(layer(t, r, Dense, Float32))), container.Options{DType: tensor.F8E5M2}, "cannot become float8e5m2", "cannot become float8e5m2"},
		{"fine", model(t, grid(layer(t, r, Dense, Float32))), container.Options{}, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			for want, err := range map[string]error{c.json + " ": Write(&b, c.m, c.o), c.entity: WriteEntity(&b, c.m, c.o)} {
				want = strings.TrimSpace(want)
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, graph.ErrUnsupported)) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
			if c.json != "" && b.Len() > 0 {
				t.Errorf("%d bytes were written", b.Len())
			}
		})
	}
}

func TestProbe(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "  ": false, "{": false, "[]": false, "{}": false, "hello": false, `{"a`: false, `{"layers`: false,
		`{"layers":[]}`: true, " \n{\"Layers_Per_Cell\": 1": true, `{"id": {"x": [1, "]"]}, "layers": 7`: true,
		`{"weight_map": {}, "layers": []}`: false, `{"config": {"layers": 3}}`: false, "ENTITY\x00\x00": false,
	} {
		if got := Probe([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for text, want := range map[string]bool{"": false, "ENTITY": false, "ENTITY\x00\x00": true, "ENTITY\x00\x01": false} {
		if got := ProbeEntity([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestNames(t *testing.T) {
	for _, d := range DTypes() {
		for _, name := range append([]string{d.String(), strings.ToUpper(d.String())}, dtypes[d].aliases...) {
			if got, ok := ParseDType(name); got != d || !ok {
				t.Errorf("%s is %v", name, got)
			}
		}
	}
	if d, ok := ParseDType("quux"); d != Float32 || ok {
		t.Errorf("an unknown dtype is %v, %v", d, ok)
	}
	for _, k := range LayerTypes() {
		if ParseLayerType(strings.ToLower(k.String())) != k {
			t.Errorf("%v is %v", k, ParseLayerType(strings.ToLower(k.String())))
		}
	}
	for name, want := range map[string]LayerType{"mha": MultiHeadAttention, "Attention": MultiHeadAttention, "meta": Metacognition, "GRU": Dense, "": Dense} {
		if ParseLayerType(name) != want {
			t.Errorf("%s is %v", name, ParseLayerType(name))
		}
	}
	for a := Linear; a < activationEnd; a++ {
		if ParseActivation(strings.ToUpper(a.String())) != a {
			t.Errorf("%v is %v", a, ParseActivation(a.String()))
		}
	}
	for name, want := range map[string]Activation{"leaky_relu": LeakyReLU, "6": ReLU2, "swishy": Linear} {
		if ParseActivation(name) != want {
			t.Errorf("%s is %v", name, ParseActivation(name))
		}
	}
	for k := range softmaxTypeCount {
		if ParseSoftmaxType(k.String()) != k {
			t.Errorf("%v is %v", k, ParseSoftmaxType(k.String()))
		}
	}
	if ParseSoftmaxType("grid") != SoftmaxStandard {
		t.Error("variants of Softmax are spelt exactly")
	}
}

func TestFloat(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 1: "1", -0.5: "-0.5", 1e-6: "0.000001", 9e-7: "9e-7", 1e-10: "1e-10", 1e20: "100000000000000000000", 1e21: "1e+21", 1.5e300: "1.5e+300"} {
		if got := float(f, 64); got != want {
			t.Errorf("%g is written %s, not %s", f, got, want)
		}
	}
	if got := float(float64(float32(0.0033323257)), 32); got != "0.0033323257" {
		t.Error(got)
	}
}

// TestConverted converts every float type to every other.
func TestConverted(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for to := Float64; to <= BFloat16; to++ {
		for from := Float64; from <= BFloat16; from++ {
			n := grid(layer(t, r, Parallel, from), layer(t, r, Dense, Int8), layer(t, r, Metacognition, from), layer(t, r, RMSNorm, from))
			m := model(t, n)
			before := asEntity(t, m)
			o := container.Options{DType: dtypes[to].codes}
			var text, entity bytes.Buffer
			if err := errors.Join(Write(&text, m, o), WriteEntity(&entity, m, o)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(asEntity(t, m), before) {
				t.Error("the model changed")
			}
			for _, data := range [][]byte{text.Bytes(), entity.Bytes()} {
				again, err := file("x", data)
				if err != nil {
					t.Fatal(err)
				}
				old := stores(m)
				for path, b := range stores(again) {
					want := to
					switch {
					case path == "layers.1":
						want = Int8
					case path == "layers.3" && again.Format == EntityName:
						want = Float32
					}
					if b.DType != want {
						t.Errorf("%v to %v: %s is %v", from, to, path, b.DType)
					}
					x, _ := old[path].Float32()
					y, _ := b.Float32()
					for i := range x {
						if d := x[i] - y[i]; d > 0.02 || d < -0.02 {
							t.Fatalf("%v to %v: %s: %g became %g", from, to, path, x[i], y[i])
						}
					}
				}
			}
		}
	}
}

func TestScan(t *testing.T) {
	for text, want := range map[string][]string{
		`{}`: nil, `[ ]`: nil, `{"a":1}`: {"a=1"}, ` { "a" : [1, {"b":"]"}] , "c\"d" : "x\\" , "e":null}`: {`a=[1, {"b":"]"}]`, `c"d="x\\"`, "e=null"},
		`["\\\"", "\"", -1e5, true]`: {`="\\\""`, `="\""`, "=-1e5", "=true"}, `[[],[[]],{"x":{}}]`: {"=[]", "=[[]]", `={"x":{}}`},
	} {
		v, _, err := parse(nil, []byte(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		v.each(func(key string, m value) bool {
			got = append(got, key+"="+string(m.text))
			if text[m.off:m.off+len(m.text)] != string(m.text) {
				t.Errorf("%s: %s does not lie at %d", text, m.text, m.off)
			}
			return true
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s holds %v, want %v", text, got, want)
		}
		for n := range text { // a text that ends early must not break the walk
			v := value{text: []byte(text)[:n:n]}
			v.each(func(string, value) bool { return true })
		}
	}
}
