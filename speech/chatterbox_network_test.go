package speech

import (
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
)

// TestFoundPorts finds inputs and outputs by name and, of other names, by type and order.
func TestFoundPorts(t *testing.T) {
	value := func(name string, d nacre.DType, rank int) nacre.Info {
		return nacre.Info{Name: name, Kind: nacre.TensorKind, DType: d, Shape: make([]nacre.Dim, rank)}
	}
	ports := []port{{"speech_tokens", true, 2}, {"speaker_embeddings", false, 2}, {"speaker_features", false, 3}}
	for _, tt := range []struct {
		name          string
		list          []nacre.Info
		found, others []string
		err           string
	}{
		{"names in another order", []nacre.Info{value("speaker_features", nacre.Float32, 3), value("exaggeration", nacre.Float32, 1),
			value("speech_tokens", nacre.Int64, 2), value("speaker_embeddings", nacre.Float16, 2)},
			[]string{"speech_tokens", "speaker_embeddings", "speaker_features"}, []string{"exaggeration"}, ""},
		{"other names", []nacre.Info{value("a", nacre.Float32, 3), value("b", nacre.Int32, 2), value("c", nacre.Float32, 2)},
			[]string{"b", "c", "a"}, nil, ""},
		{"one name", []nacre.Info{value("x", nacre.Float32, 2), value("speaker_embeddings", nacre.Float32, 2), value("y", nacre.Float32, 3),
			value("z", nacre.Int64, 2)}, []string{"z", "speaker_embeddings", "y"}, []string{"x"}, ""},
		{"an open number of axes", []nacre.Info{value("b", nacre.Int64, 2), {Name: "c", Kind: nacre.TensorKind, DType: nacre.Float32},
			value("a", nacre.Float32, 3)}, []string{"b", "c", "a"}, nil, ""},
		{"axes", []nacre.Info{value("speech_tokens", nacre.Int64, 3)}, nil, nil,
			"speech_tokens, integers with 2 axes: it has speech_tokens int64"},
		{"missing", []nacre.Info{value("speech_tokens", nacre.Int64, 2), value("speaker_embeddings", nacre.Float32, 2)}, nil, nil,
			"speaker_features, floats with 3 axes: it has speech_tokens"},
		{"nothing", nil, nil, nil, "speech_tokens, integers with 2 axes: it has none"},
	} {
		values, others, err := found(tt.list, ports)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: the error is %v, want %q", tt.name, err, tt.err)
			}
			continue
		}
		if got := infoNames(values); err != nil || !slices.Equal(got, tt.found) || !slices.Equal(infoNames(others), tt.others) {
			t.Errorf("%s: found %v beside %v, %v; want %v beside %v", tt.name, got, infoNames(others), err, tt.found, tt.others)
		}
	}
}

func infoNames(list []nacre.Info) (names []string) {
	for _, v := range list {
		names = append(names, v.Name)
	}
	return names
}

// TestConverted converts the elements of tensors to the types of inputs.
func TestConverted(t *testing.T) {
	floats, err := nacre.NewTensor([]float32{1, -0.5}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := nacre.NewTensor([]int64{7, 6562}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		t    *nacre.Tensor
		to   nacre.DType
		want any
	}{
		{floats, nacre.Float32, []float32{1, -0.5}},
		{floats, nacre.Float16, []packed.F16{packed.ToF16(1), packed.ToF16(-0.5)}},
		{floats, nacre.BFloat16, []packed.BF16{packed.ToBF16(1), packed.ToBF16(-0.5)}},
		{floats, nacre.Float64, []float64{1, -0.5}},
		{ids, nacre.Int32, []int32{7, 6562}},
		{ids, nacre.Int64, []int64{7, 6562}},
	} {
		got, err := converted(tt.t, tt.to)
		if err != nil {
			t.Fatal(err)
		}
		var same bool
		switch want := tt.want.(type) {
		case []float32:
			same = holds(got, want)
		case []packed.F16:
			same = holds(got, want)
		case []packed.BF16:
			same = holds(got, want)
		case []float64:
			same = holds(got, want)
		case []int32:
			same = holds(got, want)
		case []int64:
			same = holds(got, want)
		}
		if !same || !slices.Equal(got.Shape(), []int{1, 2}) {
			t.Errorf("%v as %v is %v, want %v", tt.t, tt.to, got, tt.want)
		}
	}
	if _, err := converted(ids, nacre.Float32); err == nil {
		t.Error("integers were made floats")
	}
}

func holds[T interface {
	nacre.Element
	comparable
}](t *nacre.Tensor, want []T) bool {
	got, err := nacre.Data[T](t)
	return err == nil && slices.Equal(got, want)
}
