package attention

import (
	"errors"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestDecoderRefused tries a node with caches and without outputs for them, and operands of other
// types.
func TestDecoderRefused(t *testing.T) {
	attrs := []*graph.Attr{graph.IntAttr("num_heads", 1), graph.IntAttr("past_present_share_buffer", 1)}
	n := &graph.Node{Inputs: []string{"q", "k", "v", "", "", "pk", "pv", "n"}, Outputs: []string{"y"}, Attrs: attrs}
	if _, err := newDecoderAttention(&op.Node{Node: n}); !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("without presents: got %v", err)
	}
	n = &graph.Node{Inputs: []string{"q", "k", "v"}, Outputs: []string{"y"}, Attrs: attrs[:1]}
	o, err := newDecoderAttention(&op.Node{Node: n})
	if err != nil {
		t.Fatal(err)
	}
	in := make([]*op.Value, 3)
	for i, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F32} {
		in[i] = &op.Value{Type: graph.TensorOf(d, graph.UnknownDims(3))}
	}
	if err := o.Infer(&op.Infer{In: in, Out: []*op.Value{{}}}); !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("keys of float64: got %v", err)
	}
}
