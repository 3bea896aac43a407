package vulkan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// greedy returns tokens of a decoder: a prompt of three, then the likeliest after each.
func greedy(t *testing.T, a device.Accelerator, size topologies.LlamaSize, room, n int) (list []int64) {
	t.Helper()
	var states []graph.State
	for i := range size.Layers {
		for _, kind := range []string{"key", "value"} {
			states = append(states, graph.State{Input: fmt.Sprintf("past_key_values.%d.%s", i, kind),
				Output: fmt.Sprintf("present.%d.%s", i, kind), Axis: 2})
		}
	}
	m := topologies.Llama(size)
	for _, x := range slices.Concat(m.Graph.Inputs, m.Graph.Outputs) {
		x.Type.Dims[0] = graph.Known(1) // the batch
	}
	st, err := session(t, m, a).NewStream(states, room)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	next := []int64{7, 31, 5}
	for range n {
		out, err := st.Run(t.Context(), map[string]tensor.Value{"input_ids": tensorOf(t, next, 1, len(next))})
		if err != nil {
			t.Fatal(err)
		}
		logits := tensor.View[float32](out["logits"].(*tensor.Tensor))
		logits = logits[len(logits)-size.Words:]
		next = []int64{int64(slices.Index(logits, slices.Max(logits)))}
		list = append(list, next...)
	}
	return list
}

// TestStreamIsRecordedOnce checks that the tokens of a decoder are the CPU's, and that commands are
// recorded once for the prompt and once for each room of the caches.
func TestStreamIsRecordedOnce(t *testing.T) {
	const tokens, room, rooms = 40, 16, 3 // 16, 32 and 64 rows
	for name, size := range map[string]topologies.LlamaSize{
		"floats": {Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Words: 100},
		"codes":  {Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Words: 100, FourBits: true},
	} {
		t.Run(name, func(t *testing.T) {
			want := greedy(t, nil, size, room, tokens)
			d := open(t, vulkan.Options{Everything: true})
			if got := greedy(t, accelerator(t, d), size, room, tokens); !slices.Equal(got, want) {
				t.Errorf("tokens %v, want %v", got, want)
			}
			if n := d.Recordings(); n != 1+rooms && !hasNoLongs(t, d) {
				t.Errorf("%d recordings for a prompt and %d rooms", n, rooms)
			}
		})
	}
}

// TestStepOfDecoder checks the commands that a layer adds to a step of a decoder, and the barriers.
func TestStepOfDecoder(t *testing.T) {
	defer vulkan.JoinedUnits()()
	for name, tt := range map[string]struct {
		fourBits           bool
		commands, barriers int
	}{
		"floats": {false, 8, 8},
		"codes":  {true, 6, 6},
	} {
		t.Run(name, func(t *testing.T) {
			var commands, barriers [2]int
			for i := range commands {
				size := topologies.LlamaSize{Layers: 2 + i, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Words: 100, FourBits: tt.fourBits}
				d := open(t, vulkan.Options{Everything: true})
				want := greedy(t, nil, size, 16, 12)
				if got := greedy(t, accelerator(t, d), size, 16, 12); !slices.Equal(got, want) {
					t.Errorf("%d layers: tokens %v, want %v", size.Layers, got, want)
				}
				if commands[i], barriers[i] = d.Recorded(); hasNoLongs(t, d) {
					return
				}
			}
			if c, b := commands[1]-commands[0], barriers[1]-barriers[0]; c != tt.commands || b != tt.barriers {
				t.Errorf("a layer has %d commands and %d barriers, want %d and %d; two have %d and %d", c, b, tt.commands, tt.barriers,
					commands[0], barriers[0])
			}
		})
	}
}
