package vulkan_test

import (
	"slices"
	"testing"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

func TestCutProfile(t *testing.T) {
	for _, tt := range []struct {
		name, device string
		profile      vulkan.Profile
	}{
		{"", "", vulkan.NoProfile},
		{"0", "0", vulkan.NoProfile},
		{"0/mali", "0", vulkan.Mali},
		{"0/L1/Adreno", "0/L1", vulkan.Adreno},
		{"Mali-G78/mali", "Mali-G78", vulkan.Mali},
		{"0/mali/L1", "0/mali/L1", vulkan.NoProfile},
	} {
		if device, p := vulkan.CutProfile(tt.name); device != tt.device || p != tt.profile {
			t.Errorf("%q is device %q and profile %q", tt.name, device, p)
		}
	}
}

// TestProfiles checks the limits of a device under each profile, and the tokens of decoders.
func TestProfiles(t *testing.T) {
	size := topologies.LlamaSize{Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 128, Words: 100, FourBits: true}
	const tokens, room = 6, 16
	want := greedy(t, nil, size, room, tokens)
	for _, p := range vulkan.Profiles() {
		t.Run(string(p), func(t *testing.T) {
			d := open(t, vulkan.Options{Everything: true, Profile: p})
			if c := d.Info().Caps; c.MaxShared > 16<<10 || c.MaxInvocations > 128 || c.MaxRange > 128<<20 {
				t.Errorf("limits are %+v", c)
			}
			if got := greedy(t, accelerator(t, d), size, room, tokens); !slices.Equal(got, want) {
				t.Errorf("tokens %v, want %v", got, want)
			}
		})
	}
	if _, err := vulkan.Open("0", vulkan.Options{Profile: "toaster"}); err == nil {
		t.Error("a device was opened under an unknown profile")
	}
}

func TestDefects(t *testing.T) {
	for _, tt := range []struct {
		info vk.Info
		n    int
	}{
		{vk.Info{Type: "cpu", Driver: "llvmpipe"}, 1},
		{vk.Info{Type: "cpu", Driver: "SwiftShader driver"}, 0},
		{vk.Info{Type: "discrete", Driver: "NVIDIA", VendorID: 0x10de}, 0},
	} {
		if list := vulkan.Defects(&tt.info); len(list) != tt.n {
			t.Errorf("%+v has %d defects: %v", tt.info, len(list), list)
		}
	}
}
