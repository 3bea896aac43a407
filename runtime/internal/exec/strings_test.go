package exec_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/nets"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestStringsGrow concatenates a string with itself until no machine can hold it. The run must
// return an error, also if everything is constant.
func TestStringsGrow(t *testing.T) {
	const rounds = 60
	for _, constant := range []bool{true, false} {
		g := nets.Graph("", fmt.Sprint("s", rounds))
		letter, err := tensor.FromStrings([]string{"x"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		inputs := values{}
		if constant {
			g.Initializers = []*graph.Initializer{{Name: "s0", Tensor: letter}}
		} else {
			g.Inputs = []*graph.Value{{Name: "s0", Type: graph.TensorOf(tensor.String, graph.UnknownDims(1))}}
			inputs["s0"] = letter
		}
		for i := range rounds {
			n := nets.Node("StringConcat", fmt.Sprintf("s%d s%d", i, i), fmt.Sprint("s", i+1))
			n.Version = 20
			g.Nodes = append(g.Nodes, n)
		}
		m := &graph.Model{File: "grow.onnx", Opsets: []graph.Opset{{Version: 20}}, Graph: g}
		s, err := byname.New(m, runtime.Options{Threads: 1, MemoryLimit: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.RunValues(context.Background(), inputs); err == nil || !strings.Contains(err.Error(), "memory limit") {
			t.Errorf("constant %v: got %v, want an error about the memory limit", constant, err)
		}
	}
}
