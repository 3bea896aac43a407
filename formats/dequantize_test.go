package formats_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// carried saves a model in format from, loads it, saves it in format to with the options, and
// returns the model of the second file.
func carried(t *testing.T, m *graph.Model, from, to string, o formats.Options) (*graph.Model, error) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := formats.SaveAs(in, from, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	read, err := formats.Load(in)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if err := formats.SaveAs(out, to, read, o); err != nil {
		return nil, err
	}
	again, err := formats.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { again.Close() })
	return again, nil
}

// elements checks the type and the elements of a tensor of a model.
func elements(t *testing.T, m *graph.Model, name string, d tensor.DType, want []float64) {
	t.Helper()
	i := slices.IndexFunc(m.Graph.Initializers, func(init *graph.Initializer) bool { return init.Name == name })
	if i < 0 {
		t.Fatalf("no tensor %q", name)
	}
	x := m.Graph.Initializers[i].Tensor
	if x.DType() != d || x.Len() != len(want) {
		t.Fatalf("%s: %v, want %d of %v", name, x, len(want), d)
	}
	at := tensor.Numbers(x)
	for i, v := range want {
		if at(i) != v {
			t.Errorf("%s: element %d is %v, want %v", name, i, at(i), v)
		}
	}
}

// TestDequantizeLoom dequantizes a layer of 2 by 3 weights from codes of every kind.
func TestDequantizeLoom(t *testing.T) {
	for _, c := range []struct {
		d     loom.DType
		codes []byte
		want  []float64
	}{
		{loom.Int8, []byte{1, 0xfe, 127, 0x80, 0, 0xff}, []float64{.5, -1, 63.5, -64, 0, -.5}},
		{loom.Uint8, []byte{1, 254, 127, 128, 0, 255}, []float64{.5, 127, 63.5, 64, 0, 127.5}},
		{loom.Int4, []byte{0x1f, 0x78, 0x09}, []float64{.5, -.5, 3.5, -4, 0, -3.5}},
		{loom.Uint4, []byte{0x1f, 0x78, 0x09}, []float64{.5, 7.5, 3.5, 4, 0, 4.5}},
		{loom.Int2, []byte{0b00_01_10_11, 0b11_01_00_00}, []float64{0, .5, -1, -.5, -.5, .5}},
		{loom.Uint2, []byte{0b00_01_10_11, 0b11_01_00_00}, []float64{0, .5, 1, 1.5, 1.5, .5}},
		{loom.Ternary, []byte{0b00_01_11_11, 0b00_01_00_00}, []float64{0, .5, -.5, -.5, 0, .5}},
		{loom.Binary, []byte{0b10110100}, []float64{.5, -.5, .5, .5, -.5, .5}},
		{loom.Int16, []byte{1, 0, 0xff, 0xff, 0, 1, 2, 0, 3, 0, 4, 0}, []float64{.5, -.5, 128, 1, 1.5, 2}},
		{loom.FP4, []byte{0x12, 0x34, 0x59}, []float64{.375, .5, .75, 1, 1.5, -.375}},
	} {
		t.Run(c.d.String(), func(t *testing.T) {
			n := &loom.Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: 1, Layers: []*loom.Layer{{
				Type: loom.Dense, Activation: loom.Linear, DType: c.d, InputHeight: 3, OutputHeight: 2, SeqLength: 1,
				Weights: &loom.Blob{DType: c.d, Scale: .5, Native: true, Data: c.codes, Shape: tensor.Shape{6}},
			}}}
			m, err := n.Model()
			if err != nil {
				t.Fatal(err)
			}
			const name = "layers.0"
			for _, from := range []string{loom.Name, loom.EntityName} {
				if _, err := carried(t, m, from, "hnw", formats.Options{DType: tensor.F32}); err == nil {
					t.Error("codes were written without their scale")
				}
				out, err := carried(t, m, from, "safetensors", formats.Options{Dequantize: true})
				if err != nil {
					t.Fatal(err)
				}
				elements(t, out, name, tensor.F32, c.want)
				out, err = carried(t, m, from, "safetensors", formats.Options{Dequantize: true, DType: tensor.F16})
				if err != nil {
					t.Fatal(err)
				}
				elements(t, out, name, tensor.F16, c.want)
				if len(out.Graph.Initializers) != 1 {
					t.Errorf("%d tensors", len(out.Graph.Initializers))
				}
				out, err = carried(t, m, from, loom.EntityName, formats.Options{Dequantize: true})
				if err != nil {
					t.Fatal(err)
				}
				elements(t, out, name, tensor.F32, c.want)
			}
		})
	}
}

// TestDequantizeBundles compares dequantized sample bundles with the numbers of their blobs.
func TestDequantizeBundles(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "loom"), "transformer", "*.entity"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no bundles: %v", err)
	}
	packed := 0
	for _, path := range paths {
		m, err := formats.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		n := m.Source.(*loom.Network)
		out := filepath.Join(t.TempDir(), "out.safetensors")
		if err := formats.Save(out, m, formats.Options{Dequantize: true}); err != nil {
			t.Fatal(err)
		}
		plain, err := formats.Load(out)
		if err != nil {
			t.Fatal(err)
		}
		blocks := 0
		n.Walk(func(path string, l *loom.Layer) {
			for _, b := range l.Extra {
				w, err := b.Float32()
				if err != nil || b.Kind == "" {
					continue
				}
				blocks++
				want := make([]float64, len(w))
				for i, v := range w {
					want[i] = float64(v)
				}
				elements(t, plain, path+"."+b.Name, tensor.F32, want)
			}
		})
		for _, init := range plain.Graph.Initializers {
			if strings.HasSuffix(init.Name, ".scales") {
				t.Errorf("%s: %s is left", path, init.Name)
			}
		}
		packed += blocks
		if n.Transformer != nil {
			out := filepath.Join(t.TempDir(), "out.entity")
			err := formats.Save(out, m, formats.Options{Dequantize: true})
			if blocks > 0 && !errors.Is(err, graph.ErrUnsupported) || blocks == 0 && err != nil {
				t.Errorf("%s: %v", path, err)
			}
			if err == nil {
				same(t, path, load(t, out), plain)
			}
		}
		if err := errors.Join(m.Close(), plain.Close()); err != nil {
			t.Error(err)
		}
	}
	if packed == 0 {
		t.Error("no bundle has packed matrices")
	}
}

// quantised returns the metadata of a quantised tensor of OINF. If axis is empty, the whole tensor
// has one scale.
func quantised(t *testing.T, axis string, scales []float32, zeros []int32) []graph.Pair {
	t.Helper()
	mode, scheme, zeroMode, zeroAxis := "per_tensor", "symmetric", "none", "0"
	if axis != "" {
		mode = "per_channel"
	} else {
		axis = "0"
	}
	if zeros != nil {
		scheme, zeroMode, zeroAxis = "asymmetric", mode, axis
	}
	s, err := tensor.From(scales, len(scales))
	if err != nil {
		t.Fatal(err)
	}
	z, err := tensor.From(zeros, len(zeros))
	if err != nil {
		t.Fatal(err)
	}
	return []graph.Pair{
		{Key: "quant.scheme", Value: scheme}, {Key: "quant.scale", Kind: mode, Data: s}, {Key: "quant.scale_axis", Value: axis},
		{Key: "quant.zero_point", Kind: zeroMode, Data: z}, {Key: "quant.zero_point_axis", Value: zeroAxis},
	}
}

func TestDequantizeOINF(t *testing.T) {
	of := func(d tensor.DType, shape tensor.Shape, data ...byte) *tensor.Tensor {
		x, err := tensor.FromBytes(d, shape, data)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	m := &graph.Model{Format: "oinf", Container: 2, Graph: &graph.Graph{
		Initializers: []*graph.Initializer{
			{Name: "i8", Tensor: of(tensor.I8, tensor.Shape{2, 2}, 1, 0xff, 0x80, 127), Meta: quantised(t, "", []float32{.5}, nil)},
			{Name: "u8", Tensor: of(tensor.U8, tensor.Shape{2, 2}, 1, 0xff, 0x80, 127), Meta: quantised(t, "", []float32{.25}, []int32{128})},
			{Name: "columns", Tensor: of(tensor.I8, tensor.Shape{2, 3}, 1, 2, 3, 4, 5, 6), Meta: quantised(t, "1", []float32{1, .5, 2}, []int32{0, 2, -1})},
			{Name: "rows", Tensor: of(tensor.I8, tensor.Shape{2, 3}, 1, 2, 3, 4, 5, 6), Meta: quantised(t, "0", []float32{1, .5}, nil)},
			{Name: "i4", Tensor: of(tensor.I4, tensor.Shape{4}, 0xf1, 0x78), Meta: quantised(t, "", []float32{.5}, nil)},
			{Name: "t1", Tensor: of(tensor.T1, tensor.Shape{4}, 0b0101), Meta: quantised(t, "", []float32{3}, nil)},
			{Name: "plain", Tensor: of(tensor.I8, tensor.Shape{2}, 1, 0xff)},
		},
		Values: []*graph.Value{{Name: "void", Type: graph.TensorOf(tensor.I8, graph.Dims{graph.Known(2)}), Meta: quantised(t, "0", []float32{1, 2}, nil)}},
	}}
	for _, to := range []string{"oinf", "onnx", "safetensors"} {
		out, err := carried(t, m, "oinf", to, formats.Options{Dequantize: true, DropMeta: to != "oinf"})
		if err != nil {
			t.Fatal(err)
		}
		elements(t, out, "i8", tensor.F32, []float64{.5, -.5, -64, 63.5})
		elements(t, out, "u8", tensor.F32, []float64{-31.75, 31.75, 0, -.25})
		elements(t, out, "columns", tensor.F32, []float64{1, 0, 8, 4, 1.5, 14})
		elements(t, out, "rows", tensor.F32, []float64{1, 2, 3, 2, 2.5, 3})
		elements(t, out, "i4", tensor.F32, []float64{.5, -.5, -4, 3.5})
		elements(t, out, "t1", tensor.F32, []float64{3, -3, 3, -3})
		elements(t, out, "plain", tensor.I8, []float64{1, -1})
		for _, init := range out.Graph.Initializers {
			if len(init.Meta) > 0 {
				t.Errorf("%s keeps %v", init.Name, init.Meta)
			}
		}
		if to == "oinf" && (len(out.Graph.Values) != 1 || out.Graph.Values[0].Type.DType != tensor.F32 || len(out.Graph.Values[0].Meta) > 0) {
			t.Errorf("declared %v", out.Graph.Values)
		}
	}
}
