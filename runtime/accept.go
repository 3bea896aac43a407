package runtime

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// accept checks inputs against the model's declarations.
func (s *Session) accept(inputs []tensor.Value) error {
	return s.acceptWith(inputs, map[string]int{}, func(int) bool { return false })
}

// acceptWith is accept with known extents of symbols. Inputs for which without is true are not
// checked.
func (s *Session) acceptWith(inputs []tensor.Value, symbols map[string]int, without func(i int) bool) error {
	if len(inputs) != len(s.program.Decl) {
		return s.reject(graph.ErrMissing, "%d inputs are given and the model has %d", len(inputs), len(s.program.Decl))
	}
	for i, v := range s.program.Decl {
		if without(i) {
			continue
		}
		if inputs[i] == nil {
			return s.reject(graph.ErrMissing, "input %q, %v, is missing", v.Name, v.Type)
		}
		if err := accepts(v.Type, inputs[i], symbols); err != nil {
			return s.reject(graph.ErrShape, "input %q is %v and the model takes %v: %w", v.Name, inputs[i], v.Type, err)
		}
	}
	return s.extents(symbols)
}

// acceptTypes is accept for values of these types.
func (s *Session) acceptTypes(types []graph.Type) error {
	if len(types) != len(s.program.Decl) {
		return s.reject(graph.ErrMissing, "%d types are given and the model has %d inputs", len(types), len(s.program.Decl))
	}
	symbols := map[string]int{}
	for i, v := range s.program.Decl {
		if err := acceptsType(v.Type, types[i], symbols); err != nil {
			return s.reject(graph.ErrShape, "input %q is %v and the model takes %v: %w", v.Name, types[i], v.Type, err)
		}
	}
	return nil
}

func (s *Session) reject(kind error, format string, args ...any) error {
	return &graph.Error{Stage: "run", File: s.program.File, Offset: -1, Kind: kind, Err: fmt.Errorf(format, args...)}
}

// accepts checks a value against a declared type. Symbols collects the extents of named axes, so
// that one name means one extent.
func accepts(want graph.Type, v tensor.Value, symbols map[string]int) error {
	t, ok := v.(*tensor.Tensor)
	if !ok {
		if op.TypeOf(v).Kind != want.Kind {
			return errKinds
		}
		return nil
	}
	return acceptsTensor(want, t.DType(), t.Shape(), symbols)
}

var errKinds = errors.New("these are different kinds of values")

// acceptsType is accepts for a value of type have.
func acceptsType(want, have graph.Type, symbols map[string]int) error {
	if have.Kind != want.Kind {
		return errKinds
	}
	if have.Kind != graph.TensorType {
		return nil
	}
	shape, ok := have.Dims.Concrete()
	if !ok {
		return errors.New("its extents are not all numbers")
	}
	if err := shape.Check(); err != nil {
		return err
	}
	return acceptsTensor(want, have.DType, shape, symbols)
}

func acceptsTensor(want graph.Type, d tensor.DType, shape tensor.Shape, symbols map[string]int) error {
	if want.Kind != graph.TensorType {
		return errKinds
	}
	if d != want.DType {
		return errors.New("element types differ")
	}
	if want.Dims == nil {
		return nil
	}
	if len(want.Dims) != len(shape) {
		return fmt.Errorf("it has %d axes, not %d", len(shape), len(want.Dims))
	}
	for i, d := range want.Dims {
		have := shape[i]
		n, known := d.Value()
		if !known && !d.IsUnknown() {
			n, known = symbols[d.String()]
			symbols[d.String()] = have
		}
		if known && n != have {
			return fmt.Errorf("axis %d has extent %d, not %d", i, have, n)
		}
	}
	return nil
}
