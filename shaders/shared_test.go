package shaders_test

import (
	"testing"

	"github.com/nacre-ml/nacre/shaders"
)

// TestSharedBytes checks modules with known arrays, and that the shared memory of all modules can be
// computed.
func TestSharedBytes(t *testing.T) {
	for _, tt := range []struct {
		kernel, variant string
		constants       []uint32
		want            int
	}{
		{"eltwise/unary", "f32", nil, 0},
		// The query of 256 elements, weights and parts of 64 invocations and sums of 16, and a word of
		// each.
		{"attention/attention", "f32", []uint32{64}, 4 * (256 + 64 + 64 + 16 + 4*64)},
		// Steps of 16 queries and of 64 keys with a word between, weights, and a word per invocation.
		{"attention/tile", "f32", []uint32{64}, 16 * (16*4 + 16*17 + 64*4 + 64)},
	} {
		m, err := shaders.Find(tt.kernel, tt.variant)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := m.SharedBytes(tt.constants); err != nil || n != tt.want {
			t.Errorf("%s/%s %v takes %d bytes, want %d; %v", tt.kernel, tt.variant, tt.constants, n, tt.want, err)
		}
	}
	some := 0
	for _, k := range shaders.Kernels() {
		for _, v := range k.Variants {
			m, err := shaders.Find(k.Name, v.Name)
			if err != nil {
				t.Fatal(err)
			}
			n, err := m.SharedBytes(nil)
			if err != nil {
				t.Errorf("%s/%s: %v", k.Name, v.Name, err)
			}
			some += min(n, 1)
		}
	}
	if some < 20 {
		t.Errorf("%d modules share memory", some)
	}
}

// TestSharedFollowsConstants checks that larger tiles take more.
func TestSharedFollowsConstants(t *testing.T) {
	m, err := shaders.Find("matmul/gemm", "f32")
	if err != nil {
		t.Fatal(err)
	}
	small, err := m.SharedBytes([]uint32{64, 8, 8, 16})
	if err != nil {
		t.Fatal(err)
	}
	large, err := m.SharedBytes([]uint32{64, 16, 16, 32})
	if err != nil || small == 0 || large <= small {
		t.Errorf("%d bytes, then %d; %v", small, large, err)
	}
}
