package exchange

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// change is the difference between a tensor of a file and of a folder. Its functions take the suffix
// of the name, .weight or .bias.
type change struct {
	outward func(x *exchange, t *tensor.Tensor, suffix string) (*tensor.Tensor, error) // from a file to a folder
	inward  func(x *exchange, t *tensor.Tensor, suffix string) (*tensor.Tensor, error)
}

const (
	weight = ".weight"
	bias   = ".bias"
)

// The rows of queries and of keys: folders have the two halves of a head's columns after each
// other, and files of some architectures pairs.
var (
	queries = turned(func(x *exchange) int { return x.heads })
	keys    = turned(func(x *exchange) int { return x.kvHeads })
)

// turned returns the change of the order of the rows of heads.
func turned(heads func(x *exchange) int) *change {
	by := func(inward bool) func(x *exchange, t *tensor.Tensor, _ string) (*tensor.Tensor, error) {
		return func(x *exchange, t *tensor.Tensor, _ string) (*tensor.Tensor, error) {
			n, half := heads(x), x.headDim/2
			if t.Shape()[0] != n*x.headDim || x.headDim%2 != 0 {
				return nil, graph.Errorf(graph.ErrFormat, "has %d rows, and %d heads of %d are expected", t.Shape()[0], n, x.headDim)
			}
			return x.rows(t, func(row int) int {
				head, at := row/x.headDim*x.headDim, row%x.headDim
				if inward {
					return head + at%2*half + at/2
				}
				return head + at%half*2 + at/half
			})
		}
	}
	return &change{by(false), by(true)}
}

// rows returns a tensor whose row i is row from(i) of t.
func (x *exchange) rows(t *tensor.Tensor, from func(row int) int) (*tensor.Tensor, error) {
	if err := x.take(t.Size()); err != nil {
		return nil, err
	}
	out := tensor.New(t.DType(), t.Shape()...)
	n := t.Shape()[0]
	size := t.Size() / max(n, 1)
	if t.DType().Bytes(t.Len()/max(n, 1)) != size {
		return nil, graph.Errorf(graph.ErrUnsupported, "is of %v, whose rows are no whole bytes", t.DType())
	}
	for i := range n {
		copy(out.Bytes()[i*size:][:size], t.Bytes()[from(i)*size:][:size])
	}
	return out, nil
}

// offset is the change of the norms of Gemma, which are 1 less in folders.
var offset = &change{
	func(x *exchange, t *tensor.Tensor, _ string) (*tensor.Tensor, error) { return x.plus(t, -1) },
	func(x *exchange, t *tensor.Tensor, _ string) (*tensor.Tensor, error) { return x.plus(t, 1) },
}

// plus returns t+by as float32.
func (x *exchange) plus(t *tensor.Tensor, by float64) (*tensor.Tensor, error) {
	out, err := x.floats(t)
	if err != nil {
		return nil, err
	}
	for i, v := range tensor.View[float32](out) {
		tensor.View[float32](out)[i] = float32(float64(v) + by)
	}
	return out, nil
}

// floats returns a copy of t as float32.
func (x *exchange) floats(t *tensor.Tensor) (*tensor.Tensor, error) {
	read := container.Decoder(t.DType())
	if read == nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "is of %v, where floating-point numbers are wanted", t.DType())
	}
	const part = 1 << 12 // blocks of any type are whole
	if err := x.take(4 * t.Len()); err != nil {
		return nil, err
	}
	out := tensor.New(tensor.F32, t.Shape()...)
	to, values := tensor.View[float32](out), make([]float64, min(part, t.Len()))
	for at := 0; at < len(to); at += part {
		n := min(part, len(to)-at)
		read(values[:n], t.Bytes()[t.DType().Bytes(at):])
		for i, v := range values[:n] {
			to[at+i] = float32(v)
		}
	}
	return out, nil
}

// transposed is the change of matrices that folders have as [in,out].
var transposed = &change{(*exchange).transpose, (*exchange).transpose}

// transpose exchanges the axes of a matrix. Blocks become float32.
func (x *exchange) transpose(t *tensor.Tensor, suffix string) (*tensor.Tensor, error) {
	if suffix != weight || len(t.Shape()) != 2 {
		return t, nil
	}
	return x.swapped(t)
}

// swapped exchanges the last two axes. Blocks become float32.
func (x *exchange) swapped(t *tensor.Tensor) (*tensor.Tensor, error) {
	if t.DType().Blocks() != nil {
		var err error
		if t, err = x.floats(t); err != nil {
			return nil, err
		}
	}
	size := t.DType().Bits() / 8
	if size*8 != t.DType().Bits() {
		return nil, graph.Errorf(graph.ErrUnsupported, "is of %v, which has no whole bytes", t.DType())
	}
	if err := x.take(t.Size()); err != nil {
		return nil, err
	}
	shape := slices.Clone(t.Shape())
	k := len(shape)
	rows, columns := shape[k-2], shape[k-1]
	shape[k-2], shape[k-1] = columns, rows
	out := tensor.New(t.DType(), shape...)
	from, to := t.Bytes(), out.Bytes()
	for base := 0; base < len(from); base += rows * columns * size {
		for i := range rows {
			for j := range columns {
				copy(to[base+(j*rows+i)*size:][:size], from[base+(i*columns+j)*size:][:size])
			}
		}
	}
	return out, nil
}

// reshaped returns the change of a shape. Outward and inward give the extents of the other side.
func reshaped(outward, inward func(shape tensor.Shape) []int) *change {
	by := func(shape func(tensor.Shape) []int) func(*exchange, *tensor.Tensor, string) (*tensor.Tensor, error) {
		return func(_ *exchange, t *tensor.Tensor, suffix string) (*tensor.Tensor, error) {
			if suffix != weight {
				return t, nil
			}
			return tensor.FromBytes(t.DType(), shape(t.Shape()), t.Bytes())
		}
	}
	return &change{by(outward), by(inward)}
}

var (
	// taps are [n,taps] in files and [n,1,taps] in folders.
	taps = reshaped(func(s tensor.Shape) []int { return []int{s[0], 1, s[len(s)-1]} }, func(s tensor.Shape) []int { return []int{s[0], s[len(s)-1]} })
	// line is [n] in files and [1,n] in folders.
	line = reshaped(func(s tensor.Shape) []int { return []int{1, s.Len()} }, func(s tensor.Shape) []int { return []int{s.Len()} })
)

// swappedExperts is the change of experts that folders have as [experts,in,out].
var swappedExperts = &change{(*exchange).swapExperts, (*exchange).swapExperts}

func (x *exchange) swapExperts(t *tensor.Tensor, suffix string) (*tensor.Tensor, error) {
	if suffix != weight || len(t.Shape()) != 3 {
		return t, nil
	}
	return x.swapped(t)
}

// parts cuts a tensor into n tensors along its first axis, or, with whole, into tensors without it.
func parts(t *tensor.Tensor, n int, whole bool) ([]*tensor.Tensor, error) {
	shape := t.Shape()
	if len(shape) == 0 || n < 1 || shape[0]%n != 0 || whole && shape[0] != n {
		return nil, graph.Errorf(graph.ErrFormat, "is %v, and %d parts are expected", t, n)
	}
	part := slices.Clone(shape[1:])
	if !whole {
		part = append([]int{shape[0] / n}, part...)
	}
	size := t.Size() / n
	list := make([]*tensor.Tensor, n)
	for i := range list {
		p, err := tensor.FromBytes(t.DType(), part, t.Bytes()[i*size:][:size:size])
		if err != nil {
			return nil, err
		}
		list[i] = p
	}
	return list, nil
}

// stack returns the tensors of a list as one, with a new first axis.
func (x *exchange) stack(list []*tensor.Tensor) (*tensor.Tensor, error) {
	of, bytes := list[0], 0
	for _, t := range list {
		if t.DType() != of.DType() || !t.Shape().Equal(of.Shape()) {
			return nil, graph.Errorf(graph.ErrFormat, "are %v and %v, where equal types and shapes are wanted", of, t)
		}
		bytes += t.Size()
	}
	if err := x.take(bytes); err != nil {
		return nil, err
	}
	out := tensor.New(of.DType(), append([]int{len(list)}, of.Shape()...)...)
	for i, t := range list {
		copy(out.Bytes()[i*of.Size():], t.Bytes())
	}
	return out, nil
}

// named adds the name of a tensor to an error about it.
func named(name string, err error) error {
	return fmt.Errorf("tensor %q %w", name, err)
}
