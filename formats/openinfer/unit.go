package openinfer

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// unit is a program with the model that its names refer to.
type unit struct {
	*Program
	model    *graph.Model
	making   container.Lowering
	sizes    map[string]uint64
	weights  map[string]*graph.Initializer
	declared map[string]*graph.Value // tensors of the model without elements
	meta     map[string]*graph.Pair
	vars     map[string]*decl
	blocks   map[string]*block
	dims     map[string][]int // of the variables
	targets  map[string]bool  // blocks that branches name
	open     map[string]bool  // variables with extents known only at run time
}

func newUnit(p *Program, m *graph.Model) *unit {
	u := &unit{
		Program: p, model: m, sizes: map[string]uint64{}, weights: map[string]*graph.Initializer{}, declared: map[string]*graph.Value{},
		meta: map[string]*graph.Pair{}, vars: map[string]*decl{}, blocks: map[string]*block{}, dims: map[string][]int{},
		targets: map[string]bool{}, open: map[string]bool{},
	}
	for _, s := range m.Sizes {
		u.sizes[s.Name] = s.Value
	}
	for _, w := range m.Graph.Initializers {
		u.weights[w.Name] = w
	}
	for _, v := range m.Graph.Values {
		u.declared[v.Name] = v
	}
	for i := range m.Meta {
		u.meta[m.Meta[i].Key] = &m.Meta[i]
	}
	for _, v := range p.vars {
		u.vars[v.name] = v
	}
	for _, b := range p.blocks {
		u.blocks[b.name] = b
	}
	return u
}

// extents evaluates the extents of a type.
func (u *unit) extents(list []string) ([]int, error) {
	dims := make([]int, len(list))
	for i, text := range list {
		n, err := u.extent(text)
		if err != nil {
			return nil, err
		}
		dims[i] = n
	}
	return dims, tensor.Shape(dims).Check()
}

func (u *unit) extent(text string) (int, error) {
	a, b, ok := cutProduct(text)
	x, err := u.size(a)
	if err != nil || !ok {
		return int(x), err
	}
	y, err := u.size(b)
	if err != nil {
		return 0, err
	}
	if high, low := bits.Mul64(x, y); high != 0 || low > math.MaxInt {
		return 0, fmt.Errorf("extent %s is too large", text)
	}
	return int(x * y), nil
}

// size returns the value of a number or a size variable.
func (u *unit) size(atom string) (uint64, error) {
	n, known := u.sizes[atom]
	if !known {
		if atom == "" || !digit(atom[0]) {
			if len(u.sizes)+len(u.weights) == 0 {
				return 0, fmt.Errorf("there is no size variable %q; the file of the program's tensors has them (--model)", atom)
			}
			return 0, fmt.Errorf("there is no size variable %q; the model has %v", atom, sortedKeys(u.sizes))
		}
		v, err := strconv.ParseUint(atom, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is no number of 64 bits", atom)
		}
		n = v
	}
	if n > math.MaxInt {
		return 0, fmt.Errorf("size %s is %d, which is too large", atom, n)
	}
	return n, nil
}

// initial returns the value of a variable before any write: nil for zeros. If it is a tensor of the
// model, weight is set too.
func (u *unit) initial(v *decl) (t *tensor.Tensor, weight *graph.Initializer, err error) {
	name := v.name
	if v.ref != "" {
		name = v.ref
	}
	return u.stored(v, name)
}

// stored returns the model's value with this name, or else the variable's @init.
func (u *unit) stored(v *decl, name string) (t *tensor.Tensor, weight *graph.Initializer, err error) {
	if w := u.weights[name]; w != nil {
		return w.Tensor, w, u.fits(v, "tensor", name, w.Tensor.DType(), w.Tensor.Shape())
	}
	if d := u.declared[name]; d != nil {
		if shape, ok := d.Type.Dims.Concrete(); ok {
			return v.init, nil, u.fits(v, "tensor", name, d.Type.DType, shape)
		}
	}
	if m := u.meta[name]; m != nil {
		t, err := u.metadata(m)
		if err == nil {
			err = u.fits(v, "metadata", name, t.DType(), t.Shape())
		}
		return t, nil, err
	}
	if v.ref != "" {
		return nil, nil, fmt.Errorf("the model has no tensor %q, which @ref names", name)
	}
	return v.init, nil, nil
}

// metadata returns an entry of the metadata as a tensor.
func (u *unit) metadata(m *graph.Pair) (*tensor.Tensor, error) {
	switch {
	case m.Data == nil:
		return nil, fmt.Errorf("metadata %q is a text and no tensor", m.Key)
	case m.Kind != "bitset":
		return m.Data, nil
	case m.Data.Len() > 8:
		return nil, fmt.Errorf("metadata %q is a bit set of %d bits; a scalar holds 8", m.Key, m.Data.Len())
	}
	t := tensor.New(tensor.U8)
	copy(t.Bytes(), m.Data.Bytes())
	return t, nil
}

// fits returns an error if the model's value differs from the declaration in type or shape.
func (u *unit) fits(v *decl, what, name string, d tensor.DType, shape tensor.Shape) error {
	if want := u.dims[v.name]; d != v.dtype.tensor() || !shape.Equal(want) {
		return fmt.Errorf("it is declared as %v%v, and %s %q of the model is %v%v", v.dtype, tensor.Shape(want), what, name, d, shape)
	}
	return nil
}

// constantValue returns the value of a constant variable; nil for others.
func (u *unit) constantValue(v *decl) (*tensor.Tensor, error) {
	if v.memory != memConstant || v.prefix() {
		return nil, nil
	}
	t, _, err := u.initial(v)
	if t == nil && err == nil && len(u.dims[v.name]) == 0 {
		t = tensor.New(v.dtype.tensor())
	}
	return t, err
}
