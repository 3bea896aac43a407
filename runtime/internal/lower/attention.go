package lower

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Heads is an operand of attention. The view counts from the operand's start. Rows of int8 are codes.
type Heads struct {
	attention.HeadRows
	DType   tensor.DType
	Operand device.Operand
}

// HeadsOf returns the view h of an input.
func HeadsOf(b Binder, input int, h attention.HeadRows) Heads {
	return Heads{h, b.Facts().DType(input), b.Input(input)}
}

// LengthsKind says what the integers of Lengths are.
type LengthsKind int

// The kinds of lengths.
const (
	LengthsLast LengthsKind = iota // the last position of each batch, and the keys of the longest
	LengthsKeys                    // the keys of each batch
	LengthsPast                    // the rows of the past of all batches
)

// Lengths counts the keys of each batch.
type Lengths struct {
	Kind          LengthsKind
	Batch, Tokens graph.Dim
	Room, Past    graph.Dim // rows of the cache and of the past
	Ends          bool      // the queries of a batch are its last keys
	Counts, All   Value
}

// Append makes a cache of a past and of new rows.
type Append struct {
	Past       device.Operand // none without a past
	PastAt     graph.Dim      // its first element
	PastRows   graph.Dim      // rows that the past has room for
	PastMemory graph.Dim      // rows of a head in memory; 0 for PastRows
	Kept       graph.Dim      // rows of the past that count if there are no lengths
	Lengths    device.Operand // none if all batches have as many rows
	Bias       Value          // of the new rows
	BiasAt     graph.Dim      // its first element
	Cache      device.Operand // none for scratch
	CacheAt    graph.Dim      // its first element
	CacheRows  graph.Dim      // rows of a head in memory; 0 for Room
	DType      tensor.DType   // of past and cache; Invalid for the device's choice
	Room       graph.Dim      // rows of the cache
	Masked     bool           // a mask has a column for each row of the cache
}

// Positions says where the positions of tokens come from.
type Positions int

// The sources of positions.
const (
	PositionsOfTokens  Positions = iota // tables have a row for each token
	PositionsGiven                      // an integer for each token
	PositionsFrom                       // one integer, the position of the first token
	PositionsOfBatches                  // lengths
)

// Rotation normalises the rows of X if there is a norm, and rotates them if there are tables. X
// becomes the result.
type Rotation struct {
	X           *Heads
	Out         device.Operand // with the strides of X; none for scratch
	Norm        Value
	Epsilon     float32
	Cos, Sin    Value
	Pairs       graph.Dim
	Interleaved bool
	Positions   Positions
	Index       Value
	Base        float64   // of angles that are computed, if there are no tables; 0 for none
	Past        graph.Dim // position of the first token if there is no index
	Room        graph.Dim // positions that there are
}

// Sinks is a score without a key in each softmax.
type Sinks int

// The sinks.
const (
	NoSink Sinks = iota
	ZeroSinks
	GivenSinks
)

// Attention computes output 0.
type Attention struct {
	Q, K, V    Heads
	SideBySide bool     // heads of the result are side by side in its rows
	Scale      *float32 // of scores; nil for 1/sqrt(size)
	Cap        float32
	Past       graph.Dim // position of the first query if there are no lengths
	Causal     bool
	Window     int
	Lengths    device.Operand
	Scores     int // the input added to scores, None for none
	Mask       int // the input with a mask of integers, None for none
	Filter     float32
	Sink       Sinks
	SinkInput  int
	Stage      int  // the stage that output 3 shows; negative for none
	Blank      bool // output 3 shows nothing of keys that do not count
	Doubles    bool // scores are computed in float64
	NaN        attention.NaN
}

// NewAttention returns attention without masks. Its result has heads side by side.
func NewAttention(q, k, v Heads) *Attention {
	return &Attention{Q: q, K: k, V: v, SideBySide: true, Scores: None, Mask: None, Stage: -1}
}

// AttentionBinder is a Binder for attention.
type AttentionBinder interface {
	Binder
	// Lengths returns the counts.
	Lengths(l *Lengths) (device.Operand, error)
	// Append returns the cache.
	Append(x Heads, a *Append) (Heads, error)
	// Rotate adds the work of all rotations of a node.
	Rotate(list ...*Rotation) error
	Attend(a *Attention) error
}

// Attentions returns the rows of attention with caches.
func Attentions[B AttentionBinder]() []device.Row[B] {
	return []device.Row[B]{
		attentionRow[B]("attention", bindAttention).InRoom(),
		attentionRow[B]("attention", bindMultiHeadAttention).InRoom(),
		attentionRow[B]("attention", bindGroupQueryAttention).InRoom().Reading(),
		attentionRow[B]("rotary", bindRotary),
		attentionRow[B]("append_codes", bindAppendCodes).InRoom(),
	}
}

func attentionRow[B AttentionBinder, T op.Op](name string, bind func(o T, b AttentionBinder) error) device.Row[B] {
	return device.RowFor(name, func(o T, b B) error { return bind(o, b) })
}
