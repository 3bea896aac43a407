package tensor

import "sync/atomic"

// loan is memory that goes back once, however many copies of the tensor there are.
type loan struct {
	over atomic.Bool
	back func()
}

// Lend is FromBytes over memory that Release gives back by calling back.
func Lend(d DType, shape Shape, data []byte, back func()) (*Tensor, error) {
	t, err := FromBytes(d, shape, data)
	if err == nil {
		t.lent = &loan{back: back}
	}
	return t, err
}

// Release leaves t with no elements, of shape [0], and gives the memory of those that it
// had back if it was lent. Slices of them and tensors that share them may not be used any
// more.
func (t *Tensor) Release() {
	lent := t.lent
	t.shape, t.data, t.strings, t.lent, t.derived = Shape{0}, nil, nil, nil, nil
	if lent != nil && !lent.over.Swap(true) {
		lent.back()
	}
}
