package hnw

import (
	"errors"
	"fmt"
	"io"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lookup returns the tensor with an id. It must have element type d and the given shape. Errors are
// of the kinds ErrTensorMissing and ErrTensorMetadata.
func Lookup(archive *graph.Model, id string, d tensor.DType, shape tensor.Shape) (_ *tensor.Tensor, err error) {
	defer guard.At(archive.File).End(&err)
	for _, init := range archive.Graph.Initializers {
		if has, ok := value(init.Meta, idKey); !ok || has != id {
			continue
		}
		if err := same(init.Tensor, d, shape); err != nil {
			return nil, about(archive, ErrTensorMetadata, init.Name, "id %q %w", id, err)
		}
		return init.Tensor, nil
	}
	return nil, about(archive, ErrTensorMissing, "", "no tensor has the id %q", id)
}

// Match compares every initialiser of a model, with its subgraphs, with the tensor of the same name
// in an archive. Errors are of the kinds ErrTensorMissing and ErrTensorMetadata, and are joined.
// The archive may have tensors that the model lacks. It may have been made from another file of the
// model, because its weights fit anyway.
func Match(archive, model *graph.Model) (err error) {
	defer guard.At(archive.File).End(&err)
	var list []error
	has := tensors(archive)
	seen := map[string]bool{}
	for _, init := range initializers(model) {
		t := has[init.Name]
		if t == nil {
			list = append(list, about(archive, ErrTensorMissing, init.Name, "the archive has no tensor of that name"))
		} else if err := same(t, init.Tensor.DType(), init.Tensor.Shape()); err != nil {
			list = append(list, about(archive, ErrTensorMetadata, init.Name, "the archive's tensor %w", err))
		}
		if seen[init.Name] {
			list = append(list, about(archive, ErrTensorMetadata, init.Name, "graphs of the model share the name, and a tensor of the archive has one place"))
		}
		seen[init.Name] = true
	}
	for _, name := range sparse(model) {
		list = append(list, about(archive, ErrTensorMissing, name, "the model has it in sparse form, which no archive holds"))
	}
	return graph.Join(list...)
}

// Replace opens an archive, which must Match the model, and makes its tensors the tensors of the
// model's initialisers, as views. Closing the model closes the archive. After an error the model is
// unchanged. Replace takes memory within the budget b. If its context ends, Replace fails.
func Replace(b *budget.Budget, model *graph.Model, path string) (err error) {
	defer guard.At(model.File).End(&err)
	archive, err := Open(b, path)
	if err != nil {
		return err
	}
	if err := Match(archive, model); err != nil {
		archive.Close()
		return &graph.Error{Stage: "load", File: path, Offset: -1, Kind: graph.ErrShape, Err: err}
	}
	has := tensors(archive)
	for _, init := range initializers(model) {
		init.Tensor, init.Stored = has[init.Name], nil
	}
	model.Closer = closers{model.Closer, archive}
	return nil
}

type closers [2]io.Closer

// Close closes both; each may be nil.
func (c closers) Close() error {
	var err error
	for _, x := range c {
		if x != nil {
			err = errors.Join(err, x.Close())
		}
	}
	return err
}

// about returns an error about an archive's tensor.
func about(archive *graph.Model, kind error, initializer, format string, args ...any) error {
	module, _ := value(archive.Meta, "module.name")
	return &Error{kind, module, initializer, fmt.Errorf(format, args...)}
}

func same(t *tensor.Tensor, d tensor.DType, shape tensor.Shape) error {
	if t.DType() == d && t.Shape().Equal(shape) {
		return nil
	}
	have, _ := wordOf(t.DType())
	want, _ := wordOf(d)
	return fmt.Errorf("is %s%v, and %s%v is wanted", have, t.Shape(), want, shape)
}

// value returns the text of a key. ok is false if there is none.
func value(meta []graph.Pair, key string) (text string, ok bool) {
	for _, p := range meta {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

func tensors(m *graph.Model) map[string]*tensor.Tensor {
	has := map[string]*tensor.Tensor{}
	for _, init := range m.Graph.Initializers {
		has[init.Name] = init.Tensor
	}
	return has
}

// initializers lists the initialisers of all graphs of a model: of the main graph, then of
// subgraphs, then of graphs in functions.
func initializers(m *graph.Model) []*graph.Initializer {
	var list []*graph.Initializer
	graphs(m, func(g *graph.Graph) { list = append(list, g.Initializers...) })
	return list
}

// sparse lists the names of sparse initialisers.
func sparse(m *graph.Model) []string {
	var list []string
	graphs(m, func(g *graph.Graph) {
		for _, init := range g.Sparse {
			list = append(list, init.Name)
		}
	})
	return list
}

// graphs visits all graphs of a model.
func graphs(m *graph.Model, visit func(*graph.Graph)) {
	var within func(nodes []*graph.Node)
	within = func(nodes []*graph.Node) {
		for _, n := range nodes {
			for _, a := range n.Attrs {
				for _, g := range a.Subgraphs() {
					visit(g)
					within(g.Nodes)
				}
			}
		}
	}
	visit(m.Graph)
	within(m.Graph.Nodes)
	for _, f := range m.Functions {
		within(f.Nodes)
	}
}
