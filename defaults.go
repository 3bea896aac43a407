package nacre

import (
	"sync"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// defaults are the values of inputs that a run may leave out. They are made when a run
// first leaves them out, and kept.
type defaults struct {
	from map[string]*formats.ProgramDefault

	mu   sync.Mutex
	made map[string]*tensor.Tensor
}

// has reports whether an input has a default.
func (d *defaults) has(name string) bool { return d.from[name] != nil }

// tensor returns the default of an input, if it takes limit bytes or less; 0 is no limit.
func (d *defaults) tensor(name string, limit int) (*tensor.Tensor, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := d.made[name]; t != nil {
		return t, nil
	}
	from := d.from[name]
	if most := runtime.PhysicalMemory(); limit == 0 || most > 0 && most < limit {
		limit = most
	}
	if n := from.Bytes(); limit > 0 && n > limit {
		return nil, markf(ErrMemory, "the value of input %q, which is not given, takes %d bytes of %d", name, n, limit)
	}
	if d.made == nil {
		d.made = map[string]*tensor.Tensor{}
	}
	d.made[name] = from.Tensor()
	return d.made[name], nil
}

// fill adds the defaults of inputs that a run needs and leaves out.
func (s *Session) fill(in map[string]tensor.Value) error {
	for name := range s.program.defaults.from {
		if in[name] != nil || s.program.unused[name] {
			continue
		}
		t, err := s.program.defaults.tensor(name, s.options.MemoryLimit)
		if err != nil {
			return err
		}
		in[name] = t
	}
	return s.program.fillTaken(in, s.options.MemoryLimit)
}
