package vulkan

import (
	"strings"
	"testing"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// TestFind checks which device a name selects. A device in software must be named.
func TestFind(t *testing.T) {
	const software, first, second = "llvmpipe (LLVM)", "Radeon 1", "GeForce 2"
	both := []vk.Info{{Name: software, Type: "cpu"}, {Name: first, Type: "integrated"}, {Name: second, Type: "discrete"}}
	for _, tt := range []struct {
		list []vk.Info
		name string
		want int
		says []string // of an error
	}{
		{both, "", 1, nil},
		{both, "0", 0, nil},
		{both, "LLVM", 0, nil},
		{both, "2", 2, nil},
		{both, "geforce", 2, nil},
		{both, "3", 0, []string{"no Vulkan device 3"}},
		{both, "abacus", 0, []string{`"abacus"`, software, second}},
		{both[:1], "", 0, []string{"in software", "must be named", "0, " + software}},
		{both[:1], "0", 0, nil},
		{nil, "", 0, []string{"no Vulkan device was found"}},
		{nil, "0", 0, []string{"no Vulkan device was found"}},
	} {
		got, err := find(tt.list, tt.name)
		if err == nil && tt.says != nil || err != nil && tt.says == nil || got != tt.want {
			t.Errorf("%q of %d: got %d, %v", tt.name, len(tt.list), got, err)
			continue
		}
		for _, part := range tt.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q of %d: %v does not say %q", tt.name, len(tt.list), err, part)
			}
		}
	}
}
