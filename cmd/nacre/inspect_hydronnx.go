package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/chelis"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inspectHydronnx writes the report in the form of Hydronnx's inspect command. Writes to w fail
// once ctx is done.
func inspectHydronnx(ctx context.Context, w io.Writer, m *graph.Model) error {
	if err := formats.Intact(m); err != nil {
		return err
	}
	info, err := os.Stat(m.File)
	if err != nil {
		return err
	}
	opset := 0
	for _, o := range m.Opsets {
		if o.Domain == "" {
			opset = o.Version
		}
	}
	printable.Fprintf(w, "model: %s\nproducer: %s\nir_version: %d\nopset_version: %d\nfile_size: %d bytes\n",
		named(m.Graph.Name), named(strings.TrimSpace(m.Producer+" "+m.ProducerVer)), m.IR, opset, info.Size())
	weights := map[string]bool{}
	for _, init := range m.Graph.Initializers {
		weights[init.Name] = true
	}
	var inputs []*graph.Value
	for _, v := range m.Graph.Inputs {
		if !weights[v.Name] {
			inputs = append(inputs, v)
		}
	}
	section(w, "inputs", inputs, func(v *graph.Value) string { return v.Name + " : " + typed(v.Type) })
	section(w, "outputs", m.Graph.Outputs, func(v *graph.Value) string { return v.Name + " : " + typed(v.Type) })
	section(w, "nodes", m.Graph.Nodes, func(n *graph.Node) string {
		return fmt.Sprintf("[%s] %s (%s)", named(n.Name), n.Op, strings.Join(n.Inputs, ", "))
	})
	section(w, "weights", m.Graph.Initializers, func(i *graph.Initializer) string {
		t := i.Tensor
		return fmt.Sprintf("%s : %s (%d bytes)", i.Name, typed(graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))),
			len(t.Bytes()))
	})
	section(w, "non-differentiable operators", flat(m.Graph.Nodes), func(s string) string { return s })
	return ctx.Err()
}

// section writes a heading with the number of items, and a line for each item.
func section[T any](w io.Writer, name string, list []T, line func(T) string) {
	printable.Fprintf(w, "%s (%d):\n", name, len(list))
	for _, x := range list {
		printable.Fprintf(w, "  %s\n", line(x))
	}
}

// named returns s, or "(unnamed)" if s is blank.
func named(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(unnamed)"
	}
	return s
}

// typed returns a type in the form "f32 [1, 4]".
func typed(t graph.Type) string {
	if t.Kind != graph.TensorType {
		return t.String()
	}
	if t.Dims == nil {
		return dtypeWord(t.DType) + " [...]"
	}
	parts := make([]string, len(t.Dims))
	for i, d := range t.Dims {
		parts[i] = d.Text()
	}
	return dtypeWord(t.DType) + " [" + strings.Join(parts, ", ") + "]"
}

func dtypeWord(d tensor.DType) string {
	if w, ok := chelis.DType(d); ok {
		return w
	}
	return d.String()
}

// flat returns the sorted operators of nodes that pass no gradient on.
func flat(nodes []*graph.Node) []string {
	var list []string
	for _, n := range nodes {
		if n.Domain == "" && slices.Contains(withoutGradient, n.Op) && !slices.Contains(list, n.Op) {
			list = append(list, n.Op)
		}
	}
	sort.Strings(list)
	return list
}

// withoutGradient lists the standard operators with results that are no numbers, or that do not
// change with a small change of an input.
var withoutGradient = strings.Fields(`And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Ceil ConstantOfShape Equal Floor
	Greater GreaterOrEqual IsInf IsNaN Less LessOrEqual NonZero Not OneHot Or Round Shape Sign Size Unique Xor`)
