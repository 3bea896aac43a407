package nacre

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Value is an input or an output of a run: a *Tensor, a *Sequence, an *Optional or a
// *Map. Most models have tensors only, and Session.Run suffices.
type Value interface {
	fmt.Stringer
	isValue()
}

// Sequence is a list of values of one type.
type Sequence struct{ Items []Value }

// Optional is a value or none.
type Optional struct{ Item Value } // nil for none

// Map is keys and their values. Keys is a vector of integers or strings; Values is a
// vector of the same length.
type Map struct{ Keys, Values *Tensor }

func (*Tensor) isValue()   {}
func (*Sequence) isValue() {}
func (*Optional) isValue() {}
func (*Map) isValue()      {}

// String returns the types of the items, such as sequence(float32[2], float32[3]).
func (s *Sequence) String() string {
	if s == nil {
		return "none"
	}
	parts := make([]string, len(s.Items))
	for i, v := range s.Items {
		parts[i] = fmt.Sprint(v)
	}
	return "sequence(" + strings.Join(parts, ", ") + ")"
}

// String returns the type of the item, such as optional(float32[2]).
func (o *Optional) String() string {
	switch {
	case o == nil:
		return "none"
	case o.Item == nil:
		return "optional()"
	}
	return "optional(" + o.Item.String() + ")"
}

// String returns the types of keys and values, such as map(int64[3], float32[3]).
func (m *Map) String() string {
	if m == nil {
		return "none"
	}
	return fmt.Sprintf("map(%v, %v)", m.Keys, m.Values)
}

// maxNesting bounds the depth of sequences in an input.
const maxNesting = 64

// below returns the engine's value; nil for nil.
func below(v Value) (tensor.Value, error) { return belowAt(v, 0) }

func belowAt(v Value, depth int) (tensor.Value, error) {
	if depth > maxNesting {
		return nil, markf(ErrShape, "values nested more than %d deep", maxNesting)
	}
	switch v := v.(type) {
	case *Tensor:
		if v != nil {
			return &v.t, nil
		}
	case *Sequence:
		if v != nil {
			return belowSequence(v, depth)
		}
	case *Optional:
		if v == nil {
			return nil, nil
		}
		item, err := belowAt(v.Item, depth+1)
		return &tensor.Optional{Item: item}, err
	case *Map:
		if v == nil {
			return nil, nil
		}
		return belowMap(v)
	}
	return nil, nil
}

func belowSequence(s *Sequence, depth int) (tensor.Value, error) {
	items := make([]tensor.Value, len(s.Items))
	for i, item := range s.Items {
		var err error
		if items[i], err = belowAt(item, depth+1); err != nil {
			return nil, err
		}
		if items[i] == nil {
			return nil, markf(ErrShape, "item %d of a sequence is missing", i)
		}
	}
	return &tensor.Sequence{Items: items}, nil
}

func belowMap(m *Map) (tensor.Value, error) {
	if m.Keys == nil || m.Values == nil || len(m.Keys.t.Shape()) != 1 || !m.Keys.t.Shape().Equal(m.Values.t.Shape()) {
		return nil, markf(ErrShape, "%v does not have keys and values that are vectors of one length", m)
	}
	if d := m.Keys.DType(); d != String && !d.IsInteger() {
		return nil, markf(ErrShape, "keys of a map are %v, neither integers nor strings", d)
	}
	return &tensor.Map{Keys: &m.Keys.t, Values: &m.Values.t}, nil
}

// above returns the user's view of an engine's value.
func above(v tensor.Value) Value { return new(viewer).above(v) }

// viewer makes the user's views of values.
type viewer struct {
	tensors tensor.Pieces[Tensor]
	maps    tensor.Pieces[Map]
}

func (w *viewer) above(v tensor.Value) Value {
	switch v := v.(type) {
	case *tensor.Tensor:
		return w.tensor(v)
	case *tensor.Sequence:
		s := &Sequence{Items: make([]Value, len(v.Items))}
		for i, item := range v.Items {
			s.Items[i] = w.above(item)
		}
		return s
	case *tensor.Optional:
		if v.Item == nil {
			return &Optional{}
		}
		return &Optional{Item: w.above(v.Item)}
	case *tensor.Map:
		m := w.maps.New()
		m.Keys, m.Values = w.tensor(v.Keys), w.tensor(v.Values)
		return m
	}
	return nil
}

func (w *viewer) tensor(t *tensor.Tensor) *Tensor {
	shown := w.tensors.New()
	shown.t = *t
	return shown
}
