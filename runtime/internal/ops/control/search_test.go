package control

import (
	"errors"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// purse is memory of a few bytes.
type purse struct {
	op.Memory
	left int
}

func (p *purse) Reserve(n int) error {
	if n > p.left {
		return graph.Errorf(graph.ErrMemory, "%d bytes are more than %d", n, p.left)
	}
	p.left -= n
	return nil
}

// TestSearchMemory asks for texts that are too long or too many for memory. The searches end before
// the decoder runs.
func TestSearchMemory(t *testing.T) {
	number := func(v int32) *tensor.Tensor {
		x := tensor.New(tensor.I32, 1)
		tensor.View[int32](x)[0] = v
		return x
	}
	s := &search{eos: -1, vocabulary: -1}
	ids := tensor.New(tensor.I32, 4, 3)
	few, many, long := number(4), number(4096), number(maxText)
	for name, c := range map[string]struct {
		o  op.Runner
		in []*tensor.Tensor
	}{
		"greedy":     {&greedySearch{s}, []*tensor.Tensor{ids, long}},
		"sampling":   {&sampling{search: s, temperature: 1}, []*tensor.Tensor{ids, long}},
		"beam":       {&beamSearch{search: s}, []*tensor.Tensor{ids, long, nil, many, few}},
		"many beams": {&beamSearch{search: s}, []*tensor.Tensor{ids, number(100), nil, many, few}},
	} {
		err := c.o.Run(&op.Run{In: c.in, Mem: &purse{left: 1 << 20}, Node: &graph.Node{}})
		if !errors.Is(err, graph.ErrMemory) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
