package graph

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestFindStates(t *testing.T) {
	value := func(name string, dims ...any) *Value {
		d := Dims{}
		for _, x := range dims {
			switch x := x.(type) {
			case int:
				d = append(d, Known(x))
			case string:
				d = append(d, ParseDim(x))
			}
		}
		return &Value{Name: name, Type: TensorOf(tensor.F32, d)}
	}
	tests := []struct {
		name    string
		in, out []*Value
		want    []State
	}{
		{"decoder",
			[]*Value{value("input_ids", "b", "s"), value("past_key_values.0.key", "b", 2, "past", 8), value("past_key_values.0.value", "b", 2, "past", 8)},
			[]*Value{value("logits", "b", "s", 100), value("present.0.key", "b", 2, "past + s", 8), value("present.0.value", "b", 2, "total", 8)},
			[]State{{"past_key_values.0.key", "present.0.key", 2}, {"past_key_values.0.value", "present.0.value", 2}}},
		{"stacked", []*Value{value("past_0", 2, "b", 4, "past_sequence_length", 8)}, []*Value{value("present_0", 2, "b", 4, "total", 8)}, []State{{"past_0", "present_0", 3}}},
		{"key", []*Value{value("past_key_3", 1, 2, "p", 4)}, []*Value{value("present_key_3", 1, 2, "t", 4)}, []State{{"past_key_3", "present_key_3", 2}}},
		{"recurrent", []*Value{value("input", "b", "n"), value("state", 2, "b", 128)}, []*Value{value("output", "b", 1), value("stateN", 2, "b", 128)}, []State{{"state", "stateN", -1}}},
		{"recurrent without names", []*Value{value("input", "?", "?"), value("state", 2, "?", 128)}, []*Value{value("output", "?", 1), value("stateN", "?", "?", "?")}, []State{{"state", "stateN", -1}}},
		{"recurrent with a name", []*Value{value("h", 1, "b", 8)}, []*Value{value("hn", 1, "?", 8)}, []State{{"h", "hn", -1}}},
		{"cache of rows", []*Value{value("cache", 1, "past", 8)}, []*Value{value("new_cache", 1, "?", 8)}, []State{{"cache", "new_cache", 1}}},
		{"cache with two names", []*Value{value("cache", 1, "n", 8)}, []*Value{value("new_cache", 1, "m", 8)}, []State{{"cache", "new_cache", 1}}},
		{"past without names", []*Value{value("past_0", 1, 2, "?", 8)}, []*Value{value("present_0", 1, 2, "?", 8)}, []State{{"past_0", "present_0", 2}}},
		{"lstm", []*Value{value("x", 1, 64), value("h", 1, 8), value("c", 1, 8)}, []*Value{value("y", 1, 64), value("hn", 1, 8), value("cn", 1, 8)}, []State{{"h", "hn", -1}, {"c", "cn", -1}}},
		{"fixed", []*Value{value("past_key_values.0.key", 1, 2, 64, 8)}, []*Value{value("present.0.key", 1, 2, 64, 8)}, []State{{"past_key_values.0.key", "present.0.key", -1}}},
		{"images", []*Value{value("input", 1, 3, 8, 8), value("in_image", 1, 3)}, []*Value{value("output", 1, 3, 8, 8), value("out_image", 1, 3)}, nil},
		{"hidden", []*Value{value("hidden_in", 1, 8)}, []*Value{value("hidden_out", 1, 8)}, []State{{"hidden_in", "hidden_out", -1}}},
		{"other extents", []*Value{value("state", 2, 8)}, []*Value{value("stateN", 2, 9)}, nil},
		{"other types", []*Value{value("state", 2, 8)}, []*Value{{Name: "stateN", Type: TensorOf(tensor.I64, Dims{Known(2), Known(8)})}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := FindStates(&Graph{Inputs: tt.in, Outputs: tt.out}); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
