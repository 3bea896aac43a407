package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Bounds of the reader.
const (
	maxNesting = 32 // layers within layers
	// minLayer is the least average size of a layer in bytes. It keeps a file of empty layers from
	// growing to hundreds of times its size in memory.
	minLayer = 16
)

// The memory in bytes that is counted for a layer with its tensor, a rule, and an item of a list.
const (
	layerBytes = 1 << 10
	ruleBytes  = 128
	itemBytes  = 16
)

// reader reads one file.
type reader struct {
	container.Problems
	kind   kinds // of the JSON
	net    *Network
	layers int    // layers that may still follow
	unmaps unmaps // for weights in files of their own
}

func newReader(b *budget.Budget, name string, data []byte) *reader {
	return &reader{Problems: container.Problems{File: name, Budget: container.Reading(b, len(data))}, net: &Network{}, layers: len(data)/minLayer + 16}
}

// bad notes a problem at the offset of v.
func (r *reader) bad(v value, format string, args ...any) {
	r.Add(v.off, graph.ErrFormat, format, args...)
}

// into stores a value, or notes an error.
func (r *reader) into(key string, v value, at any) {
	if err := v.into(at); err != nil {
		r.bad(v, "%s: %w", key, err)
	}
}

// network reads the object of a network.
func (r *reader) network(v value) {
	if !v.is('{') {
		r.bad(v, "a network is an object, not %s", v.shown())
		return
	}
	n := r.net
	var layers value
	grid := []struct {
		key string
		at  *int
	}{{"depth", &n.Depth}, {"rows", &n.Rows}, {"cols", &n.Cols}, {"layers_per_cell", &n.LayersPerCell}}
	v.each(func(key string, m value) bool {
		for _, g := range grid {
			if same(key, g.key) {
				r.into(g.key, m, g.at)
			}
		}
		if same(key, "layers") {
			layers = m
		}
		return true
	})
	if n.cells() < 0 {
		r.bad(v, "a grid of %d by %d by %d cells of %d layers cannot be", n.Depth, n.Rows, n.Cols, n.LayersPerCell)
		return
	}
	for _, l := range r.list("layers", layers, 0) {
		n.Layers = append(n.Layers, l.Layer)
		i := n.Index(l.Z, l.Y, l.X, l.L)
		if i < 0 {
			r.bad(l.value, "the layer at z %d, y %d, x %d, l %d is outside the grid of %d by %d by %d cells of %d layers",
				l.Z, l.Y, l.X, l.L, n.Depth, n.Rows, n.Cols, n.LayersPerCell)
		}
	}
	if r.First() == nil {
		n.sort()
	}
}

// located is a layer and its place in the file.
type located struct {
	*Layer
	value
}

// list reads an array of layers.
func (r *reader) list(key string, v value, depth int) []located {
	if v.text == nil || v.null() {
		return nil
	}
	if !v.is('[') {
		r.bad(v, "%s is an array, not %s", key, v.shown())
		return nil
	}
	var list []located
	v.each(func(_ string, m value) bool {
		l := r.layer(m, depth)
		if l != nil {
			list = append(list, located{l, m})
		}
		return l != nil
	})
	return list
}

// layer reads a layer, nested depth levels deep. It returns nil if reading must end.
func (r *reader) layer(v value, depth int) *Layer {
	if r.layers--; r.layers < 0 {
		r.bad(v, "there are more layers than a file of this size can describe")
		return nil
	}
	if depth > maxNesting {
		r.bad(v, "layers are nested more than %d deep", maxNesting)
		return nil
	}
	if !r.Take(v.off, layerBytes) {
		return nil
	}
	l := &Layer{Activation: Linear, DType: Float32}
	if !v.is('{') && !v.null() {
		r.bad(v, "a layer is an object, not %s", v.shown())
		return l
	}
	store := Blob{offset: int64(v.off)}
	v.each(func(key string, m value) bool {
		f := find(key, r.kind)
		if f == nil || m.null() {
			return true
		}
		switch at := f.at(l).(type) {
		case nil:
			if f.key == "native" {
				r.into(f.key, m, &store.Native)
			} else {
				r.into(f.key, m, &store.Scale)
			}
		case **Blob:
			store.offset = int64(m.off)
			store.Data = r.text(f.key, m)
		case *[]*Layer:
			*at = nil
			for _, c := range r.list(f.key, m, depth+1) {
				*at = append(*at, c.Layer)
			}
		case **Layer:
			*at = r.layer(m, depth+1)
		case *[]Rule:
			*at = r.rules(m)
		case *[]bool:
			*at = many[bool](r, f.key, m)
		case *[]int:
			*at = many[int](r, f.key, m)
		case softmaxNumber:
			n := 0
			if r.into(f.key, m, &n); n >= 0 && n < int(softmaxTypeCount) {
				*at.at = SoftmaxType(n)
			}
		default:
			r.into(f.key, m, at)
		}
		return true
	})
	if len(store.Data) > 0 {
		l.Weights = &store
	}
	if r.kind == inSpec {
		l.square()
	}
	l.fill()
	return l
}

// square sets the axes of convolutions that a spec omits to the extent of the first axis.
func (l *Layer) square() {
	same := func(from int, to ...*int) {
		for _, at := range to {
			if *at == 0 {
				*at = from
			}
		}
	}
	switch l.Type {
	case CNN2:
		same(l.InputHeight, &l.InputWidth)
		same(l.OutputHeight, &l.OutputWidth)
	case CNN3:
		same(l.InputHeight, &l.InputWidth, &l.InputDepth)
		same(l.OutputHeight, &l.OutputWidth, &l.OutputDepth)
	}
}

// many reads an array of numbers or truth values.
func many[T any](r *reader, key string, v value) []T {
	if !v.is('[') {
		r.bad(v, "%s is an array, not %s", key, v.shown())
		return nil
	}
	var list []T
	v.each(func(_ string, m value) bool {
		var x T
		if !r.Take(m.off, itemBytes) {
			return false
		}
		r.into(key, m, &x)
		list = append(list, x)
		return true
	})
	return list
}

// rules reads the rules of a Metacognition layer.
func (r *reader) rules(v value) []Rule {
	if !v.is('[') {
		r.bad(v, "meta_rules is an array, not %s", v.shown())
		return nil
	}
	var list []Rule
	v.each(func(_ string, m value) bool {
		if !m.is('{') && !m.null() {
			r.bad(m, "a rule is an object, not %s", m.shown())
			return false
		}
		if r.layers--; r.layers < 0 {
			r.bad(m, "there are more rules than a file of this size can describe")
			return false
		}
		if !r.Take(m.off, ruleBytes) {
			return false
		}
		var rule Rule
		m.each(func(key string, f value) bool {
			for _, k := range rule.fields() {
				if same(key, k.key) {
					r.into(k.key, f, k.at)
				}
			}
			return true
		})
		list = append(list, rule)
		return true
	})
	return list
}

// member is a key and a pointer to its value.
type member struct {
	key string
	at  any
}

func (r *Rule) fields() [6]member {
	return [...]member{{"Condition", &r.Condition}, {"Threshold", &r.Threshold}, {"Command", &r.Command}, {"Param", &r.Param},
		{"Cooldown", &r.Cooldown}, {"SelfOnly", &r.SelfOnly}}
}

// text returns the characters of a string. It is a view of the file unless the string has escapes.
func (r *reader) text(key string, v value) []byte {
	if b := v.text; v.is('"') && indexByte(v.in, b, 0, '\\') < 0 {
		return b[1 : len(b)-1]
	}
	if !r.Take(v.off, 2*len(v.text)) {
		return nil
	}
	s, err := v.str()
	if err != nil {
		r.bad(v, "%s: %w", key, err)
	}
	return []byte(s)
}

// decode turns the bytes of a layer's store into codes. Plain float32 weights are quantised.
func (b *Blob) decode(r *reader, l *Layer) error {
	data := b.Data
	if b.DType = l.DType; !b.Native {
		b.DType = Float32
	}
	if err := b.fit(l); err != nil {
		return err
	}
	if b.Shape == nil {
		b.DType = l.DType
		return nil
	}
	n := b.Shape.Len()
	switch b.DType {
	case Float64, Float16, BFloat16:
		if len(data) != b.DType.Bytes(n) {
			return fmt.Errorf("%d bytes hold more than the %d weights of %v that the layer has", len(data), n, b.DType)
		}
	}
	switch {
	case b.Native:
	case l.DType == Float32:
		b.Native, b.Data = true, data[:4*n:4*n]
	default:
		if !r.Take(int(b.offset), 4*n+l.DType.Bytes(n)) {
			return r.First()
		}
		w, err := b.Float32()
		if err != nil {
			return err
		}
		b.Native, b.DType = true, l.DType
		b.Data, b.Scale, err = morph(r.Budget, l.DType, w, b.Scale)
		r.Budget.Release(int64(4 * n))
		return err
	}
	return nil
}

// fit sets the shape of a store to its layer's. It fails if the store holds too little. The store
// of a type without weights gets no shape: its bytes are kept and ignored.
func (b *Blob) fit(l *Layer) error {
	shape, err := l.Shape()
	if err != nil {
		return err
	}
	if b.DType == Float32 && len(b.Data)%4 != 0 {
		return fmt.Errorf("%d bytes are no whole number of float32", len(b.Data))
	}
	if l.Weightless() {
		return nil
	}
	if shape == nil {
		return fmt.Errorf("a %v layer with this configuration has none", l.Type)
	}
	if err := b.DType.holds(b.Data, shape.Len()); err != nil {
		return err
	}
	b.Shape = shape
	return nil
}
