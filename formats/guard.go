package formats

import (
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Guard calls work and returns its error. If work panics, the error matches ErrInternal. If work
// reads bytes that a file has lost since it was mapped, the error is of kind graph.ErrFormat and
// names the file. Guard does not cover other goroutines, and C code that reads such bytes ends the
// process. The functions of this package guard themselves.
func Guard(work func() error) error { return guard.Call(work) }

// ErrInternal marks an error that was a panic: a defect of a reader, or of a file system or an
// io.ReaderAt of the caller.
var ErrInternal = guard.ErrInternal

// Intact returns an error of kind graph.ErrFormat if a file has become shorter since the model was
// mapped from it.
func Intact(m *graph.Model) error {
	return container.Intact(func(yield func([]byte) bool) {
		if yield(m.Raw) {
			parts(m, yield)
		}
	})
}

// parts yields the bytes of every tensor of a model, until yield returns false.
func parts(m *graph.Model, yield func([]byte) bool) {
	var nodes func(list []*graph.Node) bool
	within := func(g *graph.Graph) bool {
		for _, t := range g.Initializers {
			if !yield(t.Tensor.Bytes()) || t.Stored != nil && !yield(t.Stored.Bytes) {
				return false
			}
		}
		return nodes(g.Nodes)
	}
	nodes = func(list []*graph.Node) bool {
		for _, n := range list {
			for _, a := range n.Attrs {
				if a.Tensor != nil && !yield(a.Tensor.Bytes()) {
					return false
				}
				for _, t := range a.Tensors {
					if !yield(t.Bytes()) {
						return false
					}
				}
				for _, g := range a.Subgraphs() {
					if !within(g) {
						return false
					}
				}
			}
		}
		return true
	}
	if m.Graph == nil || !within(m.Graph) {
		return
	}
	for _, f := range m.Functions {
		if !nodes(f.Nodes) {
			return
		}
	}
}
