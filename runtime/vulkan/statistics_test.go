package vulkan_test

import (
	"testing"

	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestLocalMemory checks that no shader of the probe and of a decoder keeps variables in local
// memory, where the driver tells. Elsewhere there are no statistics.
func TestLocalMemory(t *testing.T) {
	d := open(t, vulkan.Options{Everything: true, Statistics: true})
	if _, err := d.Probe(); err != nil {
		t.Fatal(err)
	}
	for _, bits := range []bool{false, true} {
		size := topologies.LlamaSize{Layers: 1, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Words: 100, FourBits: bits}
		greedy(t, accelerator(t, d), size, 16, 2)
	}
	list, err := d.Shaders()
	if err != nil {
		t.Fatal(err)
	}
	if has := d.Info().Caps.Statistics; has != (len(list) > 0) {
		t.Fatalf("the driver keeps statistics: %v, and there are %d", has, len(list))
	}
	for _, s := range list {
		if s.LocalBytes != 0 {
			t.Errorf("%s %v has %d bytes of local memory", s.Shader, s.Constants, s.LocalBytes)
		}
	}
}
