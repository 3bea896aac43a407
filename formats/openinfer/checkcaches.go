package openinfer

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// prefixTensor returns the tensor of a prefix table at these indices. It fails if the model has no
// such tensor, or one of another type or shape.
func (u *unit) prefixTensor(v *decl, at []int64) (*graph.Initializer, error) {
	name := filled(v.pattern, v.indices, at)
	w := u.weights[name]
	if w == nil {
		return nil, fmt.Errorf("the model has no tensor %q, which %s%v is", name, v.name, at)
	}
	return w, u.fits(v, "tensor", name, w.Tensor.DType(), w.Tensor.Shape())
}

// access checks an access to a persistent variable and returns its declaration.
func (c *checker) access(a access) (*decl, error) {
	v := c.vars[a.base]
	switch {
	case v == nil:
		return nil, c.missing(a.base)
	case v.memory != memPersistent:
		return nil, fmt.Errorf("%q is %v; caches are persistent variables", a.base, v.memory)
	case !v.cached() && len(a.indices) > 0:
		return nil, fmt.Errorf("%q has no indices; it takes @table or @auto_dim", a.base)
	case len(a.indices) > len(v.accessed()):
		return nil, fmt.Errorf("%q has the indices %v, and %d are given", a.base, v.accessed(), len(a.indices))
	}
	for i, x := range a.indices {
		if err := c.index(v, i, x); err != nil {
			return nil, fmt.Errorf("index %q of %q: %w", v.accessed()[i], a.base, err)
		}
	}
	return v, nil
}

// index checks index i of an access.
func (c *checker) index(v *decl, i int, x index) error {
	limit, fixed := v.limit(v.accessed()[i])
	if len(v.auto) > 0 && x.slice && (x.start != nil || x.end != nil) {
		return fmt.Errorf("it is a range; a variable with @auto_dim is accessed as a whole")
	}
	for _, end := range []*indexValue{x.start, x.end} {
		if end == nil {
			continue
		}
		if end.name != "" && !slices.Contains(c.loops, end.name) {
			if _, err := c.size(end.name); err != nil {
				if err := c.indexVariable(end.name); err != nil {
					return err
				}
				continue
			}
		}
		n, known := c.literal(end, 0)
		if !known || slices.Contains(c.loops, end.name) {
			continue
		}
		if n < 0 && (end == x.start || !x.slice) {
			return fmt.Errorf("it is %d; it must not be negative", n)
		}
		bound := limit
		if single := !x.slice && len(v.auto) == 0; single {
			bound--
		}
		if fixed && n > bound {
			return fmt.Errorf("it is %d, and the size is fixed as %d", n, limit)
		}
	}
	return nil
}

// indexVariable checks a variable used as an index; it must be an integer scalar.
func (c *checker) indexVariable(name string) error {
	if err := c.integer(name); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

func (c *checker) read(k readNode) error {
	v, err := c.access(k.src)
	if err != nil {
		return err
	}
	dst, err := c.target(k.dst)
	if err != nil {
		return err
	}
	if dst.dtype != v.dtype {
		return fmt.Errorf("%q is of type %v and %q of type %v", k.dst, dst.dtype, k.src.base, v.dtype)
	}
	if shape, known := c.readShape(v, k.src); known && !shape.Equal(dst.dims) {
		return fmt.Errorf("%q is declared with shape %v, and %v has shape %v", k.dst, tensor.Shape(dst.dims), k.src, shape)
	}
	return nil
}

func (c *checker) write(k writeNode) error {
	v, err := c.access(k.dst)
	if err != nil {
		return err
	}
	src, err := c.value(k.src)
	if err != nil {
		return err
	}
	if src.dtype != v.dtype {
		return fmt.Errorf("%q is of type %v and %q of type %v", k.src, src.dtype, k.dst.base, v.dtype)
	}
	if v.table && (len(k.dst.indices) != len(v.indices) || slices.ContainsFunc(k.dst.indices, func(x index) bool { return x.slice })) {
		return fmt.Errorf("a write takes one entry: a value for each of the indices %v", v.indices)
	}
	if len(v.auto) == 0 && !c.open[k.src] && !slices.Equal(src.dims, c.dims[v.name]) {
		return fmt.Errorf("%q has shape %v, and an entry of %q has shape %v", k.src, tensor.Shape(src.dims), v.name, tensor.Shape(c.dims[v.name]))
	}
	return nil
}

func (c *checker) count(k countNode) error {
	v, err := c.access(access{base: k.target})
	switch {
	case err != nil:
		return err
	case v.cached() || len(c.dims[v.name]) != 0:
		return fmt.Errorf("%q is no scalar", k.target)
	case v.dtype.isPacked() || v.dtype == dtBool || v.dtype == dtBitset:
		return fmt.Errorf("%q is of type %v; only integers of whole bytes and floats can be counted", k.target, v.dtype)
	}
	return nil
}

func (c *checker) reset(k resetNode) error {
	v, err := c.access(k.target)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(k.target.indices, func(x index) bool { return x.slice }) {
		return fmt.Errorf("a reset takes values for the first indices, and no ranges")
	}
	if len(v.auto) > 0 && len(k.target.indices) > 0 {
		return fmt.Errorf("%q grows as a whole and is reset as a whole", v.name)
	}
	return nil
}
