package nacre

import (
	"fmt"
	"strings"
)

// ZeroInputs returns a tensor of zeros for every required input of the session, of
// the extents that the model declares. Sizes gives those that the model leaves open:
// by symbol, such as batch, and for an axis without a symbol by the name of the input
// and the axis, such as tokens[1]. The tensors are the caller's, to be filled in.
//
// The error is ErrOption if a size is missing, negative, or of no axis, ErrUnsupported
// if an input is no tensor or its number of axes is open, and ErrMemory if the
// machine has less memory.
func (s *Session) ZeroInputs(sizes map[string]int) (map[string]*Tensor, error) {
	list, err := s.sized(sizes)
	if err != nil {
		return nil, err
	}
	inputs := map[string]*Tensor{}
	for _, in := range list {
		shape := make([]int, len(in.Shape))
		for k, d := range in.Shape {
			shape[k] = d.Size
		}
		if inputs[in.Name], err = Zeros(in.DType, shape...); err != nil {
			return nil, fmt.Errorf("%s: input %v: %w", s.model.source.File, in, err)
		}
	}
	return inputs, nil
}

// sized describes the required inputs with a number for every extent.
func (s *Session) sized(sizes map[string]int) ([]Info, error) {
	file := s.model.source.File
	var list []Info
	used := map[string]bool{}
	for _, in := range s.Inputs() {
		if !in.Required {
			continue
		}
		shape, err := in.shape(sizes, used)
		if err != nil {
			return nil, fmt.Errorf("%s: input %v: %w", file, in, err)
		}
		in.Shape = shape
		list = append(list, in)
	}
	for name := range sizes {
		if !used[name] {
			return nil, markf(ErrOption, "%s: no open axis is called %q; the model takes %s", file, name, names(s.Inputs()))
		}
	}
	return list, nil
}

// shape returns the extents of a tensor, the open ones from sizes, and notes the
// names of these.
func (i Info) shape(sizes map[string]int, used map[string]bool) ([]Dim, error) {
	if i.Kind != TensorKind || i.Shape == nil {
		return nil, markf(ErrUnsupported, "no tensor of known axes")
	}
	shape := make([]Dim, len(i.Shape))
	var missing []string
	for k, d := range i.Shape {
		shape[k] = d
		if !d.Open() {
			continue
		}
		name := d.Symbol
		if name == "" {
			name = fmt.Sprintf("%s[%d]", i.Name, k)
		}
		n, ok := sizes[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		if n < 0 {
			return nil, markf(ErrOption, "size %d of %s is negative", n, name)
		}
		shape[k], used[name] = Dim{Size: n}, true
	}
	if missing != nil {
		return nil, markf(ErrOption, "no size is given for %s", strings.Join(missing, ", "))
	}
	return shape, nil
}
