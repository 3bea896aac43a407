package loom

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Guess holds the roles that Loom assigns to the tensors of a file from their shapes and magnitudes
// alone. It is a hint, and may be wrong.
type Guess struct {
	Tensors    []Seen // by name
	Archetypes []Archetype
	Missed     []int // tensors in no archetype
}

// Seen is one tensor.
type Seen struct {
	Name  string
	Shape tensor.Shape
	// MeanAbs and VarAbs are the mean and the variance of the elements' magnitudes.
	MeanAbs, VarAbs float32

	dtype DType
	w     []float32
}

// Archetype is a set of tensors that look like one layer.
type Archetype struct {
	Type    LayerType
	Name    string         // of the kind, for display
	Indices map[string]int // of tensors, by role
	Geom    map[string]int // extents, by Loom's letters; nil for none
}

// GuessOf guesses the roles of a model's initializers. Elements narrower than a byte and types that
// are not numbers are an error.
func GuessOf(m *graph.Model) (_ *Guess, err error) {
	defer guard.At(m.File).End(&err)
	g := &Guess{}
	for _, init := range m.Graph.Initializers {
		d, w, err := numbers(init.Tensor)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", init.Name, err)
		}
		s := Seen{Name: init.Name, Shape: init.Tensor.Shape(), dtype: d, w: w}
		s.MeanAbs, s.VarAbs = magnitude(w)
		g.Tensors = append(g.Tensors, s)
	}
	slices.SortStableFunc(g.Tensors, func(a, b Seen) int { return strings.Compare(a.Name, b.Name) })
	f := finder{g, make([]bool, len(g.Tensors))}
	for i := range g.Tensors {
		if !f.used[i] {
			f.group(i)
		}
	}
	for i := range g.Tensors {
		if !f.used[i] && !f.single(i) {
			g.Missed = append(g.Missed, i)
		}
	}
	return g, nil
}

// numbers returns the elements of a tensor as float32, and Loom's name of their type.
func numbers(t *tensor.Tensor) (DType, []float32, error) {
	for d, row := range dtypes {
		if row.codes == t.DType() && row.bits >= 8 {
			w, err := Restore(DType(d), t.Bytes(), 1, t.Len())
			return DType(d), w, err
		}
	}
	return 0, nil, fmt.Errorf("%v cannot become float32 here", t.DType())
}

func magnitude(w []float32) (mean, variance float32) {
	if len(w) == 0 {
		return 0, 0
	}
	var sum, squares float64
	for _, x := range w {
		sum += math.Abs(float64(x))
	}
	m := sum / float64(len(w))
	for _, x := range w {
		d := math.Abs(float64(x)) - m
		squares += d * d
	}
	return float32(m), float32(squares / float64(len(w)))
}

// Tensors look like scales if their mean magnitude is above scaleLike, and like biases if it is
// below biasLike.
const (
	scaleLike = 0.4
	biasLike  = 0.2
)

type finder struct {
	*Guess
	used []bool
}

// like returns the unused tensors other than i for which fits is true.
func (f *finder) like(i int, fits func(s *Seen) bool) []int {
	var list []int
	for j := range f.Tensors {
		if j != i && !f.used[j] && fits(&f.Tensors[j]) {
			list = append(list, j)
		}
	}
	return list
}

func (f *finder) add(kind LayerType, name string, indices, geom map[string]int) {
	for _, i := range indices {
		f.used[i] = true
	}
	f.Archetypes = append(f.Archetypes, Archetype{kind, name, indices, geom})
}

// vector reports whether s has a single axis of length n.
func (s *Seen) vector(n int) bool { return len(s.Shape) == 1 && s.Shape[0] == n }

// group looks for a layer that tensor i forms together with others.
func (f *finder) group(i int) {
	s := f.Tensors[i].Shape
	switch len(s) {
	case 1:
		f.norm(i)
		return
	case 2:
	default:
		return
	}
	rows, cols := s[0], s[1]
	equal := f.like(i, func(t *Seen) bool { return t.Shape.Equal(s) })
	if rows == cols && len(equal) >= 3 {
		roles := map[string]int{"q": i, "k": equal[0], "v": equal[1], "o": equal[2]}
		biases := f.like(i, func(t *Seen) bool { return t.vector(rows) && t.MeanAbs < biasLike })
		for k, j := range biases[:min(len(biases), 4)] {
			roles[[]string{"qb", "kb", "vb", "ob"}[k]] = j
		}
		f.add(MultiHeadAttention, "Multi-Head Attention", roles, map[string]int{"d": rows})
		return
	}
	if cols <= math.MaxInt/4 && rows == 4*cols && len(equal) >= 1 {
		f.add(LSTM, "LSTM Unit", map[string]int{"ih": i, "hh": equal[0]}, map[string]int{"h": cols})
		return
	}
	either := f.like(i, func(t *Seen) bool { return t.Shape.Equal(s) || t.Shape.Equal(tensor.Shape{cols, rows}) })
	if len(either) < 2 {
		return
	}
	members := []int{i, either[0], either[1]}
	down := -1
	for k, j := range members {
		if t := f.Tensors[j].Shape; t[0] < t[1] {
			down = k
		}
	}
	if down < 0 {
		return
	}
	d := members[down]
	members = slices.Delete(members, down, down+1)
	f.add(SwiGLU, "SwiGLU Block", map[string]int{"d": d, "g": members[0], "u": members[1]},
		map[string]int{"h": f.Tensors[d].Shape[0], "i": f.Tensors[d].Shape[1]})
}

// norm takes all vectors of the same length as i for one normalisation. A role that tensor 0 has
// counts as free, as in Loom.
func (f *finder) norm(i int) {
	n := f.Tensors[i].Shape[0]
	roles := map[string]int{}
	if f.Tensors[i].MeanAbs > scaleLike {
		roles["s"] = i
	} else {
		roles["b"] = i
	}
	for _, j := range f.like(i, func(t *Seen) bool { return t.vector(n) }) {
		switch mean := f.Tensors[j].MeanAbs; {
		case mean > scaleLike && roles["s"] == 0:
			roles["s"] = j
		case mean < biasLike && roles["b"] == 0:
			roles["b"] = j
		default:
			roles[fmt.Sprintf("stat_%d", j)] = j
		}
	}
	name := "Normalization Cluster"
	_, scale := roles["s"]
	if _, bias := roles["b"]; scale && bias {
		name = "LayerNorm Doublet"
	}
	f.add(LayerNorm, name, roles, map[string]int{"d": n})
}

// single finds the layer that tensor i forms by itself, or with a bias.
func (f *finder) single(i int) bool {
	t := &f.Tensors[i]
	s := t.Shape
	roles := map[string]int{"w": i}
	bias := func() {
		if list := f.like(i, func(t *Seen) bool { return t.vector(s[0]) && t.MeanAbs < biasLike }); len(list) > 0 {
			roles["b"] = list[0]
		}
	}
	switch {
	case len(t.w) < 10:
		f.add(Sequential, "Structural Metadata", map[string]int{"m": i}, nil)
	case len(s) == 4:
		bias()
		f.add(CNN2, "CNN2D", roles, map[string]int{"f": s[0], "c": s[1], "k": s[2]})
	case len(s) == 3:
		bias()
		f.add(CNN1, "CNN1D", roles, map[string]int{"f": s[0], "c": s[1], "k": s[2]})
	case len(s) == 2 && s[0]/10 >= s[1] && s[0] > 10*s[1]:
		f.add(Embedding, "Embedding Cluster", roles, map[string]int{"v": s[0], "d": s[1]})
	case len(s) == 2:
		bias()
		f.add(Dense, "Dense Linear", roles, map[string]int{"out": s[0], "in": s[1]})
	case len(s) == 1 && t.MeanAbs > scaleLike:
		f.add(RMSNorm, "Normalization Parameter", roles, map[string]int{"d": s[0]})
	default:
		return false
	}
	return true
}

// Mount puts the archetypes in one cell, in order. Only Dense, Embedding and RMSNorm get their
// weights. SwiGLU, LSTM, LayerNorm and MultiHeadAttention get zeros, and convolutions nothing.
// Attention is assumed to have 12 heads.
func (g *Guess) Mount() *Network {
	n := &Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: len(g.Archetypes)}
	for i, a := range g.Archetypes {
		w, whole := a.Indices["w"]
		l := &Layer{L: i, Type: a.Type, DType: g.Tensors[w].dtype}
		switch a.Type {
		case MultiHeadAttention:
			l.DModel, l.NumHeads = a.Geom["d"], 12
		case SwiGLU:
			l.InputHeight, l.OutputHeight = a.Geom["h"], a.Geom["i"]
		case LSTM:
			l.InputHeight, l.OutputHeight = a.Geom["h"], a.Geom["h"]
		case LayerNorm, RMSNorm:
			l.InputHeight = a.Geom["d"]
		case Embedding:
			l.VocabSize, l.EmbeddingDim = a.Geom["v"], a.Geom["d"]
		case Dense:
			l.InputHeight, l.OutputHeight = a.Geom["in"], a.Geom["out"]
		}
		l.fill()
		if count, err := l.Count(); err == nil && count > 0 {
			weights := make([]float32, count)
			if whole {
				copy(weights, g.Tensors[w].w)
			}
			l.Weights = NewStore(l.DType, weights)
		}
		n.Layers = append(n.Layers, l)
	}
	return n
}

// DecodeSafeTensor returns n elements of a tensor of a safetensors file as Loom reads them. dtype
// is the name in the file. F4, which only Loom writes, is its own FP4 with the first element in the
// low bits. Other names are an error.
func DecodeSafeTensor(dtype string, b []byte, n int) (_ []float32, err error) {
	defer guard.At("").End(&err)
	words := map[string]DType{"F64": Float64, "F32": Float32, "F16": Float16, "BF16": BFloat16, "I64": Int64, "I32": Int32, "I16": Int16, "I8": Int8,
		"U64": Uint64, "U32": Uint32, "U16": Uint16, "U8": Uint8, "F4": FP4}
	d, ok := words[dtype]
	if !ok {
		return nil, fmt.Errorf("no type of Loom reads %s from safetensors", dtype)
	}
	if d == FP4 {
		b = lowFirst(b, 2*len(b), 4)
	}
	return Restore(d, b, 1, n)
}
