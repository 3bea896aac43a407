package openinfer

import (
	"fmt"
	"slices"
)

// readAttrs checks the attributes and stores their values by name.
func (c *call) readAttrs(attrs []attr) error {
	for _, a := range attrs {
		i := slices.IndexFunc(c.opRow.attrs, func(r attrRule) bool { return r.name == a.name })
		if i < 0 {
			return fmt.Errorf("attribute %q is not one of %v", a.name, c.attrNames())
		}
		if _, twice := c.attrs[a.name]; twice {
			return fmt.Errorf("attribute %q is given twice", a.name)
		}
		if err := c.opRow.attrs[i].check(a.value, c.in()); err != nil {
			return fmt.Errorf("attribute %q %w", a.name, err)
		}
		c.attrs[a.name] = a.value
	}
	for _, rule := range c.opRow.attrs {
		if _, given := c.attrs[rule.name]; rule.needs && !given {
			return fmt.Errorf("attribute %q is missing", rule.name)
		}
	}
	return nil
}

func (c *call) attrNames() []string {
	list := []string{}
	for _, rule := range c.opRow.attrs {
		list = append(list, rule.name)
	}
	return list
}

// check returns an error if a value is not of the attribute's kind, for elements of type d.
func (r attrRule) check(value any, d dtype) error {
	switch r.kind {
	case kindNumber, kindWhole:
		return r.checkNumber(value, d)
	case kindFlag:
		return kindOf[bool](value, "true or false")
	case kindAxis:
		if u, ok := value.(uint64); ok && u <= 1<<62 {
			return nil
		}
		return kindOf[int64](value, "an integer that is known")
	case kindAxes:
		if list, ok := value.([]int64); ok && len(list) == 0 {
			return fmt.Errorf("is an empty list; it must name an axis or more")
		}
		return kindOf[[]int64](value, "a list of integers")
	case kindType:
		return kindOf[dtype](value, "an element type")
	}
	if err := kindOf[string](value, "a text that is known"); err != nil {
		return err
	}
	if modes := []string{"trunc", "floor", "ceil", "nearest"}; !slices.Contains(modes, value.(string)) {
		return fmt.Errorf("is %q; it must be one of %v", value, modes)
	}
	return nil
}

func kindOf[T any](value any, what string) error {
	if _, ok := value.(T); !ok {
		return fmt.Errorf("is %v (%T); it must be %s", value, value, what)
	}
	return nil
}

// checkNumber returns an error if a value is not a number, or not an integer where elements of type
// d need one.
func (r attrRule) checkNumber(value any, d dtype) error {
	whole := r.kind == kindWhole && d.isInt()
	switch v := value.(type) {
	case operand:
		if len(v.dims) != 0 {
			return fmt.Errorf("is a variable of type %v; it must be a scalar", v)
		}
		if whole && v.dtype.isFloat() {
			return fmt.Errorf("is a variable of type %v; elements of type %v need an integer", v, d)
		}
	case float64:
		if whole {
			return fmt.Errorf("is %v; elements of type %v need an integer", v, d)
		}
	case int64:
		if whole && v < 0 && d.isUnsigned() && r == maskAttr {
			return fmt.Errorf("is %d; elements of type %v need a number that is not negative", v, d)
		}
	case uint64, bool:
	default:
		return fmt.Errorf("is %v (%T); it must be a number", value, value)
	}
	return nil
}

// flag returns a boolean attribute, or def if it is missing.
func (c *call) flag(name string, def bool) bool {
	if v, ok := c.attrs[name].(bool); ok {
		return v
	}
	return def
}

// given reports whether an attribute is present.
func (c *call) given(name string) bool { return c.attrs[name] != nil }

// named returns the axes of a reduction as written: the attribute axis, or axes.
func (c *call) named() []int64 {
	switch v := c.attrs["axis"].(type) {
	case int64:
		return []int64{v}
	case uint64:
		return []int64{int64(v)}
	}
	list, _ := c.attrs["axes"].([]int64)
	return list
}

// axes returns the axes of a checked reduction, nonnegative, ascending, each once.
func (c *call) axes() (list []int64) {
	for _, axis := range c.named() {
		if axis < 0 {
			axis += int64(len(c.inputs[0].dims))
		}
		list = append(list, axis)
	}
	slices.Sort(list)
	return slices.Compact(list)
}
