package nacre_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestProto writes values of all kinds and reads them back.
func TestProto(t *testing.T) {
	words, err := nacre.Strings([]string{"a", "b"}, 2)
	testenv.Need(t, err)
	half, err := nacre.Zeros(nacre.Float16, 2, 0, 3)
	testenv.Need(t, err)
	four, err := nacre.FromBytes(nacre.Int4, []byte{0x21, 0x03}, 3)
	testenv.Need(t, err)
	tensorKind := &nacre.Info{Kind: nacre.TensorKind}
	for _, tt := range []struct {
		value nacre.Value
		want  nacre.Info
	}{
		{vector[float32](t, 1, -2.5), nacre.Info{}},
		{nacre.Scalar(int64(7)), *tensorKind},
		{words, *tensorKind}, {half, *tensorKind}, {four, *tensorKind},
		{&nacre.Sequence{}, nacre.Info{Kind: nacre.SequenceKind, Elem: tensorKind}},
		{&nacre.Sequence{Items: []nacre.Value{words, vector(t, 1.5)}}, nacre.Info{Kind: nacre.SequenceKind, Elem: tensorKind}},
		{&nacre.Optional{}, nacre.Info{Kind: nacre.OptionalKind, Elem: tensorKind}},
		{&nacre.Optional{Item: &nacre.Sequence{Items: []nacre.Value{words}}},
			nacre.Info{Kind: nacre.OptionalKind, Elem: &nacre.Info{Kind: nacre.SequenceKind, Elem: tensorKind}}},
		{&nacre.Map{Keys: vector(t, int64(3), 4), Values: vector[float32](t, 0.5, 1)},
			nacre.Info{Kind: nacre.MapKind, Key: nacre.Int64, Elem: tensorKind}},
		{&nacre.Map{Keys: words, Values: words}, nacre.Info{Kind: nacre.MapKind, Key: nacre.String, Elem: tensorKind}},
		{&nacre.Sequence{Items: []nacre.Value{&nacre.Map{Keys: words, Values: vector(t, int64(1), 2)}}},
			nacre.Info{Kind: nacre.SequenceKind, Elem: &nacre.Info{Kind: nacre.MapKind, Key: nacre.String, Elem: tensorKind}}},
	} {
		var file bytes.Buffer
		testenv.Need(t, nacre.WriteProto(&file, "x", tt.value))
		name, got, err := nacre.ReadProto(nil, file.Bytes(), tt.want)
		if err != nil || name != "x" || shown(got) != shown(tt.value) {
			t.Errorf("%v is %q, %v; %v", tt.value, name, got, err)
		}
	}
}

// shown returns a value with all elements, as JSON and as text.
func shown(v nacre.Value) string {
	s := ""
	switch v := v.(type) {
	case *nacre.Tensor:
		data, err := v.MarshalJSON()
		s = string(data)
		if err != nil {
			s = err.Error()
		}
	case *nacre.Sequence:
		for _, item := range v.Items {
			s += shown(item) + ";"
		}
		return "sequence(" + s + ")"
	case *nacre.Optional:
		if v.Item != nil {
			s = shown(v.Item)
		}
		return "optional(" + s + ")"
	case *nacre.Map:
		return "map(" + shown(v.Keys) + shown(v.Values) + ")"
	}
	return s
}

// TestProtoSamples runs a model on stored inputs.
func TestProtoSamples(t *testing.T) {
	folder := testenv.Samples(t, "models", "mnist_mlp")
	m, err := nacre.Open(filepath.Join(folder, "model.onnx"))
	testenv.Need(t, err)
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	testenv.Need(t, err)
	defer s.Close()
	read := func(file string, want nacre.Info) *nacre.Tensor {
		data, err := os.ReadFile(filepath.Join(folder, "test_data_set_0", file))
		testenv.Need(t, err)
		_, v, err := nacre.ReadProto(formats.NewBudget(t.Context(), formats.Limits{Bytes: 1 << 20}), data, want)
		testenv.Need(t, err)
		return v.(*nacre.Tensor)
	}
	in, out := s.Inputs()[0], s.Outputs()[0]
	got, err := s.Run(t.Context(), map[string]*nacre.Tensor{in.Name: read("input_0.pb", in)})
	testenv.Need(t, err)
	a, err := nacre.Data[float32](got[out.Name])
	testenv.Need(t, err)
	b, err := nacre.Data[float32](read("output_0.pb", out))
	testenv.Need(t, err)
	for i := range a {
		if d := a[i] - b[i]; d > 1e-4 || d < -1e-4 {
			t.Errorf("output %d is %v, want %v", i, a[i], b[i])
		}
	}
}

// TestProtoRefused reads and writes what no file and no value is.
func TestProtoRefused(t *testing.T) {
	var file bytes.Buffer
	testenv.Need(t, nacre.WriteProto(&file, "x", vector(t, make([]float32, 1000)...)))
	for name, tt := range map[string]struct {
		budget *formats.Budget
		data   []byte
		want   nacre.Info
		kind   error
	}{
		"cut":    {nil, file.Bytes()[:100], nacre.Info{}, nacre.ErrFormat},
		"opaque": {nil, file.Bytes(), nacre.Info{Kind: nacre.OpaqueKind}, nacre.ErrUnsupported},
	} {
		if _, v, err := nacre.ReadProto(tt.budget, tt.data, tt.want); !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v, %v", name, v, err)
		}
	}
	for name, tt := range map[string]struct {
		value nacre.Value
		kind  error
	}{
		"nothing":         {nil, nacre.ErrShape},
		"no tensor":       {(*nacre.Tensor)(nil), nacre.ErrShape},
		"zero":            {&nacre.Tensor{}, nacre.ErrShape},
		"missing item":    {&nacre.Sequence{Items: []nacre.Value{nil}}, nacre.ErrShape},
		"map without":     {&nacre.Map{}, nacre.ErrShape},
		"a ternary digit": {zeros(t, nacre.Ternary1, 8), nacre.ErrUnsupported},
	} {
		if err := nacre.WriteProto(&file, "x", tt.value); !errors.Is(err, tt.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
