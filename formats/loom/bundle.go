package loom

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A block of Q4_0 is q4Block weights. A file has at least q4Words words of codes, in whole
// multiples of q4Step.
const (
	q4Block = 32
	q4Words = 512
	q4Step  = 64
)

// PackQ4_0 quantises weights in blocks of 32, pads the last block with zeros, and returns the bytes
// of the blob: the number of scales, the number of words, the float32 scales (the block's largest
// magnitude over 7), then words of eight codes each, the first in the lowest bits. The format
// differs from GGUF's Q4_0.
func PackQ4_0(w []float32) []byte {
	blocks := (len(w) + q4Block - 1) / q4Block
	words := max((4*blocks+q4Step-1)/q4Step*q4Step, q4Words)
	b := make([]byte, 8+4*blocks+4*words)
	order.PutUint32(b, uint32(blocks))
	order.PutUint32(b[4:], uint32(words))
	codes := b[8+4*blocks:]
	for i := range blocks {
		part := w[i*q4Block : min(len(w), (i+1)*q4Block)]
		scale := maxAbs(part) / 7
		order.PutUint32(b[8+4*i:], math.Float32bits(scale))
		if scale == 0 {
			continue
		}
		for j, x := range part {
			q := min(max(math.Round(float64(x/scale)), -8), 7)
			codes[i*q4Block/2+j/2] |= byte(integer(q)&15) << (j % 2 * 4)
		}
	}
	return b
}

// q4 splits the bytes of a blob of n weights into scales and codes.
func q4(b []byte, n int) (scales, codes []byte, err error) {
	if len(b) < 8 {
		return nil, nil, fmt.Errorf("%d bytes are too few for Q4_0", len(b))
	}
	blocks, words := uint64(order.Uint32(b)), uint64(order.Uint32(b[4:]))
	if want := 8 + 4*blocks + 4*words; want != uint64(len(b)) {
		return nil, nil, fmt.Errorf("%d blocks and %d words of Q4_0 take %d bytes, and there are %d", blocks, words, want, len(b))
	}
	if want := uint64(n/q4Block) + uint64(min(n%q4Block, 1)); blocks != want || words < 4*want {
		return nil, nil, fmt.Errorf("%d weights of Q4_0 take %d blocks and 4 words for each, and there are %d and %d words", n, want, blocks, words)
	}
	return b[8 : 8+4*blocks], b[8+4*blocks:], nil
}

// RestoreQ4_0 returns the n weights of a blob: each code times the scale of its block.
func RestoreQ4_0(b []byte, n int) (_ []float32, err error) {
	defer guard.At("").End(&err)
	scales, codes, err := q4(b, n)
	if err != nil {
		return nil, err
	}
	w := make([]float32, n)
	for i := range w {
		c := int8(codes[i/2]>>(i%2*4)<<4) >> 4
		w[i] = float32(c) * math.Float32frombits(order.Uint32(scales[i/q4Block*4:]))
	}
	return w, nil
}

// scales is the suffix that the tensor of a Q4_0 blob's scales adds to the blob's name.
const scales = ".scales"

// initQ4 gives init the codes of a Q4_0 blob and returns another initializer with the scales of its
// blocks. Both are views of the blob, unless a padding code has to be cleared.
func (b *Blob) initQ4(init *graph.Initializer) (*graph.Initializer, error) {
	n := b.Shape.Len()
	factors, codes, err := q4(b.Data, n)
	if err != nil {
		return nil, err
	}
	codes = codes[:tensor.I4.Bytes(n)]
	if n%2 == 1 && codes[len(codes)-1]>>4 != 0 {
		codes = bytes.Clone(codes)
		codes[len(codes)-1] &= 15
	}
	s := &graph.Initializer{Name: init.Name + scales, Stored: &graph.Stored{DType: Float32.String(), Offset: -1}}
	if b.offset >= 0 {
		s.Stored.Offset = b.offset + 8
	}
	if s.Tensor, err = tensor.FromBytes(tensor.F32, tensor.Shape{len(factors) / 4}, factors); err != nil {
		return nil, err
	}
	init.Meta = []graph.Pair{{Key: "block", Value: strconv.Itoa(q4Block), Kind: "int"}}
	init.Tensor, err = tensor.FromBytes(tensor.I4, b.Shape, codes)
	return s, err
}

// bitNet is a ternary matrix in the form of its blob.
type bitNet struct {
	rows, cols int
	offset     uint32 // first weight, counted in the layer's store
	scale      float32
	stride     int // bytes from one matrix row to the next
	codes      []byte
}

const bitNetHead = 24

// PackBitNet returns the bytes of a blob for a matrix of codes -1, 0 and 1 in row order: rows,
// columns, the offset of its first weight in the store, the scale, words per row, words; then rows
// of words of 16 codes each, stored as code + 1, the first in the lowest bits.
func PackBitNet(codes []int8, rows, cols, offset int, scale float32) []byte {
	words := (cols + 15) / 16
	b := make([]byte, bitNetHead+4*rows*words)
	for i, v := range []uint32{uint32(rows), uint32(cols), uint32(offset), math.Float32bits(scale), uint32(words), uint32(rows * words)} {
		order.PutUint32(b[4*i:], v)
	}
	for r := range rows {
		row := b[bitNetHead+4*r*words:]
		for c := range cols {
			row[c/4] |= byte(codes[r*cols+c]+1) & 3 << (c % 4 * 2)
		}
	}
	return b
}

func parseBitNet(b []byte) (*bitNet, error) {
	if len(b) < bitNetHead {
		return nil, fmt.Errorf("%d bytes are too few for %s", len(b), BitNetTernary)
	}
	at := func(i int) uint64 { return uint64(order.Uint32(b[4*i:])) }
	rows, cols, inRow, words := at(0), at(1), at(4), at(5)
	if inRow == 0 {
		inRow = (cols + 15) / 16
	}
	if inRow < (cols+15)/16 || rows > 0 && inRow > words/rows || words != uint64(len(b)-bitNetHead)/4 || len(b)%4 != 0 {
		return nil, fmt.Errorf("%d rows of %d columns in %d words do not fit in %d words and %d bytes", rows, cols, inRow, words, len(b))
	}
	return &bitNet{int(rows), int(cols), order.Uint32(b[8:]), math.Float32frombits(order.Uint32(b[12:])), int(4 * inRow), b[bitNetHead:]}, nil
}

func (t *bitNet) at(r, c int) int8 {
	return int8(t.codes[r*t.stride+c/4]>>(c%4*2)&3) - 1
}

func (t *bitNet) float32() []float32 {
	w := make([]float32, 0, t.rows*t.cols)
	for r := range t.rows {
		for c := range t.cols {
			w = append(w, float32(t.at(r, c))*t.scale)
		}
	}
	return w
}

// initBitNet gives init the codes of a ternary blob as t2, and the scale as metadata.
func (b *Blob) initBitNet(init *graph.Initializer) error {
	t, err := parseBitNet(b.Data)
	if err != nil {
		return err
	}
	n := t.rows * t.cols
	codes := make([]byte, tensor.T2.Bytes(n))
	layout := tensor.T2.Layout()
	for r := range t.rows {
		for c := range t.cols {
			v := t.at(r, c)
			if v > 1 {
				return fmt.Errorf("row %d, column %d holds the code 3, which stands for no ternary number", r, c)
			}
			layout.Set(codes, r*t.cols+c, v)
		}
	}
	init.Meta = []graph.Pair{{Key: "scale", Value: float(float64(t.scale), 32), Kind: Float32.String()}}
	init.Tensor, err = tensor.FromBytes(tensor.T2, b.Shape, codes)
	return err
}

// fitExtra checks the name and the size of a blob below a layer of a bundle, and sets its shape.
func (b *Blob) fitExtra(l *Layer) error {
	kind, key, keyed := strings.Cut(b.Name, ".")
	parts, err := l.Parts()
	if err != nil {
		return err
	}
	var part *Part
	if keyed {
		n, ok := index(key)
		for i := range parts {
			if ok && parts[i].Q4 != 0 && (kind == "q4_0" && n == parts[i].Q4 || kind == "bitnet_ternary" && n == 10000+parts[i].Offset) {
				part = &parts[i]
			}
		}
	}
	switch {
	case kind == "q4_0" && part != nil:
		b.Shape, b.Kind = part.Shape, Q4_0
		_, _, err := q4(b.Data, b.Shape.Len())
		return err
	case kind == "bitnet_ternary" && part != nil:
		b.Shape, b.Kind = part.Shape, BitNetTernary
		t, err := parseBitNet(b.Data)
		if err == nil && (t.rows != part.Shape[0] || t.cols != part.Shape[1] || int64(t.offset) != int64(part.Offset)) {
			return fmt.Errorf("a matrix of %d by %d from weight %d is %s of the layer, and the blob says %d by %d from %d",
				part.Shape[0], part.Shape[1], part.Offset, part.Name, t.rows, t.cols, t.offset)
		}
		return err
	case b.Name == "biases" && l.Type == SwiGLU:
		return b.plain(tensor.Shape{2*l.OutputHeight + l.InputHeight})
	case b.Name == "inner_norm" && l.Type == SwiGLU:
		return b.plain(tensor.Shape{l.OutputHeight})
	case b.Name == "inner_norm" && l.Type == MultiHeadAttention:
		return b.plain(parts[4].Shape)
	case (b.Name == "q_norm" || b.Name == "k_norm") && l.Type == MultiHeadAttention:
		return b.plain(tensor.Shape{l.HeadDim})
	}
	return fmt.Errorf("a %v layer has no part %q", l.Type, brief(b.Name))
}

// plain sets the shape of a float32 blob. It fails if the blob has another number of elements.
func (b *Blob) plain(shape tensor.Shape) error {
	n, err := product(shape...)
	if err != nil {
		return err
	}
	if b.Kind != "" || b.DType != Float32 || n == 0 || len(b.Data) != 4*n {
		return fmt.Errorf("%d bytes of %s are not the %d float32 that belong there", len(b.Data), b.word(), n)
	}
	b.Shape = shape
	return nil
}

// fitGlobal sets the shape of a blob that belongs to the whole bundle. A blob with an unknown name
// keeps its float32 numbers in one row.
func (b *Blob) fitGlobal(t *Transformer) error {
	shape := tensor.Shape{len(b.Data) / 4}
	if t != nil {
		switch b.Name {
		case "embeddings", "lm_head":
			shape = tensor.Shape{t.VocabSize, t.HiddenSize}
		case "final_norm":
			shape = tensor.Shape{t.HiddenSize}
		}
	}
	return b.plain(shape)
}

// index parses a number of a path: digits without a leading zero.
func index(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == s
}

// WeightDType returns the dtype of a bundle's decoder: the dtype that the bundle names, or else the
// one that its blobs have.
func (n *Network) WeightDType() DType {
	if t := n.Transformer; t != nil && t.WeightDType != "" {
		d, _ := ParseDType(t.WeightDType)
		return d
	}
	kinds := map[string]bool{}
	found := Float32
	for i, l := range n.Layers {
		for _, b := range l.Extra {
			kinds[b.Kind] = true
		}
		if b := l.Weights; b != nil && i%4 != 0 && b.Native && b.DType != Float32 && found == Float32 {
			found = b.DType
		}
	}
	switch {
	case kinds[Q4_0]:
		return Int4
	case kinds[BitNetTernary]:
		return Ternary
	}
	return found
}
