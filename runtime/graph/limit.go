package graph

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Limit bounds an input of a run: every element of an int32 or int64 input, or an extent. Least and
// Most are allowed.
type Limit struct {
	Input       string // the input with bounded elements; empty for Extent
	Extent      Dim    // over the names of the inputs' extents
	Least, Most int
	About       string // the bounded quantity and what to do, for messages
}

// Check returns an error if a value is outside the limit. input is the tensor of that name, nil if
// the run has none. lookup returns extents by name; a limit on an unknown extent holds.
func (l Limit) Check(input *tensor.Tensor, lookup func(symbol string) (int, bool)) error {
	if l.Input == "" {
		if n, ok := l.Extent.Eval(lookup); ok && (n < l.Least || n > l.Most) {
			return l.beyond("%v is %d", l.Extent, n)
		}
		return nil
	}
	if input == nil {
		return nil
	}
	at := tensor.Numbers(input)
	if at == nil || !input.DType().IsInteger() {
		return nil
	}
	for i := range input.Len() {
		if v := at(i); v < float64(l.Least) || v > float64(l.Most) {
			return l.beyond("element %d of input %q is %.0f", i, l.Input, v)
		}
	}
	return nil
}

func (l Limit) beyond(format string, args ...any) error {
	bounds := fmt.Sprintf("%d to %d", l.Least, l.Most)
	switch {
	case l.Most == math.MaxInt:
		bounds = fmt.Sprintf("at least %d", l.Least)
	case l.Input == "" && l.Least == 0:
		bounds = fmt.Sprintf("at most %d", l.Most)
	}
	return Errorf(ErrShape, "%s; the model takes %s (%s)", fmt.Sprintf(format, args...), bounds, l.About)
}
