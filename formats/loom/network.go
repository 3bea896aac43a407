package loom

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Network holds the contents of a Loom file: layers in a grid of cells, and their weights. Readers
// of this package return it as the Source of a model, and writers write it.
type Network struct {
	Depth, Rows, Cols, LayersPerCell int
	Layers                           []*Layer     // by Index; cells that the file omits have none
	Spec                             bool         // an architecture without weights, in its own JSON
	Transformer                      *Transformer // for a bundle; nil for other networks
	Globals                          []*Blob      // for a bundle: embeddings, lm_head, final_norm

	order   []*Blob // in file order; nil for the order of Walk
	partial bool    // read without the weights of some layers
}

// Layer is one layer with its configuration. The type decides which fields count. A field that the
// file omits is zero, except for the defaults that readers fill in: a SeqLength of 1 and, for
// MultiHeadAttention, HeadDim, NumKVHeads and QueryDim.
type Layer struct {
	Z, Y, X, L int // in the grid; 0 in nested layers
	Type       LayerType
	Activation Activation
	DType      DType // of the layer; a store may have another

	InputHeight, InputWidth, InputDepth                                int
	OutputHeight, OutputWidth, OutputDepth                             int
	InputChannels, Filters, KernelSize, Stride, Padding, OutputPadding int
	NumHeads, NumKVHeads, HeadDim, QueryDim, DModel                    int
	SeqLength                                                          int
	RopeFreqBase                                                       float64 // 0 means 10000
	VocabSize, EmbeddingDim                                            int
	NumClusters                                                        int
	KMeansTemperature                                                  float64 // 0 means 1
	OutputMode                                                         string
	SoftmaxType                                                        SoftmaxType
	Temperature                                                        float64
	SoftmaxRows, SoftmaxCols                                           int
	EntmaxAlpha                                                        float64
	GumbelNoise                                                        bool
	UseTiling                                                          bool
	TileSize                                                           int
	Disabled                                                           bool
	CombineMode                                                        string

	Weights  *Blob   // the store; nil for none
	Extra    []*Blob // for bundles: Q4_0 and BitNet matrices, biases, norms of parts
	Branches []*Layer
	Steps    []*Layer // of Sequential
	Observed *Layer   // by Metacognition
	Rules    []Rule

	// Fields that only the spec of an architecture has.
	Remote    bool   // means the layer of the grid at Target
	Target    [4]int // z, y, x, l
	Mask      []bool
	Hierarchy []int

	filled uint8 // defaults that a reader filled in
}

// Rule is a condition of a Metacognition layer and the reaction to it.
type Rule struct {
	Condition      int
	Threshold      float64
	Command, Param float32
	Cooldown       int
	SelfOnly       bool
}

// Transformer describes the network of a bundle.
type Transformer struct {
	Architecture             string
	HiddenSize, VocabSize    int
	LMHeadTied, HasFinalNorm bool
	WeightDType              string // a dtype's name; empty for none
	Dims                     *Dims  // nil for none
}

// Dims holds the extents of a decoder.
type Dims struct {
	NumLayers, NumHeads, NumKVHeads, HeadDim, QueryDim, KVDim, IntermediateSize int
	RMSNormEps, RopeFreqBase                                                    float64
	Activation                                                                  string
}

// Blob holds weights in the form of a file.
type Blob struct {
	Name   string // below its layer: empty for the store, else e.g. q4_0.200 or q_norm
	Kind   string // empty for packed codes of DType, or Q4_0 or BITNET_TERNARY
	DType  DType
	Scale  float32
	Native bool   // codes; else plain float32, of DType Float32
	Data   []byte // packed; may be longer than the weights need
	Shape  tensor.Shape

	offset int64 // of Data in its file, negative for none
}

// Kinds of blobs that no dtype describes.
const (
	Q4_0          = "Q4_0"
	BitNetTernary = "BITNET_TERNARY"
)

// word returns the name of the blob's kind or dtype in files.
func (b *Blob) word() string {
	if b.Kind != "" {
		return b.Kind
	}
	return b.DType.String()
}

// NewStore quantises weights for the store of a layer. w has the layer's Count of weights.
func NewStore(d DType, w []float32) *Blob {
	s, _ := newStore(nil, d, w)
	return s
}

// newStore is NewStore, but stops if the budget's context is done.
func newStore(b *budget.Budget, d DType, w []float32) (*Blob, error) {
	codes, scale, err := morph(b, d, w, 1)
	return &Blob{DType: d, Scale: scale, Native: true, Data: codes, Shape: tensor.Shape{len(w)}, offset: -1}, err
}

// Float32 returns the weights as the float32 numbers that Loom computes with.
func (b *Blob) Float32() (_ []float32, err error) {
	defer guard.At("").End(&err)
	switch b.Kind {
	case Q4_0:
		return RestoreQ4_0(b.Data, b.Shape.Len())
	case BitNetTernary:
		t, err := parseBitNet(b.Data)
		if err != nil {
			return nil, err
		}
		return t.float32(), nil
	}
	return Restore(b.DType, b.Data, b.Scale, b.Shape.Len())
}

// cells returns the number of layers in a full grid. It is negative if the extents are negative or
// too large.
func (n *Network) cells() int64 {
	c := int64(1)
	for _, d := range []int{n.Depth, n.Rows, n.Cols, n.LayersPerCell} {
		if d < 0 || d > math.MaxInt32 || c*int64(d) > math.MaxInt32 {
			return -1
		}
		c *= int64(d)
	}
	return c
}

// Index returns the number of a cell's layer in the flat order in which layers run: z outermost,
// then y, x and l. It is negative if the number is outside the grid. As in Loom, coordinates beyond
// one axis mean another cell if their number is inside the grid.
func (n *Network) Index(z, y, x, l int) int {
	cells, i := n.cells(), int64(0)
	for _, step := range [][2]int{{1, z}, {n.Rows, y}, {n.Cols, x}, {n.LayersPerCell, l}} {
		at := int64(step[1])
		if at < -cells || at > cells || i < -cells || i > cells {
			return -1
		}
		i = i*int64(step[0]) + at
	}
	if i >= cells {
		return -1
	}
	return int(max(i, -1))
}

// Walk calls f for every layer: the layers of the grid in the order of Layers, each followed by its
// branches, steps and observed layer. path is as in files, such as layers.3.parallel_branches.0.
func (n *Network) Walk(f func(path string, l *Layer)) {
	n.walk(func(path func() string, l *Layer) { f(path(), l) })
}

// walk is Walk for callers that need few of the paths.
func (n *Network) walk(f func(path func() string, l *Layer)) {
	var at []step
	path := func() string {
		b := []byte("layers")
		for _, s := range at {
			b = s.append(b)
		}
		return string(b)
	}
	var visit func(s step, l *Layer)
	visit = func(s step, l *Layer) {
		at = append(at, s)
		f(path, l)
		for i, c := range l.Branches {
			visit(step{branches, i}, c)
		}
		for i, c := range l.Steps {
			visit(step{steps, i}, c)
		}
		if l.Observed != nil {
			visit(step{observed, -1}, l.Observed)
		}
		at = at[:len(at)-1]
	}
	for _, l := range n.Layers {
		visit(step{"", n.Index(l.Z, l.Y, l.X, l.L)}, l)
	}
}

// Names of nested layers in paths and in JSON.
const (
	branches = "parallel_branches"
	steps    = "sequential_layers"
	observed = "meta_observed_layer"
)

type step struct {
	word  string
	index int // negative for none
}

func (s step) append(b []byte) []byte {
	if s.word != "" {
		b = append(append(b, '.'), s.word...)
	}
	if s.index >= 0 {
		b = fmt.Appendf(b, ".%d", s.index)
	}
	return b
}

// ordered returns the blobs with their paths, in the order of the file that was read. Other
// networks use the order of Walk, with the bundle's own blobs last.
func (n *Network) ordered() (blobs []*Blob, paths map[*Blob]string) {
	paths = map[*Blob]string{}
	add := func(b *Blob, path string) {
		if paths[b] == "" {
			blobs = append(blobs, b)
			paths[b] = path
		}
	}
	n.walk(func(path func() string, l *Layer) {
		if l.Weights != nil {
			add(l.Weights, path())
		}
		for _, b := range l.Extra {
			add(b, path()+"."+b.Name)
		}
	})
	for _, b := range n.Globals {
		add(b, "transformer."+b.Name)
	}
	if len(n.order) > 0 {
		rank := make(map[*Blob]int, len(n.order))
		for i, b := range n.order {
			rank[b] = i - len(n.order)
		}
		slices.SortStableFunc(blobs, func(a, b *Blob) int { return rank[a] - rank[b] })
	}
	return blobs, paths
}
