package loom

import (
	"errors"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Name is the name of the format of JSON files.
const Name = "loom"

// Probe reports whether data begins like the JSON of a network: an object with layers or
// layers_per_cell, and without a weight_map before them, the mark of an index of weights.
func Probe(data []byte) bool {
	begin := data[:min(len(data), mostProbed)]
	return value{text: begin[blank(begin, 0):]}.probe()
}

// mostProbed is the number of bytes that Probe searches for layers.
const mostProbed = 1 << 20

func (v value) probe() bool {
	found := false
	if v.is('{') {
		v.each(func(key string, _ value) bool {
			if key == "weight_map" {
				found = false
				return false
			}
			found = found || same(key, "layers") || same(key, "layers_per_cell")
			return !found
		})
	}
	return found
}

// Read reads a checkpoint, or the spec of an architecture, from memory. The model does not keep
// data. The error is the first problem that Verify finds. Read takes memory within b, and stops if
// b's context is done.
func Read(b *budget.Budget, name string, data []byte) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	r := newReader(b, name, data)
	m := r.json(data)
	if err := r.First(); err != nil {
		return nil, errors.Join(err, r.unmaps.Close())
	}
	if len(r.unmaps) > 0 {
		m.Closer = r.unmaps
	}
	return m, nil
}

// Verify returns every problem of a checkpoint or spec, with its offset. It takes memory within b,
// and stops if b's context is done.
func Verify(b *budget.Budget, name string, data []byte) (problems []error) {
	defer guard.At(name).EndAll(&problems)
	r := newReader(b, name, data)
	r.json(data)
	if err := r.unmaps.Close(); err != nil {
		r.Add(-1, graph.ErrFormat, "%w", err)
	}
	return r.All()
}

func (r *reader) json(data []byte) *graph.Model {
	v, off, err := parse(r.Budget, data, 0)
	if err != nil {
		r.Add(off, graph.ErrFormat, "%w", err)
		return nil
	}
	if !v.probe() && r.Goes() {
		r.Add(0, graph.ErrUnsupported, "this JSON has no layers: it is neither a checkpoint nor the spec of an architecture")
		return nil
	}
	r.kind = inSpec
	v.each(func(key string, m value) bool {
		if same(key, "layers") && m.is('[') && m.checkpoint(0) {
			r.kind = inCheckpoint
		}
		return true
	})
	r.net.Spec = r.kind == inSpec
	r.network(v)
	r.stores()
	return r.model()
}

// model returns the model of the file, or nil if there were problems.
func (r *reader) model() *graph.Model {
	if r.First() != nil {
		return nil
	}
	m, err := r.net.model(func(bytes int) bool { return r.Take(-1, bytes) })
	if err != nil {
		r.Add(-1, graph.ErrFormat, "%w", err)
		return nil
	}
	m.File = r.File
	return m
}

// checkpoint reports whether an array of layers, nested depth levels deep, has members that only
// checkpoints have: weights, or a variant of Softmax by name.
func (v value) checkpoint(depth int) bool {
	found := false
	v.each(func(_ string, layer value) bool {
		layer.each(func(key string, m value) bool {
			switch {
			case same(key, "weights"), same(key, "native"):
				found = true
			case same(key, "softmax_type"):
				found = m.is('"')
			case depth <= maxNesting && (same(key, branches) || same(key, steps)):
				found = m.is('[') && m.checkpoint(depth+1)
			}
			return !found
		})
		return !found
	})
	return found
}
