package openinfer

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// operand is a value of a graph with its type. All extents are known.
type operand struct {
	value string // name in the graph
	dtype dtype
	dims  []int
}

// String returns the type and the extents.
func (o operand) String() string { return fmt.Sprintf("%v%v", o.dtype, o.dims) }

// attr is an attribute of a call. Its value is a float64, int64, uint64, bool, string, []int64,
// dtype, or an operand without axes, read when the graph runs.
type attr struct {
	name  string
	value any
}

// call is a checked operator with its operands.
type call struct {
	*opRow
	attrs  map[string]any
	inputs []operand
	out    operand
	b      *graph.Builder // set while the call is lowered
}

// check returns an error if a call is invalid.
func (r *opRow) check(attrs []attr, inputs []operand, out operand) error {
	_, err := r.call(attrs, inputs, out)
	return err
}

// lower adds the nodes of a call to a graph and returns the name of the result. The result has the
// type and extents of out.
func (r *opRow) lower(b *graph.Builder, attrs []attr, inputs []operand, out operand) (string, error) {
	c, err := r.call(attrs, inputs, out)
	if err != nil {
		return "", err
	}
	c.b = b
	if r.lowered != nil {
		if value := r.lowered(c); value != "" {
			return value, nil
		}
	}
	return c.own(), nil
}

// call returns the checked call.
func (r *opRow) call(attrs []attr, inputs []operand, out operand) (*call, error) {
	c := &call{opRow: r, attrs: map[string]any{}, inputs: inputs, out: out}
	if len(inputs) != r.inputs {
		return nil, fmt.Errorf("%s takes %d inputs, not %d", r.word, r.inputs, len(inputs))
	}
	for i, in := range inputs {
		if in.dtype != inputs[0].dtype {
			return nil, fmt.Errorf("%s: input %d is of type %v and input 0 of type %v; they must be of one type", r.word, i, in.dtype, inputs[0].dtype)
		}
	}
	if d := c.in(); !r.types.has(d) {
		return nil, fmt.Errorf("%s does not take elements of type %v; it takes %v", r.word, d, r.types.list())
	}
	for _, check := range []func() error{func() error { return c.readAttrs(attrs) }, c.checkOut, c.checkExtents} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.word, err)
		}
	}
	return c, nil
}

// in returns the element type of the inputs.
func (c *call) in() dtype { return c.inputs[0].dtype }

// checkOut checks the output's element type, and that its name is not an input's unless the
// operator allows it.
func (c *call) checkOut() error {
	want := c.in()
	if c.result != noType {
		want = c.result
	}
	if to, ok := c.attrs["to"].(dtype); ok {
		want = to
		if err := castable(c.in(), to); err != nil {
			return err
		}
	}
	if acc, ok := c.attrs["acc"].(dtype); ok {
		want = acc
		if list := c.accumulators(c.in()); !slices.Contains(list, acc) {
			return fmt.Errorf("acc=%v does not widen elements of type %v; it may be one of %v", acc, c.in(), list)
		}
	}
	if c.out.dtype != want {
		return fmt.Errorf("the output is of type %v; the result is of type %v", c.out.dtype, want)
	}
	if !c.has(inPlace) && slices.ContainsFunc(c.inputs, func(in operand) bool { return in.value != "" && in.value == c.out.value }) {
		return fmt.Errorf("the output is an input, which the operator does not allow")
	}
	return nil
}

// castable returns an error if elements cannot be cast. Every type casts to floats. Floats and
// narrower integers of the same signedness cast to integers.
func castable(from, to dtype) error {
	switch {
	case to.isFloat():
		return nil
	case !integers.has(to):
		return fmt.Errorf("to=%v is no type to cast to; it may be one of %v", to, (floats | integers).list())
	case from.isFloat(), from.isUnsigned() == to.isUnsigned() && from.bits() < to.bits():
		return nil
	}
	return fmt.Errorf("no cast from %v to %v; integers become floats and wider integers of the same sign", from, to)
}

// checkExtents compares the extents of the output and the result.
func (c *call) checkExtents() error {
	want, err := c.extents(c)
	if err != nil {
		return err
	}
	if !slices.Equal(want, c.out.dims) {
		return fmt.Errorf("the output has shape %v; the result has shape %v", c.out.dims, want)
	}
	return nil
}
