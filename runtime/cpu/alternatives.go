package cpu

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/device"
)

// Alternatives asks all rows of the node's operator, best first, and of each binds the
// node once more for every kernel that fits behind those that it takes by itself.
func (d *Device) Alternatives(b *device.Binding) ([]*device.Step, error) {
	a := &alternatives{dev: d, binding: b, met: map[string]bool{}}
	for _, r := range d.rows(b) {
		first, err := a.add(r, nil)
		if err != nil {
			return nil, err
		}
		for _, op := range opsOf(first) {
			for skip := 1; ; skip++ {
				if s, err := a.add(r, map[string]int{op: skip}); err != nil {
					return nil, err
				} else if s == nil {
					break
				}
			}
		}
	}
	return a.list, nil
}

// alternatives is the steps that are found, and their texts.
type alternatives struct {
	dev     *Device
	binding *device.Binding
	list    []*device.Step
	met     map[string]bool
}

// add adds the step of a row; nil for one that the row refuses, or that is there.
func (a *alternatives) add(r row, skip map[string]int) (*device.Step, error) {
	s, err := a.dev.bindRow(r, a.binding, skip)
	var refusal *device.Refusal
	switch {
	case errors.As(err, &refusal):
		return nil, nil
	case err != nil:
		return nil, err
	case a.met[s.String()] || s.Call != nil:
		return nil, nil
	}
	a.met[s.String()] = true
	a.list = append(a.list, s)
	return s, nil
}

// opsOf lists what the kernels of a step compute, each once; nothing for no step.
func opsOf(s *device.Step) []string {
	var list []string
	met := map[string]bool{}
	note := func(k device.Kernel) {
		if !met[k.Op()] {
			met[k.Op()] = true
			list = append(list, k.Op())
		}
	}
	if s == nil {
		return nil
	}
	for i := range s.Commands {
		note(s.Commands[i].Kernel)
		for _, p := range s.Commands[i].Parts {
			note(p)
		}
	}
	return list
}
