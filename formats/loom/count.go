package loom

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Shape returns the extents of the layer's store: the matrix or kernel shape if the store is one
// array, else the number of weights, in the order of Parts. It is nil for types without weights and
// if the configuration gives none. Negative or too large extents are an error.
func (l *Layer) Shape() (_ tensor.Shape, err error) {
	defer guard.At("").End(&err)
	if l.Weightless() {
		return nil, nil
	}
	dims := l.dims()
	if dims == nil {
		parts, err := l.Parts()
		n := 0
		for _, p := range parts {
			n += p.Shape.Len()
		}
		if err == nil && n < 0 {
			err = errTooLarge
		}
		if err != nil || n == 0 {
			return nil, err
		}
		return tensor.Shape{n}, nil
	}
	n, err := product(dims...)
	if err != nil || n == 0 {
		return nil, err
	}
	return dims, nil
}

// Count returns the number of weights in the layer's store.
func (l *Layer) Count() (_ int, err error) {
	defer guard.At("").End(&err)
	s, err := l.Shape()
	if s == nil {
		return 0, err
	}
	return s.Len(), err
}

// Weightless reports whether layers of this type never have weights.
func (l *Layer) Weightless() bool {
	switch l.Type {
	case Softmax, Parallel, Sequential, Residual, Metacognition:
		return true
	}
	return false
}

// dims returns the extents of a store that is one array; nil for other stores.
func (l *Layer) dims() tensor.Shape {
	axes := 0
	switch l.Type {
	case Dense:
		return tensor.Shape{l.OutputHeight, l.InputHeight}
	case RMSNorm:
		return tensor.Shape{l.InputHeight}
	case LayerNorm:
		return tensor.Shape{2, l.InputHeight}
	case Embedding:
		return tensor.Shape{l.VocabSize, l.EmbeddingDim}
	case KMeans:
		return tensor.Shape{l.NumClusters, l.InputHeight}
	case CNN1, ConvTransposed1D:
		axes = 1
	case CNN2, ConvTransposed2D:
		axes = 2
	case CNN3, ConvTransposed3D:
		axes = 3
	default:
		return nil
	}
	s := tensor.Shape{l.Filters, l.InputChannels}
	for range axes {
		k := l.KernelSize
		if k == 0 {
			k = 1
		}
		s = append(s, k)
	}
	return s
}

// Part is one matrix or vector of a store that holds several.
type Part struct {
	Name   string
	Offset int // of its first weight in the store
	Shape  tensor.Shape
	Q4     int // the key of its Q4_0 blob in a bundle; 0 for vectors
}

// Parts returns the weights in the store of MultiHeadAttention, SwiGLU, RNN and LSTM, in store
// order; nil for other types.
func (l *Layer) Parts() (_ []Part, err error) {
	defer guard.At("").End(&err)
	var parts []Part
	i, h := l.InputHeight, l.OutputHeight
	switch l.Type {
	case MultiHeadAttention:
		d, q := l.DModel, l.QueryDim
		if q == 0 {
			q = d
		}
		k, err := product(l.NumKVHeads, l.HeadDim)
		if err != nil {
			return nil, err
		}
		if k == 0 {
			k = d
		}
		parts = []Part{{"q", 0, tensor.Shape{q, d}, 200}, {"k", 0, tensor.Shape{k, d}, 201}, {"v", 0, tensor.Shape{k, d}, 202}, {"o", 0, tensor.Shape{d, q}, 203},
			{"bq", 0, tensor.Shape{q}, 0}, {"bk", 0, tensor.Shape{k}, 0}, {"bv", 0, tensor.Shape{k}, 0}, {"bo", 0, tensor.Shape{d}, 0}}
	case SwiGLU:
		parts = []Part{{"gate", 0, tensor.Shape{h, i}, 100}, {"up", 0, tensor.Shape{h, i}, 101}, {"down", 0, tensor.Shape{i, h}, 102},
			{"bgate", 0, tensor.Shape{h}, 0}, {"bup", 0, tensor.Shape{h}, 0}, {"bdown", 0, tensor.Shape{i}, 0}}
	case RNN:
		parts = recurrent("", h, i)
	case LSTM:
		for _, gate := range []string{"i", "f", "g", "o"} {
			parts = append(parts, recurrent(gate+".", h, i)...)
		}
	}
	at := 0
	for k := range parts {
		n, err := product(parts[k].Shape...)
		if err != nil || at > math.MaxInt/64-n {
			return nil, errTooLarge
		}
		parts[k].Offset = at
		at += n
	}
	return parts, nil
}

func recurrent(gate string, h, i int) []Part {
	return []Part{{gate + "ih", 0, tensor.Shape{h, i}, 0}, {gate + "hh", 0, tensor.Shape{h, h}, 0}, {gate + "b", 0, tensor.Shape{h}, 0}}
}

var errTooLarge = fmt.Errorf("its extents are negative or give more weights than memory can hold")

// product returns the number of weights with these extents. It fails above MaxInt/1024, so that
// sums of a few products and their bits fit an int.
func product(dims ...int) (int, error) {
	n := 1
	for _, d := range dims {
		if d < 0 || d > 0 && n > math.MaxInt/1024/d {
			return 0, errTooLarge
		}
		n *= d
	}
	return n, nil
}

// Marks of the defaults that a reader filled in.
const (
	filledSeqLength = 1 << iota
	filledHeadDim
	filledNumKVHeads
	filledQueryDim
)

// defaults calls f with every field that has a default, and with the default.
func (l *Layer) defaults(f func(mark uint8, at *int, value int)) {
	if l.Type == MultiHeadAttention {
		head := 0
		if l.NumHeads > 0 {
			head = l.DModel / l.NumHeads
		}
		f(filledHeadDim, &l.HeadDim, head)
		f(filledNumKVHeads, &l.NumKVHeads, l.NumHeads)
		f(filledQueryDim, &l.QueryDim, l.DModel)
	}
	f(filledSeqLength, &l.SeqLength, 1)
}

// fill sets fields that are zero, and a negative SeqLength, to their defaults. It records them in
// filled.
func (l *Layer) fill() {
	l.defaults(func(mark uint8, at *int, value int) {
		if *at == 0 && value != 0 || mark == filledSeqLength && *at < 0 {
			*at = value
			l.filled |= mark
		}
	})
}

// unfilled returns the layer without the defaults that a reader filled in, as its file has it.
func (l *Layer) unfilled() *Layer {
	c := *l
	c.defaults(func(mark uint8, at *int, value int) {
		if c.filled&mark != 0 && *at == value {
			*at = 0
		}
	})
	return &c
}

// recurs reports whether the number of time steps matters to the layer. An ENTITY file then stores
// it even if it is 1.
func (l *Layer) recurs() bool {
	return l.Type == MultiHeadAttention || l.Type == RNN || l.Type == LSTM
}
