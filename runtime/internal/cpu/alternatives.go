package cpu

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/internal/device"
)

// Alternatives binds the node by every row of its operator, best row first. For each row it also
// binds the node once per kernel that fits but that the row would not choose.
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

// alternatives holds the steps found so far and their texts.
type alternatives struct {
	dev     *Device
	binding *device.Binding
	list    []*device.Step
	met     map[string]bool
}

// add binds the node by row r and appends the step. It returns nil if the row refuses the node, if
// the list has a step of the same text, or if the step is a call of Go.
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

// opsOf lists the ops of a step's kernels, each once. A nil step has none.
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
