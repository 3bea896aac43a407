package hnw

import (
	"regexp"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

func TestIdentifiers(t *testing.T) {
	valid := regexp.MustCompile(`^[a-z_][A-Za-z0-9_]*$`)
	ids := NewIdentifiers()
	ids.taken["given"] = true
	for _, c := range []struct{ name, want string }{
		{"W1", "w1"}, {"w1", "w1_2"}, {"w1_2", "w1_2_2"}, {"W-1", "w_1"},
		{"conv.weight", "conv0_weight"}, {"fc.bias", "fc0_bias"}, {"layer.weight", "layer_weight"}, {"w.b", "w_b"},
		{"model/encoder.0/MatMul:0", "model_encoder_0_matmul_0"}, {"7seas", "w7seas"}, {"", "w0"}, {"形状", "w0_2"}, {"größe", "gr0_e"},
		{"where", "where0"}, {"tensor", "tensor0"}, {"__x__", "x"}, {"mask_bool", "mask0_bool_0"}, {"given", "given_2"}, {"bool", "bool0"},
	} {
		got := ids.Of(c.name)
		if got != c.want || !valid.MatchString(got) || reserved[got] {
			t.Errorf("%q became %q, want %q", c.name, got, c.want)
		}
	}
}

func TestModuleName(t *testing.T) {
	for _, c := range []struct{ file, graph, want string }{
		{"a/b/resnet18-v1.5.onnx", "main", "Hydronnx.Resnet18V15"}, {"IrisClassifier.onnx", "", "Hydronnx.IrisClassifier"}, {"MLP", "", "Hydronnx.Mlp"},
		{"", "main_graph", "Hydronnx.MainGraph"}, {"形.onnx", "", "Hydronnx.Model"}, {"3d.onnx", "", "Hydronnx.M3d"},
	} {
		if got := ModuleName(&graph.Model{File: c.file, Graph: &graph.Graph{Name: c.graph}}); got != c.want {
			t.Errorf("%q became %q, want %q", c.file, got, c.want)
		}
	}
}
