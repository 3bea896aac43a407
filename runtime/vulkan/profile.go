package vulkan

import (
	"slices"
	"strings"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// Profile names limits of a kind of devices. A device opened under a profile is used as if it had
// these limits at most.
type Profile string

// The profiles: no limits beside the device's own, and the least that GPUs of phones have.
const (
	NoProfile Profile = ""
	Mali      Profile = "mali"
	Adreno    Profile = "adreno"
)

// profiles has the limits of each profile. Both families let a workgroup share 16 KiB on some of
// their GPUs, and a shader see 128 MiB of a buffer.
var profiles = map[Profile]vk.Caps{
	Mali: {MaxShared: 16 << 10, MaxInvocations: 128, MaxGroupSize: [3]int{128, 128, 64}, MaxRange: 128 << 20,
		MaxGroups: [3]int{65535, 65535, 65535}, MaxPush: 128, MaxBuffers: 16},
	Adreno: {MaxShared: 16 << 10, MaxInvocations: 128, MaxGroupSize: [3]int{128, 128, 64}, MaxRange: 128 << 20,
		MaxGroups: [3]int{65535, 65535, 65535}, MaxPush: 128, MaxBuffers: 24},
}

// limit lowers limits of c to the profile's.
func (p Profile) limit(c *vk.Caps) {
	l, ok := profiles[p]
	if !ok {
		return
	}
	for _, x := range []struct {
		to   *int
		most int
	}{
		{&c.MaxShared, l.MaxShared}, {&c.MaxInvocations, l.MaxInvocations}, {&c.MaxRange, l.MaxRange},
		{&c.MaxPush, l.MaxPush}, {&c.MaxBuffers, l.MaxBuffers},
	} {
		*x.to = min(*x.to, x.most)
	}
	for k := range c.MaxGroups {
		c.MaxGroups[k] = min(c.MaxGroups[k], l.MaxGroups[k])
		c.MaxGroupSize[k] = min(c.MaxGroupSize[k], l.MaxGroupSize[k])
	}
}

// Profiles lists the profiles with limits.
func Profiles() []Profile {
	list := make([]Profile, 0, len(profiles))
	for p := range profiles {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// CutProfile splits a device's name with an optional profile, such as 0/mali, into the name before
// it and the profile. Without one it returns NoProfile.
func CutProfile(name string) (device string, p Profile) {
	i := strings.LastIndexByte(name, '/')
	for _, p := range Profiles() {
		if i >= 0 && strings.EqualFold(name[i+1:], string(p)) {
			return name[:i], p
		}
	}
	return name, NoProfile
}
