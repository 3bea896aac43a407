package op

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestUnportable finds operators of graphs that ONNX Runtime saved for itself and checks the error.
func TestUnportable(t *testing.T) {
	r := &Registry{}
	for _, c := range []struct {
		domain, name string
		own          bool
	}{
		{"com.microsoft.nchwc", "Conv", true}, {"com.ms.internal.nhwc", "MaxPool", true}, {"", "MemcpyToHost", true},
		{"com.microsoft", "EPContext", true}, {"com.microsoft", "DmlFusedAdd", true}, {"com.microsoft", "Dream", false}, {"", "Conv", false},
	} {
		_, _, err := r.Find(&graph.Node{Domain: c.domain, Op: c.name, Version: 1})
		if !errors.Is(err, graph.ErrUnsupported) || strings.Contains(err.Error(), "graph_optimization_level") != c.own {
			t.Errorf("%s.%s: %v", c.domain, c.name, err)
		}
	}
}
