package exec_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// These tests run models of one operator of ai.onnx.ml on maps.

func floatVec(v ...float32) *tensor.Tensor {
	t, err := tensor.From(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

func textVec(v ...string) *tensor.Tensor {
	t, err := tensor.FromStrings(v, len(v))
	if err != nil {
		panic(err)
	}
	return t
}

// row returns a matrix of one row.
func row(t *tensor.Tensor) *tensor.Tensor {
	t, err := t.Reshape(tensor.Shape{1, t.Len()})
	if err != nil {
		panic(err)
	}
	return t
}

func textAttr(name string, v ...string) *graph.Attr {
	a := &graph.Attr{Name: name, Kind: graph.AttrStrings}
	for _, s := range v {
		a.Strs = append(a.Strs, []byte(s))
	}
	if len(v) == 1 {
		a.Kind, a.Str = graph.AttrString, []byte(v[0])
	}
	return a
}

func mapOf(keys, values *tensor.Tensor) *tensor.Map { return &tensor.Map{Keys: keys, Values: values} }

var mlCases = []struct {
	name, op string
	attrs    []*graph.Attr
	in       tensor.Value
	want     tensor.Value
	say      string // part of the error message; empty for no error
}{
	{"dense", "CastMap", nil, mapOf(nets.Vec(7, -3, 5), floatVec(1.5, 2, -1)), row(floatVec(2, -1, 1.5)), ""},
	{"dense integers", "CastMap", []*graph.Attr{textAttr("cast_to", "TO_INT64")}, mapOf(nets.Vec(7, -3, 5), floatVec(1.5, 2, -1.7)), row(nets.Vec(2, -1, 1)), ""},
	{"dense texts", "CastMap", []*graph.Attr{textAttr("cast_to", "TO_STRING")}, mapOf(nets.Vec(7, 3), floatVec(1.5, -2)), row(textVec("-2.000000", "1.500000")), ""},
	{"empty", "CastMap", nil, mapOf(nets.Vec(), floatVec()), row(floatVec()), ""},
	{"sparse", "CastMap", []*graph.Attr{textAttr("map_form", "SPARSE"), graph.IntAttr("max_map", 4)}, mapOf(nets.Vec(3, 1), floatVec(1.5, 2)), row(floatVec(0, 2, 0, 1.5)), ""},
	{"sparse texts", "CastMap", []*graph.Attr{textAttr("map_form", "SPARSE"), graph.IntAttr("max_map", 3), textAttr("cast_to", "TO_STRING")},
		mapOf(nets.Vec(1), textVec("a")), row(textVec("0.f", "a", "0.f")), ""},
	{"from texts", "CastMap", nil, mapOf(nets.Vec(2, 1), textVec(" 1.5", "-3e2")), row(floatVec(-300, 1.5)), ""},
	{"integers from texts", "CastMap", []*graph.Attr{textAttr("cast_to", "TO_INT64")}, mapOf(nets.Vec(2, 1), textVec("15", "-3")), row(nets.Vec(-3, 15)), ""},
	{"no number", "CastMap", nil, mapOf(nets.Vec(1), textVec("x")), nil, `"x" is no float32`},
	{"no integer", "CastMap", []*graph.Attr{textAttr("cast_to", "TO_INT64")}, mapOf(nets.Vec(1), textVec("1.5")), nil, `"1.5" is no int64`},
	{"no place", "CastMap", []*graph.Attr{textAttr("map_form", "SPARSE"), graph.IntAttr("max_map", 2)}, mapOf(nets.Vec(2), floatVec(1)), nil, "key 2"},
	{"negative place", "CastMap", []*graph.Attr{textAttr("map_form", "SPARSE"), graph.IntAttr("max_map", 2)}, mapOf(nets.Vec(-1), floatVec(1)), nil, "key -1"},
	{"negative length", "CastMap", []*graph.Attr{textAttr("map_form", "SPARSE"), graph.IntAttr("max_map", -2)}, mapOf(nets.Vec(0), floatVec(1)), nil, "max_map is -2"},
	{"huge length", "CastMap", []*graph.Attr{textAttr("map_form", "SPARSE"), graph.IntAttr("max_map", math.MaxInt64)}, mapOf(nets.Vec(0), floatVec(1)), nil, "CastMap"},
	{"unknown type", "CastMap", []*graph.Attr{textAttr("cast_to", "TO_BOOL")}, mapOf(nets.Vec(0), floatVec(1)), nil, "TO_BOOL"},
	{"unknown form", "CastMap", []*graph.Attr{textAttr("map_form", "PACKED")}, mapOf(nets.Vec(0), floatVec(1)), nil, "PACKED"},
	{"text keys", "CastMap", nil, mapOf(textVec("a"), floatVec(1)), nil, "map of int64"},
	{"no map", "CastMap", nil, nets.Vec(1), nil, "no map"},

	{"vocabulary", "DictVectorizer", []*graph.Attr{textAttr("string_vocabulary", "a", "c", "b", "a")},
		mapOf(textVec("c", "q", "a"), nets.Vec(8, 1, 4)), row(nets.Vec(4, 8, 0, 4)), ""},
	{"vocabulary of integers", "DictVectorizer", []*graph.Attr{graph.IntsAttr("int64_vocabulary", 5, 1)}, mapOf(nets.Vec(1, 2), textVec("x", "y")), row(textVec("", "x")), ""},
	{"floats", "DictVectorizer", []*graph.Attr{graph.IntsAttr("int64_vocabulary", 5, 1)}, mapOf(nets.Vec(1, 5), floatVec(1.5, 2)), row(floatVec(2, 1.5)), ""},
	{"no vocabulary", "DictVectorizer", nil, mapOf(nets.Vec(1), nets.Vec(1)), nil, "int64_vocabulary"},
	{"another key", "DictVectorizer", []*graph.Attr{textAttr("string_vocabulary", "a", "c")}, mapOf(nets.Vec(1), nets.Vec(1)), nil, "vocabulary of type string"},

	{"zip", "ZipMap", []*graph.Attr{textAttr("classlabels_strings", "b", "a")}, row(floatVec(1, 2)), seq(mapOf(textVec("a", "b"), floatVec(2, 1))), ""},
	{"zip integers", "ZipMap", []*graph.Attr{graph.IntsAttr("classlabels_int64s", 9, -4, 0)}, floatVec(1, 2, 3), seq(mapOf(nets.Vec(-4, 0, 9), floatVec(2, 3, 1))), ""},
	{"zip twice", "ZipMap", []*graph.Attr{graph.IntsAttr("classlabels_int64s", 9, 9)}, floatVec(1, 2), seq(mapOf(nets.Vec(9), floatVec(2))), ""},
	{"zip nothing", "ZipMap", []*graph.Attr{graph.IntsAttr("classlabels_int64s", 9, 8)}, tensor.New(tensor.F32, 0, 2), seq(), ""},
	{"zip too few", "ZipMap", []*graph.Attr{graph.IntsAttr("classlabels_int64s", 9, 8)}, floatVec(1), nil, "2 keys"},
	{"zip without keys", "ZipMap", nil, floatVec(1), nil, "classlabels"},
}

func TestMaps(t *testing.T) {
	used := map[string]bool{}
	for _, tt := range mlCases {
		used[tt.op] = true
		t.Run(tt.op+"/"+tt.name, func(t *testing.T) {
			g := nets.Graph("x", "y", nets.Node(tt.op, "x", "y", tt.attrs...))
			g.Nodes[0].Domain, g.Nodes[0].Version = "ai.onnx.ml", 1
			g.Inputs[0].Type = op.TypeOf(tt.in)
			got, err := runModel(t, g, values{"x": tt.in})
			if tt.say != "" {
				if err == nil || !strings.Contains(err.Error(), tt.say) {
					t.Fatalf("got %v, want an error that says %q", err, tt.say)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text(got["y"]) != text(tt.want) {
				t.Errorf("got %s, want %s", text(got["y"]), text(tt.want))
			}
		})
	}
	var lacking []string
	for _, row := range standard.Registry().Rows() {
		if row.DynamicOutputs && row.Domain == "ai.onnx.ml" && !used[row.Name] {
			lacking = append(lacking, row.Name)
		}
	}
	if slices.Sort(lacking); lacking != nil {
		t.Errorf("no case has %v", lacking)
	}
}
