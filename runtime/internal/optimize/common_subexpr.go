package optimize

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// commonBytes bounds the size of constants that are compared. Comparing weights
// would read them from the file, and equal weights are rare.
const commonBytes = 1 << 12

// commonSubexpr merges nodes that apply the same operator to the same values, and
// equal constants.
func commonSubexpr(s *Scope) (*Edit, error) {
	e := newEdit()
	s.commonConstants(e)
	h := hasher{seed: maphash.MakeSeed(), edit: e}
	alone := map[uint64]*graph.Node{} // by head: the node with it; nil if there are several
	first := map[uint64][]*graph.Node{}
	for _, n := range s.Nodes {
		row, _, err := s.Registry.Find(n)
		if err != nil || row.Impure || slices.ContainsFunc(n.Attrs, func(a *graph.Attr) bool { return !isPlain(a) }) {
			continue
		}
		head := h.head(n)
		m, met := alone[head]
		if !met {
			alone[head] = n
			continue
		}
		if m != nil {
			sum := h.attrs(head, m)
			first[sum], alone[head] = append(first[sum], m), nil
		}
		sum := h.attrs(head, n)
		i := slices.IndexFunc(first[sum], func(m *graph.Node) bool { return e.same(n, m) })
		if i < 0 {
			first[sum] = append(first[sum], n)
			continue
		}
		e.share(s, n, first[sum][i])
	}
	return e, nil
}

// share removes node n and renames its outputs to the outputs of m, an equal node. If an output of
// n must keep its name, or a subgraph redefines the name of an output of m, it does nothing.
func (e *Edit) share(s *Scope, n, m *graph.Node) {
	if len(n.Outputs) == 1 {
		e.bypass(s, n, m.Outputs[0])
		return
	}
	for i, name := range n.Outputs {
		if s.isOutput(e.name(name)) || s.inner[e.name(m.Outputs[i])] {
			return
		}
	}
	e.Replace[n] = nil
	for i, name := range n.Outputs {
		if name != "" {
			e.Rename[name] = e.name(m.Outputs[i])
		}
	}
}

// commonConstants renames each small constant to the first equal one.
func (s *Scope) commonConstants(e *Edit) {
	seed := maphash.MakeSeed()
	first := map[uint64][]*graph.Initializer{}
	inputs := map[string]bool{}
	for _, v := range s.Graph.Inputs {
		inputs[v.Name] = true
	}
	for _, init := range s.Graph.Initializers {
		t := init.Tensor
		if t.Size() > commonBytes || t.Strings() != nil || inputs[init.Name] {
			continue
		}
		h := maphash.Bytes(seed, t.Bytes())
		i := slices.IndexFunc(first[h], func(other *graph.Initializer) bool { return equalTensors(t, other.Tensor) })
		switch {
		case i < 0:
			first[h] = append(first[h], init)
		case !s.isOutput(init.Name) && !s.inner[first[h][i].Name]:
			e.Rename[init.Name] = first[h][i].Name
			e.Drop[init.Name] = true
		}
	}
}

func equalTensors(a, b *tensor.Tensor) bool {
	return a.DType() == b.DType() && a.Shape().Equal(b.Shape()) && slices.Equal(a.Strings(), b.Strings()) &&
		bytes.Equal(a.Bytes(), b.Bytes())
}

// same reports whether two nodes compute the same values.
func (e *Edit) same(n, m *graph.Node) bool {
	inputs := func(a, b string) bool { return e.name(a) == e.name(b) }
	outputs := func(a, b string) bool { return (a == "") == (b == "") }
	differs := func(a *graph.Attr) bool { return !equalAttrs(a, m.Attr(a.Name)) }
	return n.Domain == m.Domain && n.Op == m.Op && n.Overload == m.Overload && n.Version == m.Version &&
		slices.EqualFunc(n.Inputs, m.Inputs, inputs) && slices.EqualFunc(n.Outputs, m.Outputs, outputs) &&
		len(n.Attrs) == len(m.Attrs) && !slices.ContainsFunc(n.Attrs, differs)
}

// isPlain reports whether an attribute is of a kind that equalAttrs compares.
func isPlain(a *graph.Attr) bool {
	switch a.Kind {
	case graph.AttrFloat, graph.AttrInt, graph.AttrString, graph.AttrFloats, graph.AttrInts, graph.AttrStrings:
		return true
	}
	return false
}

// hasher computes hashes that are equal for nodes that compute the same values. It reads the
// attributes only of nodes with equal heads, because attributes may be long lists.
type hasher struct {
	seed  maphash.Seed
	edit  *Edit
	block []byte // bytes of numbers
}

// head returns the hash of a node without its attributes.
func (h *hasher) head(n *graph.Node) uint64 {
	type shape struct {
		domain, op, overload             string
		version, inputs, outputs, wanted int
	}
	of := shape{n.Domain, n.Op, n.Overload, n.Version, len(n.Inputs), len(n.Outputs), 0}
	for _, name := range n.Outputs {
		if name != "" {
			of.wanted++
		}
	}
	var sum maphash.Hash
	sum.SetSeed(h.seed)
	maphash.WriteComparable(&sum, of)
	for _, name := range n.Inputs {
		maphash.WriteComparable(&sum, h.edit.name(name))
	}
	return sum.Sum64()
}

// attrs adds the hashes of the attributes, in any order, to the head.
func (h *hasher) attrs(head uint64, n *graph.Node) uint64 {
	for _, a := range n.Attrs {
		head += h.attr(a)
	}
	return head
}

func (h *hasher) attr(a *graph.Attr) uint64 {
	type scalar struct {
		name  string
		kind  graph.AttrKind
		float uint32
		int   int64
	}
	var sum maphash.Hash
	sum.SetSeed(h.seed)
	maphash.WriteComparable(&sum, scalar{a.Name, a.Kind, math.Float32bits(a.Float), a.Int})
	sum.Write(a.Str)
	writeNumbers(h, &sum, a.Floats, func(b []byte, v float32) []byte {
		return binary.NativeEndian.AppendUint32(b, math.Float32bits(v))
	})
	writeNumbers(h, &sum, a.Ints, func(b []byte, v int64) []byte {
		return binary.NativeEndian.AppendUint64(b, uint64(v))
	})
	for _, v := range a.Strs {
		sum.Write(v)
	}
	return sum.Sum64()
}

// writeNumbers adds the bytes of a list of numbers in chunks.
func writeNumbers[T any](h *hasher, sum *maphash.Hash, list []T, appendTo func([]byte, T) []byte) {
	for part := range slices.Chunk(list, 128) {
		h.block = h.block[:0]
		for _, v := range part {
			h.block = appendTo(h.block, v)
		}
		sum.Write(h.block)
	}
}

// equalAttrs reports whether two attributes have the same value, comparing floats bit by bit. b may
// be nil.
func equalAttrs(a, b *graph.Attr) bool {
	bits := func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) }
	return b != nil && a.Kind == b.Kind && bits(a.Float, b.Float) && a.Int == b.Int && string(a.Str) == string(b.Str) &&
		slices.EqualFunc(a.Floats, b.Floats, bits) && slices.Equal(a.Ints, b.Ints) &&
		slices.EqualFunc(a.Strs, b.Strs, slices.Equal)
}
