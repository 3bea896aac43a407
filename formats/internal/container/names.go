package container

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// TensorsOnly adds a refusal for each part of a model that a file of tensors and metadata cannot
// hold: sparse tensors; the graph, unless o.DropGraph; and size variables, tensors without data,
// Described, and metadata of the graph and of tensors, unless o.DropMeta.
func (o Options) TensorsOnly(m *graph.Model, r *Refusals) {
	g := m.Graph
	if HasGraph(m) && !o.DropGraph {
		r.Add("the model has a graph of %d nodes, %d inputs and %d outputs, and the format holds tensors only (the graph can be left out)",
			len(g.Nodes), len(g.Inputs), len(g.Outputs))
	}
	for _, t := range g.Sparse {
		r.Add("tensor %q is sparse, and the format holds dense ones only", t.Name)
	}
	if o.DropMeta {
		return
	}
	for _, s := range m.Sizes {
		r.Add("the size variable %q has no place in the format (it can be left out)", s.Name)
	}
	if len(g.Nodes) == 0 && !o.DropGraph {
		for _, v := range g.Values {
			r.Add("tensor %q is declared without data, which the format cannot say (it can be left out)", v.Name)
		}
	}
	for _, what := range Described(m) {
		r.Add("%s has no place in the format (it can be left out)", what)
	}
	for _, p := range g.Meta {
		r.Add("metadata %q of the graph has no place in the format (it can be left out)", p.Key)
	}
	for _, t := range g.Initializers {
		if t.Doc != "" {
			r.Add("the documentation of tensor %q has no place in the format (it can be left out)", t.Name)
		}
		for _, p := range t.Meta {
			r.Add("metadata %q of tensor %q has no place in the format (it can be left out)", p.Key, t.Name)
		}
	}
}

// HasGraph reports whether a model is more than tensors.
func HasGraph(m *graph.Model) bool {
	g := m.Graph
	return len(g.Nodes)+len(g.Inputs)+len(g.Outputs)+len(m.Functions) > 0
}

// Described lists, for messages, what describes a model of tensors: its producer, domain, version
// and documentation, and the parameters of quantised tensors by name. A graph that is left out takes
// them along, so the list is empty for a model with a graph.
func Described(m *graph.Model) (list []string) {
	if HasGraph(m) {
		return nil
	}
	for _, text := range []struct{ what, value string }{
		{"producer", m.Producer}, {"producer's version", m.ProducerVer}, {"domain", m.Domain},
		{"documentation", m.Doc}, {"graph's documentation", m.Graph.Doc},
	} {
		if text.value != "" {
			list = append(list, fmt.Sprintf("the %s (%.60q)", text.what, text.value))
		}
	}
	if m.Version != 0 {
		list = append(list, fmt.Sprintf("the model's version (%d)", m.Version))
	}
	for _, q := range m.Graph.Quant {
		list = append(list, fmt.Sprintf("the quantisation of %q by names", q.Tensor))
	}
	return list
}

// Names returns the names under which a format writes the initializers of a graph. holds returns an
// error for a name that the format cannot hold. Such a name is refused. With o.Rename, all names
// are escaped instead. Duplicate names are refused.
func (o Options) Names(g *graph.Graph, holds func(name string) error, r *Refusals) []string {
	names := make([]string, len(g.Initializers))
	met := make(map[string]bool, len(names))
	rename := false
	for i, t := range g.Initializers {
		names[i] = t.Name
		if err := holds(t.Name); err != nil {
			rename = o.Rename
			if !o.Rename {
				r.Add("tensor %q %w (it can be renamed)", t.Name, err)
			}
		}
		if met[t.Name] {
			r.Add("tensor %q is there more than once", t.Name)
		}
		met[t.Name] = true
	}
	if rename {
		for i, name := range names {
			names[i] = Escape(name, holds)
		}
	}
	return names
}

// Escape returns a name of printable ASCII. Different names give different results. Bytes outside
// printable ASCII, and '%', become '%' and two hexadecimal digits. The empty name becomes "%". If
// holds still returns an error, the first byte is escaped too.
func Escape(name string, holds func(name string) error) string {
	if name == "" {
		return "%"
	}
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= ' ' && c < 0x7f && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if s := b.String(); holds(s) == nil || s[0] == '%' {
		return s
	}
	return fmt.Sprintf("%%%02X", name[0]) + b.String()[1:]
}
