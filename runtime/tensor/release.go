package tensor

import "sync/atomic"

// loan is memory that is returned once, however many copies of the tensor there are.
type loan struct {
	over atomic.Bool
	back func()
}

// Lend is FromBytes over memory that Release returns by calling back.
func Lend(d DType, shape Shape, data []byte, back func()) (*Tensor, error) {
	t, err := FromBytes(d, shape, data)
	if err == nil {
		t.lent = &loan{back: back}
	}
	return t, err
}

// Release makes t an empty tensor of shape [0], and returns its memory if it was lent. Slices of
// its elements, and tensors that share them, must not be used afterwards.
func (t *Tensor) Release() {
	lent := t.lent
	t.shape, t.data, t.strings, t.lent, t.derived = Shape{0}, nil, nil, nil, nil
	if lent != nil && !lent.over.Swap(true) {
		lent.back()
	}
}
