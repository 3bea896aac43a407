package nacre

import (
	"fmt"
	"slices"
	"strings"
)

// ZeroInputs returns a tensor of zeros for every required input of the session, with
// the extents that the model declares. Sizes has the open extents by symbol, such as batch,
// or, for an axis without a symbol, by input and axis, such as tokens[1]. The tensors belong
// to the caller.
//
// The error is ErrOption if a size is missing, negative, or of no axis, ErrUnsupported
// if an input is no tensor or its number of axes is open, and ErrMemory if the
// machine has less memory.
func (s *Session) ZeroInputs(sizes map[string]int) (_ map[string]*Tensor, err error) {
	defer s.enter().end(&err)
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
	list := slices.DeleteFunc(s.Inputs(), func(in Info) bool { return !in.Required })
	known := map[string]bool{}
	for _, in := range list {
		for k, d := range in.Shape {
			if d.Open() {
				known[in.sizeName(k)] = true
			}
		}
	}
	for name := range sizes {
		if !known[name] {
			return nil, markf(ErrOption, "%s: a size is given for %q and no open axis has that name; the model takes %s", file,
				name, names(list))
		}
	}
	for i, in := range list {
		shape, err := in.sized(sizes)
		if err != nil {
			return nil, fmt.Errorf("%s: input %v: %w", file, in, err)
		}
		list[i].Shape = shape
	}
	return list, nil
}

// sizeName returns the name of an open axis in sizes: its symbol, or the input and the number
// of the axis.
func (i Info) sizeName(axis int) string {
	if symbol := i.Shape[axis].Symbol; symbol != "" {
		return symbol
	}
	return fmt.Sprintf("%s[%d]", i.Name, axis)
}

// sized returns the extents of a tensor, the open ones from sizes.
func (i Info) sized(sizes map[string]int) ([]Dim, error) {
	switch {
	case i.Kind != TensorKind:
		return nil, markf(ErrUnsupported, "it is no tensor, and cannot be made from sizes")
	case i.Shape == nil:
		return nil, markf(ErrUnsupported, "the model leaves its number of axes open, and it cannot be made from sizes")
	}
	shape := slices.Clone(i.Shape)
	var missing []string
	for k, d := range shape {
		if !d.Open() {
			continue
		}
		name := i.sizeName(k)
		n, ok := sizes[name]
		switch {
		case !ok:
			missing = append(missing, name)
		case n < 0:
			return nil, markf(ErrOption, "size %d of %s is negative", n, name)
		}
		shape[k] = Dim{Size: n}
	}
	if missing != nil {
		return nil, markf(ErrOption, "no size is given for %s", strings.Join(missing, ", "))
	}
	return shape, nil
}
