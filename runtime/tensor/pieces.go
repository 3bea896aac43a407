package tensor

// Pieces allocates elements in groups, for values of many small parts. An element in use keeps at
// most mostPieces others in memory.
type Pieces[T any] struct {
	free []T
	made int // elements of the last allocation
}

// mostPieces is the most elements of an allocation, unless one call takes more.
const mostPieces = 64

// Take returns n zero elements.
func (p *Pieces[T]) Take(n int) []T {
	if n > len(p.free) {
		p.made = max(n, min(2*p.made, mostPieces))
		p.free = make([]T, p.made)
	}
	list := p.free[:n:n]
	p.free = p.free[n:]
	return list
}

// New returns a zero element.
func (p *Pieces[T]) New() *T { return &p.Take(1)[0] }

// Vectors returns the rows of a matrix of n columns as tensors over it. They share one shape.
func Vectors[T Element](data []T, rows, n int) []Tensor {
	list, shape, d := make([]Tensor, rows), Shape{n}, Of[T]()
	for i := range list {
		list[i] = Tensor{dtype: d, shape: shape, data: bytesOf(data[i*n : (i+1)*n : (i+1)*n])}
	}
	return list
}

// smallBytes is the size of the largest tensor that shares memory with other copies.
const smallBytes = 4 * Align

// Cloner returns a function that copies tensors. Copies of small tensors share larger pieces of
// memory; clone copies the others.
func Cloner(clone func(t *Tensor) *Tensor) func(t *Tensor) *Tensor {
	var tensors Pieces[Tensor]
	var extents Pieces[int]
	var free []byte // rest of the last allocation, of made bytes
	made := 0
	return func(t *Tensor) *Tensor {
		n := t.Size()
		if t.dtype == String || n > smallBytes {
			return clone(t)
		}
		c := tensors.New()
		c.dtype, c.shape = t.dtype, extents.Take(len(t.shape))
		copy(c.shape, t.shape)
		if n > 0 {
			room := (n + Align - 1) / Align * Align
			if room > len(free) {
				made = min(max(room, 2*made), mostPieces*Align)
				free = alignedBytes(made)
			}
			c.data, free = free[:n:n], free[room:]
			copy(c.data, t.Bytes())
		}
		return c
	}
}
