package formats

import (
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Guard returns the error of work. A panic of work is an error that matches ErrInternal. If
// work reads bytes that a mapped file has lost since it was mapped, the error is of kind
// graph.ErrFormat and names the file. What other goroutines do is not guarded, and C that
// reads such bytes ends the process. The functions of this package guard what they do.
func Guard(work func() error) error { return guard.Call(work) }

// ErrInternal marks the error that a panic became: a defect of a reader, or of a file system
// or a reader that the program brought.
var ErrInternal = guard.ErrInternal

// Intact returns an error of kind graph.ErrFormat if a file that the model is mapped from
// has become shorter since.
func Intact(m *graph.Model) error {
	return container.Intact(func(yield func([]byte) bool) {
		if yield(m.Raw) {
			parts(m, yield)
		}
	})
}

// parts yields the elements of the tensors of a model, until yield returns false.
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
