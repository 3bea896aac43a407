package chelis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// archive turns the weights so far into fields of a parameter.
func (e *emitter) archive() {
	e.bundle = e.ids.Of("weights")
	for _, w := range e.order {
		w.archived = true
		e.code[w.name] = e.bundle + "." + w.id
	}
}

// archived returns the weights of the archive that a module uses, also as fields of a record.
func (e *emitter) archived(used map[string]bool) (list []*weight, fields []field, err error) {
	for _, w := range e.order {
		if !w.archived || !used[w.id] {
			continue
		}
		kind, err := e.weightKind(w)
		if err != nil {
			return nil, nil, err
		}
		list, fields = append(list, w), append(fields, field{id: w.id, kind: kind})
	}
	return list, fields, nil
}

// imports returns the line that imports the functions to read an archive.
func imports(list []*weight) string {
	names := []string{"open_hnw"}
	for _, w := range list {
		if name := reader(w); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	return "import Std.Io.Tensors (" + strings.Join(names, ", ") + ")\n"
}

func reader(w *weight) string { return "read_" + words[w.tensor.DType()] }

// reading writes the definition that reads weights from an archive.
func (e *emitter) reading(b *strings.Builder, name string, list []*weight, fields []field) {
	path, file := e.ids.Of("path"), e.ids.Of("archive")
	fmt.Fprintf(b, "def %s(%s: string) -> ForwardWeights ! { IO } = {\n  %s = open_hnw(%s)\n", name, path, file, path)
	ids := make([]string, len(list))
	for i, w := range list {
		ids[i] = w.id
		dims := numbers(w.tensor.Shape())
		fmt.Fprintf(b, "  %s: %s = reshape(%s(%s, \"%s\", %s), %s)\n", w.id, fields[i].kind, reader(w), file, w.id, dims, dims)
	}
	fmt.Fprintf(b, "  ForwardWeights { %s }\n}\n", strings.Join(ids, ", "))
}

// weightKind returns the Chelis type of a weight. It fails for a weight without elements.
func (e *emitter) weightKind(w *weight) (string, error) {
	if w.tensor.Len() == 0 {
		return "", fmt.Errorf("%w: weight %q of extents %v has no elements, and Chelis has no literal for that", ErrWeightConversion, w.name, w.tensor.Shape())
	}
	return e.kind(graph.TensorOf(w.tensor.DType(), graph.DimsOf(w.tensor.Shape())), "weight", w.name)
}
