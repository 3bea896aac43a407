package vulkan

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Move adds a dispatch for each copy.
func (b *binder) Move(m *lower.Move) error {
	for _, c := range m.Copies {
		ends := b.known(c.From, c.To)
		axes := make([]axisSteps, len(c.Axes))
		for i, a := range c.Axes {
			n := b.known(a.N, a.From, a.To)
			axes[i] = axisSteps{n[0], n[1], n[2]}
		}
		if err := b.strided(m.DType, ends[0], ends[1], axes, m.From, m.To); err != nil {
			return err
		}
	}
	return nil
}

// axisSteps is an extent, and its strides in a source and a destination.
type axisSteps struct{ n, from, to int }

// copyAxes is the most axes of a copy.
const copyAxes = 8

// strided adds a dispatch that copies elements of type d along axes. From and to are the first
// elements. Strides may be negative.
func (b *binder) strided(d tensor.DType, from, to int, axes []axisSteps, x, y device.Operand) error {
	variant := b.widthName(d)
	w, n, err := stridedWords(from, to, axes)
	if err != nil {
		return err
	}
	before, same := len(b.step.Commands), from == to
	for _, a := range axes {
		same = same && a.from == a.to
	}
	err = b.flat("copy/strided", variant, n, nil, w, x, y)
	for _, c := range b.step.Commands[before:] {
		c.Kernel.(*kernel).same = same
	}
	return err
}

// stridedWords returns the words of a copy, and the number of elements that it copies.
func stridedWords(from, to int, axes []axisSteps) (w words, n int, err error) {
	list := []axisSteps{}
	n = 1
	for _, a := range axes {
		n *= a.n
		last := len(list) - 1
		switch {
		case a.n == 1:
		case last >= 0 && list[last].from == a.from*a.n && list[last].to == a.to*a.n:
			list[last] = axisSteps{list[last].n * a.n, a.from, a.to}
		default:
			list = append(list, a)
		}
	}
	if len(list) > copyAxes {
		return nil, 0, device.Refuse("a copy has %d axes", len(list))
	}
	for range copyAxes - len(list) {
		list = append([]axisSteps{{1, 0, 0}}, list...)
	}
	w.int(n, from, to)
	for _, a := range list {
		w.int(a.n)
	}
	for _, a := range list {
		w.int(a.from)
	}
	for _, a := range list {
		w.int(a.to)
	}
	return w, n, nil
}

// clear adds a dispatch that sets n elements of type d to 0.
func (b *binder) clear(y device.Operand, d tensor.DType, n int) error {
	return b.fill(y, tensor.New(d, 1), n)
}

// fill adds a dispatch that writes an element n times.
func (b *binder) fill(y device.Operand, element *tensor.Tensor, n int) error {
	variant := b.widthName(element.DType())
	var value [8]byte
	copy(value[:], element.Bytes())
	w := words{uint32(n), 0, binary.LittleEndian.Uint32(value[:]), binary.LittleEndian.Uint32(value[4:])}
	w.int(1, 1, 1, 1, 1, 1, 1, n)
	w.int(0, 0, 0, 0, 0, 0, 0, 1)
	return b.flat("copy/fill", variant, n, nil, w, y)
}
