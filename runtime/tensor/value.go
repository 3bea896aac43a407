package tensor

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Value is an operand of an operator: a *Tensor, a *Sequence, an *Optional or a *Map. Values other
// than tensors are immutable and may share parts.
type Value interface {
	fmt.Stringer
	isValue()
}

// Sequence is an ordered list of values of one type. It must not be copied.
type Sequence struct {
	Items []Value

	end   *atomic.Int64 // items in use of a shared array; nil if Insert may not append
	bytes atomic.Int64  // Footprint; 0 before it is computed
	owned atomic.Int64  // the leading items that Own need not copy
}

// Insert returns the items of s with v before item at. At the end it reuses the array of s if that
// has space and no other sequence was appended there, so that n appends take time proportional to
// n.
func (s *Sequence) Insert(at int, v Value) *Sequence {
	n := len(s.Items)
	out := &Sequence{Items: s.Items, end: s.end}
	switch {
	case at < n:
		out.Items, out.end = slices.Insert(slices.Clip(s.Items), at, v), nil
	case n < cap(s.Items) && s.end != nil && s.end.CompareAndSwap(int64(n), int64(n+1)):
		out.Items = append(s.Items, v)
	default:
		const first = 4
		out.Items = append(append(make([]Value, 0, max(2*n, first)), s.Items...), v)
		out.end = new(atomic.Int64)
		out.end.Store(int64(n + 1))
	}
	out.bytes.Store(int64(Footprint(s) + ItemBytes + Footprint(v)))
	out.owned.Store(min(s.owned.Load(), int64(at)))
	return out
}

// Erase returns the items of s without item at.
func (s *Sequence) Erase(at int) *Sequence {
	out := &Sequence{}
	switch last := len(s.Items) - 1; at {
	case 0:
		out.Items = s.Items[1:]
	case last:
		out.Items = s.Items[:last]
	default:
		out.Items = slices.Concat(s.Items[:at], s.Items[at+1:])
	}
	out.bytes.Store(int64(Footprint(s) - ItemBytes - Footprint(s.Items[at])))
	owned := s.owned.Load()
	if int64(at) < owned {
		owned--
	}
	out.owned.Store(owned)
	return out
}

// Optional is a value or nothing.
type Optional struct{ Item Value } // nil for none

// Map maps keys, integers or strings, to values.
type Map struct{ Keys, Values *Tensor } // vectors of one length

func (*Tensor) isValue()   {}
func (*Sequence) isValue() {}
func (*Optional) isValue() {}
func (*Map) isValue()      {}

// String formats the sequence like sequence(float32[2], float32[3]). For a long one it lists the
// first items and the number of the others.
func (s *Sequence) String() string {
	const most = 8
	parts := make([]string, min(len(s.Items), most), most+1)
	for i := range parts {
		parts[i] = s.Items[i].String()
	}
	if more := len(s.Items) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return "sequence(" + strings.Join(parts, ", ") + ")"
}

// String formats the value like optional(float32[2]).
func (o *Optional) String() string {
	if o.Item == nil {
		return "optional()"
	}
	return "optional(" + o.Item.String() + ")"
}

// String formats the map like map(int64[3], float32[3]).
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

// Replace returns v with every tensor t replaced by f(t).
func Replace(v Value, f func(t *Tensor) *Tensor) Value { return replace(v, f, new(Pieces[Map])) }

func replace(v Value, f func(t *Tensor) *Tensor, maps *Pieces[Map]) Value {
	switch v := v.(type) {
	case *Tensor:
		return f(v)
	case *Sequence:
		items := make([]Value, len(v.Items))
		for i, item := range v.Items {
			items[i] = replace(item, f, maps)
		}
		return &Sequence{Items: items}
	case *Optional:
		if v.Item == nil {
			return v
		}
		return &Optional{replace(v.Item, f, maps)}
	case *Map:
		m := maps.New()
		m.Keys, m.Values = f(v.Keys), f(v.Values)
		return m
	}
	return v
}

// MarkBorrowed returns v. Tensors in the memory of a borrowed tensor of from are marked as
// borrowed.
func MarkBorrowed(v Value, from []*Tensor) Value {
	if !slices.ContainsFunc(from, func(b *Tensor) bool { return b != nil && b.borrowed }) {
		return v
	}
	lies := func(t *Tensor) bool {
		return !t.borrowed && slices.ContainsFunc(from, func(b *Tensor) bool { return b != nil && b.borrowed && b.holds(t) })
	}
	found := false
	walkOwn(v, func(t *Tensor) { found = found || lies(t) })
	if !found {
		return v
	}
	return Replace(v, func(t *Tensor) *Tensor {
		if lies(t) {
			t = &Tensor{dtype: t.dtype, shape: t.shape, data: t.data, borrowed: true}
		}
		return t
	})
}

// Borrowed returns the memory that Own would allocate.
func Borrowed(v Value) int {
	n := 0
	walkOwn(v, func(t *Tensor) {
		if t.borrowed {
			n += Footprint(t)
		}
	})
	if s, ok := v.(*Sequence); ok && n == 0 {
		s.owned.Store(int64(len(s.Items)))
	}
	return n
}

// walkOwn calls f with the tensors of v that Own may have to copy.
func walkOwn(v Value, f func(t *Tensor)) {
	s, ok := v.(*Sequence)
	if !ok {
		Walk(v, f)
		return
	}
	for _, item := range s.Items[min(int(s.owned.Load()), len(s.Items)):] {
		Walk(item, f)
	}
}

// Own returns v with copies of its borrowed tensors.
func Own(v Value) Value {
	if Borrowed(v) == 0 {
		return v
	}
	return Replace(v, func(t *Tensor) *Tensor {
		if t.borrowed {
			return t.Clone()
		}
		return t
	})
}
