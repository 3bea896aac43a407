package op

import (
	"crypto/sha256"
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// columnOrder brings columns that g_idx spreads over blocks together, so that weights
// are regular: place p holds column order[p], or none where that is -1.
type columnOrder struct {
	order []int32
	codes []byte // of the weights in that order
}

// orderColumns sorts constant weights, unless a block has more columns than it holds
// places; then, and where weights or g_idx are not constant, columns stay where they
// are.
func (o *matMulNBits) orderColumns(c *Prepare) error {
	w, index := c.Const(1), c.Const(4)
	blocks := (o.k-1)/o.block + 1
	row := blocks * (o.block / 8 * o.bits)
	if w == nil || index == nil || w.DType() != tensor.U8 || w.Len()%row != 0 || w.Len()/row != o.n || index.DType() != tensor.I32 || index.Len() < o.k {
		return nil
	}
	group := tensor.View[int32](index.Aligned())[:o.k]
	order, next := make([]int32, blocks*o.block), make([]int, blocks)
	for p := range order {
		order[p] = -1
	}
	for p, b := range group {
		if b < 0 || int(b) >= blocks || next[b] == o.block {
			return nil
		}
		order[int(b)*o.block+next[b]] = int32(p)
		next[b]++
	}
	kind := fmt.Sprintf("columns of %d bits, %d by %d, %x", o.bits, o.n, o.k, sha256.Sum256(index.Bytes()))
	codes, err := c.Packs.Get(w, kind, w.Len(), func(dst []byte) { reorderCodes(dst, w.Bytes(), order, row, o.bits) })
	if err != nil {
		return err
	}
	o.columns = &columnOrder{order, codes}
	c.Drop(1)
	return nil
}

// reorderCodes writes rows of codes in that order, 0 where there is no column.
func reorderCodes(dst, src []byte, order []int32, row, bits int) {
	mask := byte(1<<bits - 1)
	clear(dst)
	for at := 0; at < len(src); at += row {
		from, to := src[at:][:row], dst[at:][:row]
		for p, column := range order {
			if column >= 0 {
				bit := int(column) * bits
				to[p*bits/8] |= from[bit/8] >> (bit % 8) & mask << (p * bits % 8)
			}
		}
	}
}

// rows returns m rows of k numbers in that order.
func (o *columnOrder) rows(c *Run, a []float32, m, k int) ([]float32, error) {
	deep := len(o.order)
	out, err := c.scratchFloats(m * deep)
	if err != nil {
		return nil, err
	}
	for i := range m {
		from, to := a[i*k:][:k], out[i*deep:][:deep]
		for p, column := range o.order {
			if column < 0 {
				to[p] = 0
			} else {
				to[p] = from[column]
			}
		}
	}
	return out, nil
}

// set makes p a product of ordered columns.
func (o *columnOrder) set(p *lowProduct) {
	p.codes, p.columns, p.g.Group = unsafe.Pointer(unsafe.SliceData(o.codes)), o, nil
}
