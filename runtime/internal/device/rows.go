package device

import (
	"errors"
	"reflect"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Row is one way in which a device binds the operators of one Go type. B is the device's binder.
type Row[B any] struct {
	Name  string
	Bind  func(o op.Op, b B) error
	Room  bool // takes operands with room in memory
	Texts bool // takes operands other than tensors of numbers
	Reads bool // reads elements of inputs when it binds, and returns a *NeedValue without them
	Of    reflect.Type
}

// RowFor returns a row for operators of type T. Bind completes the step of b or refuses.
func RowFor[T op.Op, B any](name string, bind func(o T, b B) error) Row[B] {
	return Row[B]{Name: name, Bind: func(o op.Op, b B) error { return bind(o.(T), b) }, Of: reflect.TypeFor[T]()}
}

// InRoom returns the row as one that takes operands with room in memory.
func (r Row[B]) InRoom() Row[B] {
	r.Room = true
	return r
}

// Reading returns the row as one that reads elements of inputs when it binds.
func (r Row[B]) Reading() Row[B] {
	r.Reads = true
	return r
}

// Rows finds rows by the operator's Go type. The best row of an operator comes first.
type Rows[B any] map[reflect.Type][]Row[B]

// NewRows returns the rows of all families.
func NewRows[B any](families [][]Row[B]) Rows[B] {
	m := Rows[B]{}
	for _, f := range families {
		for _, r := range f {
			m[r.Of] = append(m[r.Of], r)
		}
	}
	return m
}

// For returns the rows of an operator.
func (m Rows[B]) For(o op.Op) []Row[B] { return m[reflect.TypeOf(o)] }

// First returns the step of the first row that bind does not refuse. If it refuses every row, the
// error is a *Refusal that lists the reasons; none is the reason if there are no rows.
func First[B any](rows []Row[B], none string, bind func(r Row[B]) (*Step, error)) (*Step, error) {
	if len(rows) == 0 {
		return nil, Refuse("%s", none)
	}
	var refused Refusal
	for _, r := range rows {
		step, err := bind(r)
		if err == nil {
			return step, nil
		}
		var no *Refusal
		if !errors.As(err, &no) {
			return nil, err
		}
		no.Row = r.Name
		refused.List = append(refused.List, no)
	}
	return nil, &refused
}
