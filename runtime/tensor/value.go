package tensor

import (
	"fmt"
	"strings"
)

// Value is an operand of an operator: a *Tensor, a *Sequence, an *Optional or a
// *Map. Values other than tensors do not change once made, and may share
// their parts.
type Value interface {
	fmt.Stringer
	isValue()
}

// Sequence is values of one type in order.
type Sequence struct{ Items []Value }

// Optional is a value or none.
type Optional struct{ Item Value } // nil for none

// Map gives every key, an integer or a string, a value.
type Map struct{ Keys, Values *Tensor } // vectors of one length

func (*Tensor) isValue()   {}
func (*Sequence) isValue() {}
func (*Optional) isValue() {}
func (*Map) isValue()      {}

// String returns the form sequence(float32[2], float32[3]).
func (s *Sequence) String() string {
	parts := make([]string, len(s.Items))
	for i, v := range s.Items {
		parts[i] = v.String()
	}
	return "sequence(" + strings.Join(parts, ", ") + ")"
}

// String returns the form optional(float32[2]).
func (o *Optional) String() string {
	if o.Item == nil {
		return "optional()"
	}
	return "optional(" + o.Item.String() + ")"
}

// String returns the form map(int64[3], float32[3]).
func (m *Map) String() string { return fmt.Sprintf("map(%v, %v)", m.Keys, m.Values) }

// Walk calls f with every tensor in the value.
func Walk(v Value, f func(t *Tensor)) {
	switch v := v.(type) {
	case *Tensor:
		if v != nil {
			f(v)
		}
	case *Sequence:
		for _, item := range v.Items {
			Walk(item, f)
		}
	case *Optional:
		if v.Item != nil {
			Walk(v.Item, f)
		}
	case *Map:
		f(v.Keys)
		f(v.Values)
	}
}

// Replace returns v with every tensor replaced by what f makes of it.
func Replace(v Value, f func(t *Tensor) *Tensor) Value {
	switch v := v.(type) {
	case *Tensor:
		return f(v)
	case *Sequence:
		items := make([]Value, len(v.Items))
		for i, item := range v.Items {
			items[i] = Replace(item, f)
		}
		return &Sequence{items}
	case *Optional:
		if v.Item == nil {
			return v
		}
		return &Optional{Replace(v.Item, f)}
	case *Map:
		return &Map{f(v.Keys), f(v.Values)}
	}
	return v
}
