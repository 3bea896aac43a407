package vulkan_test

import (
	"testing"

	"github.com/nacre-ml/nacre/runtime/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

func TestCutLevel(t *testing.T) {
	for _, tt := range []struct {
		name, device string
		level        vulkan.Level
	}{
		{"", "", vulkan.AllLevels},
		{"0", "0", vulkan.AllLevels},
		{"0/L1", "0", vulkan.L1},
		{"/l0", "", vulkan.L0},
		{"Radeon (RADV/ACO)/L3", "Radeon (RADV/ACO)", vulkan.L3},
		{"Radeon (RADV/ACO)", "Radeon (RADV/ACO)", vulkan.AllLevels},
		{"0/L4", "0/L4", vulkan.AllLevels},
	} {
		if device, level := vulkan.CutLevel(tt.name); device != tt.device || level != tt.level {
			t.Errorf("%q is device %q and level %v", tt.name, device, level)
		}
	}
}

func TestLevelOf(t *testing.T) {
	for _, tt := range []struct {
		features shaders.Feature
		level    vulkan.Level
	}{
		{0, vulkan.L0},
		{shaders.Storage16, vulkan.L1},
		{shaders.Storage16 | shaders.IntDot, vulkan.L2},
		{shaders.CoopMatrix, vulkan.L3},
	} {
		if l := vulkan.LevelOf(tt.features); l != tt.level {
			t.Errorf("%v is level %v, want %v", tt.features, l, tt.level)
		}
	}
}
