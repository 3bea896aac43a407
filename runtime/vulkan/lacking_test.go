package vulkan_test

import (
	"regexp"
	"slices"
	"testing"

	engine "github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/vulkan"
	"github.com/nacre-ml/nacre/shaders"
)

// needs matches the names of a shader and its variant in a reason why a node stays with the host.
var needs = regexp.MustCompile(`shader (\S+)/(\S+) needs `)

// lacks reports whether a device lacks features of a variant of a shader, at any level.
func lacks(t testing.TB, d *vulkan.Device, name, variant string) bool {
	t.Helper()
	m, err := shaders.Find(name, variant)
	if err != nil {
		t.Fatal(err)
	}
	info := d.Info()
	return m.Variant.Needs&^vulkan.Features(&info) != 0
}

// hasVariant reports whether the device has the features of a variant of a shader.
func hasVariant(t testing.TB, d *vulkan.Device, name string) bool {
	t.Helper()
	for _, k := range shaders.Kernels() {
		if k.Name == name {
			return slices.ContainsFunc(k.Variants, func(v shaders.Variant) bool { return !lacks(t, d, name, v.Name) })
		}
	}
	t.Fatalf("there is no shader %s", name)
	return false
}

// hasNoLongs reports whether the device has no integers of 64 bits, and logs it. Positions and lengths of
// decoders are the host's there, and commands are counted in vain.
func hasNoLongs(t testing.TB, d *vulkan.Device) bool { return hasNo(t, d, "i64") }

// hasNoHalves reports whether the device has no float16, and logs it.
func hasNoHalves(t testing.TB, d *vulkan.Device) bool { return hasNo(t, d, "f16") }

func hasNo(t testing.TB, d *vulkan.Device, elements string) bool {
	t.Helper()
	lacking := lacks(t, d, "eltwise/binary", elements)
	if lacking {
		t.Logf("the device computes no %s", elements)
	}
	return lacking
}

// isLacking reports whether a step stays with the host because a shader needs features that the device
// lacks at any level.
func isLacking(t testing.TB, d *vulkan.Device, step *engine.StepTime) bool {
	t.Helper()
	for _, m := range needs.FindAllStringSubmatch(step.Stays, -1) {
		if lacks(t, d, m[1], m[2]) {
			return true
		}
	}
	return false
}

// checkRan fails the test if an operator had fewer nodes on the device than ran. Nodes that need
// features that the device lacks may run elsewhere.
func (s *compared) checkRan(t testing.TB) {
	t.Helper()
	for name, n := range s.ran {
		if s.offload[name]+s.lacking[name] < n {
			t.Errorf("%d of %d nodes %s ran on the device, and it lacks features for %d", s.offload[name], n, name,
				s.lacking[name])
		}
	}
}
