package control

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pile stacks tensors of one type and shape along a new first axis. Its room doubles when it is
// full. The zero value is empty.
type pile struct {
	n     int
	whole *tensor.Tensor // with room; nil before the first tensor
	shape tensor.Shape   // of each tensor
}

// firstRoom is about the size in bytes of a new pile for many tensors.
const firstRoom = 64 << 10

// add copies v to the end of the pile. The final number of tensors is at most most.
func (p *pile) add(c *op.Run, v tensor.Value, most int64) error {
	t, ok := v.(*tensor.Tensor)
	if !ok {
		return graph.Errorf(graph.ErrShape, "%v cannot be stacked", v)
	}
	if p.whole == nil {
		p.shape = slices.Clone(t.Shape())
		each := max(tensor.SizeOf(t.DType(), t.Shape()), 1)
		if err := p.resize(c, t.DType(), int(min(most, int64(max(firstRoom/each, 4))))); err != nil {
			return err
		}
	}
	if t.DType() != p.whole.DType() || !t.Shape().Equal(p.shape) {
		return graph.Errorf(graph.ErrShape, "%v beside %v%v", t, p.whole.DType(), p.shape)
	}
	if room := p.whole.Shape()[0]; p.n == room {
		if err := p.resize(c, t.DType(), int(min(most, 2*int64(room)))); err != nil {
			return err
		}
	}
	slab{p.whole, 0, p.n, 1}.copy(t, true)
	p.n++
	return nil
}

// resize moves the tensors to memory with the given room.
func (p *pile) resize(c *op.Run, d tensor.DType, room int) error {
	full := slices.Insert(slices.Clone(p.shape), 0, room)
	if err := full.Check(); err != nil {
		return graph.Errorf(graph.ErrShape, "%w", err)
	}
	to, err := newTensor(c, d, full)
	if err != nil {
		return err
	}
	if from := p.whole; from != nil {
		if d == tensor.String {
			copy(to.Strings(), from.Strings())
		} else {
			copy(to.Bytes(), from.Bytes()[:min(len(to.Bytes()), len(from.Bytes()))])
		}
		c.Release(from)
	}
	p.whole = to
	return nil
}

// tensor returns the pile. An empty pile takes element type and extents from each, with 0 for
// unknown extents.
func (p *pile) tensor(c *op.Run, each func() graph.Type) (*tensor.Tensor, error) {
	if p.whole == nil {
		return stack(c, nil, 0, each())
	}
	if p.whole.Shape()[0] != p.n {
		if err := p.resize(c, p.whole.DType(), p.n); err != nil {
			return nil, err
		}
	}
	return p.whole, nil
}
