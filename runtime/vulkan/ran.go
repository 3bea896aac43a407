package vulkan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// drop removes the command. Commands by do its work.
func (c *command) drop(by ...int) { c.isGone, c.by = true, by }

// Ran returns, for each given command, what the commands recorded last run for it.
func (s *segment) Ran() []device.Ran {
	list := make([]device.Ran, len(s.given))
	for i := range s.commands {
		c := &s.commands[i]
		r := &list[c.owner]
		switch {
		case c.kernel != nil && !c.isGone:
			r.Kernels = append(r.Kernels, c.kernel)
		case c.kernel == nil && !c.isGone:
			r.Kernels = append(r.Kernels, c.recorded.Kernel)
		}
		for _, owner := range s.takers(i) {
			if owner != c.owner && !slices.Contains(r.By, owner) {
				r.By = append(r.By, owner)
			}
		}
	}
	return list
}

// takers lists the given commands with the commands that do the work of command i, which may be gone
// themselves.
func (s *segment) takers(i int) (list []int) {
	for _, by := range s.commands[i].by {
		if s.commands[by].isGone {
			list = append(list, s.takers(by)...)
		} else {
			list = append(list, s.commands[by].owner)
		}
	}
	return list
}
