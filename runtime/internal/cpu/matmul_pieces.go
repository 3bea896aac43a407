package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A packed right operand is packed in pieces of about pieceBytes. pieceColumns columns are whole
// panels of every kernel. columnsWord and depthWord are the words with the numbers of columns and
// rows.
const (
	pieceBytes   = 1 << 20
	pieceColumns = 96
	columnsWord  = 1
	depthWord    = 2
)

// panels is a right operand packed in panels of columns. Panels follow each other, and each is
// stored row by row.
type panels struct {
	kernel      bindings.Kernel
	list        []int64 // words of its packing
	columns     int
	depth       int // rows
	element     int // bytes of an element
	panel       int // columns of a panel
	columnBytes int // bytes of a packed column
}

// pieces divides a right operand with a packed form of n bytes: by columns if its columns are
// contiguous, by rows if its rows are. Other operands, small ones, and ones not packed in panels
// are one piece.
func (g *gemm) pieces(k bindings.Kernel, list []int64, n int) pieces {
	p := &panels{kernel: k, list: list, element: g.right().Bits() / 8, panel: k.Panel()}
	p.columns, _ = g.N.Value()
	p.depth, _ = g.K.Value()
	p.columnBytes = p.depth * p.element
	one := whole(k, list, 1)
	if len(g.Batch) > 0 || p.columns < pieceColumns || p.columns*p.columnBytes <= pieceBytes || !p.takes(n) {
		return one
	}
	switch {
	case g.BRow.Is(1) && g.BCol.Same(g.K):
		step := max(pieceBytes/p.columnBytes/pieceColumns, 1) * pieceColumns
		return pieces{rows: p.columns, step: step, unit: pieceColumns, fill: p.fillColumns}
	case g.BCol.Is(1) && g.BRow.Same(g.N):
		return pieces{rows: p.depth, step: max(pieceBytes/(p.columns*p.element), 1), unit: 1, fill: p.fillRows}
	}
	return one
}

// takes reports whether whole panels make up pieceColumns columns, and all panels take n bytes.
func (p *panels) takes(n int) bool {
	if p.panel == 0 || pieceColumns%p.panel != 0 {
		return false
	}
	return filled(n, (p.columns+p.panel-1)/p.panel*p.panel*p.columnBytes)
}

// filled reports whether n is bytes rounded up to a multiple of 64.
func filled(n, bytes int) bool { return n >= bytes && n-bytes < 64 }

// words returns the words of packing that many columns and rows.
func (p *panels) words(columns, depth int) []int64 {
	list := slices.Clone(p.list)
	list[columnsWord], list[depthWord] = int64(columns), int64(depth)
	return list
}

// fillColumns packs contiguous columns.
func (p *panels) fillColumns(w *tensor.Tensor, from, columns int, all []byte) error {
	p.kernel.Pack(p.words(columns, p.depth), 1, w.Bytes(), all[from*p.columnBytes:])
	return nil
}

// fillRows packs contiguous rows, into their part of each panel.
func (p *panels) fillRows(w *tensor.Tensor, from, rows int, all []byte) error {
	list := p.words(p.panel, rows)
	for at := 0; at < p.columns; at += p.panel {
		list[columnsWord] = int64(min(p.panel, p.columns-at))
		p.kernel.Pack(list, 1, w.Bytes()[at*p.element:], all[at*p.columnBytes+from*p.panel*p.element:])
	}
	return nil
}
