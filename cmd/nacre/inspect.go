package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func inspectCommand() *cobra.Command {
	var asJSON bool
	var values int
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show what a model file holds",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			m, err := nacre.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { err = join(err, m) }()
			r := inspect(m.Source(), values)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), r)
			}
			return r.text(cmd.OutOrStdout(), values)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with every node and weight")
	cmd.Flags().IntVar(&values, "values", 0, "print the first `N` elements of every weight")
	return cmd
}

// report is what inspect shows.
type report struct {
	File        string            `json:"file"`
	Format      string            `json:"format"`
	IR          int64             `json:"ir,omitempty"`
	Opsets      map[string]int    `json:"opsets"`
	Producer    string            `json:"producer,omitempty"`
	Domain      string            `json:"domain,omitempty"`
	Version     int64             `json:"version,omitempty"`
	Doc         string            `json:"doc,omitempty"`
	Meta        map[string]string `json:"meta,omitempty"`
	Graph       string            `json:"graph"`
	Inputs      []reportValue     `json:"inputs"`
	Outputs     []reportValue     `json:"outputs"`
	Weights     []reportWeight    `json:"weights"`
	WeightBytes int               `json:"weight_bytes"`
	Operators   []reportOperator  `json:"operators"`
	Functions   []string          `json:"functions,omitempty"`
	Nodes       []reportNode      `json:"nodes"`
}

type reportValue struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

type reportWeight struct {
	Name   string       `json:"name"`
	DType  string       `json:"dtype"`
	Shape  tensor.Shape `json:"shape"`
	Bytes  int          `json:"bytes"`
	Values []string     `json:"values,omitempty"`
}

type reportOperator struct {
	Op          string `json:"op"`
	Domain      string `json:"domain,omitempty"`
	Count       int    `json:"count"`
	Implemented bool   `json:"implemented"`
}

type reportNode struct {
	Name    string   `json:"name,omitempty"`
	Op      string   `json:"op"`
	Domain  string   `json:"domain,omitempty"`
	Version int      `json:"version"`
	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`
}

func inspect(m *graph.Model, values int) *report {
	r := &report{
		File: m.File, Format: m.Format, IR: m.IR, Opsets: map[string]int{}, Domain: m.Domain, Version: m.Version,
		Producer: strings.TrimSpace(m.Producer + " " + m.ProducerVer), Doc: m.Doc, Graph: m.Graph.Name,
		Inputs: reportValues(m.Graph.Inputs), Outputs: reportValues(m.Graph.Outputs),
		Weights: []reportWeight{}, Nodes: []reportNode{},
	}
	for _, o := range m.Opsets {
		r.Opsets[domainName(o.Domain)] = o.Version
	}
	for _, p := range m.Meta {
		if r.Meta == nil {
			r.Meta = map[string]string{}
		}
		r.Meta[p.Key] = p.Value
	}
	for _, w := range m.Graph.Initializers {
		t := w.Tensor
		row := reportWeight{w.Name, t.DType().String(), t.Shape(), len(t.Bytes()), elements(t, values)}
		for _, s := range t.Strings() {
			row.Bytes += len(s)
		}
		r.Weights = append(r.Weights, row)
		r.WeightBytes += row.Bytes
	}
	for _, n := range m.Graph.Nodes {
		r.Nodes = append(r.Nodes, reportNode{n.Name, n.Op, n.Domain, n.Version, n.Inputs, n.Outputs})
	}
	for _, f := range m.Functions {
		r.Functions = append(r.Functions, domainName(f.Domain)+"."+f.Name)
	}
	r.Operators = operators(m)
	return r
}

func reportValues(list []*graph.Value) []reportValue {
	out := make([]reportValue, len(list))
	for i, v := range list {
		out[i] = reportValue{v.Name, v.Type.String()}
	}
	return out
}

// domainName writes the domain of the standard operators as files do.
func domainName(d string) string {
	if d == "" {
		return "ai.onnx"
	}
	return d
}

// operators counts the operators of all graphs and functions and says which of
// them Nacre has.
func operators(m *graph.Model) []reportOperator {
	registry := op.Standard()
	counts := map[string]*reportOperator{}
	count := func(n *graph.Node) {
		key := domainName(n.Domain) + "." + n.Op
		if counts[key] == nil {
			_, _, err := registry.Find(n)
			counts[key] = &reportOperator{Op: n.Op, Domain: n.Domain, Implemented: err == nil || isFunction(m, n)}
		}
		counts[key].Count++
	}
	walk(m.Graph.Nodes, count)
	for _, f := range m.Functions {
		walk(f.Nodes, count)
	}
	list := make([]reportOperator, 0, len(counts))
	for _, r := range counts {
		list = append(list, *r)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.Domain < b.Domain || a.Domain == b.Domain && a.Op < b.Op
	})
	return list
}

func isFunction(m *graph.Model, n *graph.Node) bool {
	for _, f := range m.Functions {
		if f.Domain == n.Domain && f.Name == n.Op && f.Overload == n.Overload {
			return true
		}
	}
	return false
}

// walk visits the nodes and those of their subgraphs.
func walk(nodes []*graph.Node, visit func(*graph.Node)) {
	for _, n := range nodes {
		visit(n)
		for _, a := range n.Attrs {
			if a.Graph != nil {
				walk(a.Graph.Nodes, visit)
			}
			for _, g := range a.Graphs {
				walk(g.Nodes, visit)
			}
		}
	}
}

// elements returns the first n elements as text.
func elements(t *tensor.Tensor, n int) []string {
	n = min(n, t.Len())
	if n <= 0 {
		return nil
	}
	list := make([]string, n)
	at := compare.Numbers(t)
	for i := range list {
		switch {
		case t.DType() == tensor.String:
			list[i] = fmt.Sprintf("%q", t.Strings()[i])
		case at != nil:
			list[i] = fmt.Sprintf("%.9g", at(i))
		default:
			list[i] = "?"
		}
	}
	return list
}

// text prints the report for people.
func (r *report) text(w io.Writer, values int) error {
	fmt.Fprintf(w, "%s: %s", r.File, r.Format)
	if r.IR > 0 {
		fmt.Fprintf(w, " IR %d", r.IR)
	}
	for _, d := range sortedKeys(r.Opsets) {
		fmt.Fprintf(w, ", %s %d", d, r.Opsets[d])
	}
	fmt.Fprintln(w)
	if r.Producer != "" {
		fmt.Fprintf(w, "producer  %s\n", r.Producer)
	}
	for _, k := range sortedKeys(r.Meta) {
		fmt.Fprintf(w, "meta      %s = %s\n", k, r.Meta[k])
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, v := range r.Inputs {
		fmt.Fprintf(tw, "input\t%s\t%s\n", v.Name, v.Type)
	}
	for _, v := range r.Outputs {
		fmt.Fprintf(tw, "output\t%s\t%s\n", v.Name, v.Type)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s, %s of %d bytes\n", plural(len(r.Nodes), "node"), plural(len(r.Weights), "weight"), r.WeightBytes)
	for _, o := range r.Operators {
		note := ""
		if !o.Implemented {
			note = "\tnot implemented"
		}
		name := o.Op
		if o.Domain != "" {
			name = o.Domain + "." + name
		}
		fmt.Fprintf(tw, "  %s\t%d%s\n", name, o.Count, note)
	}
	if values > 0 {
		for _, x := range r.Weights {
			fmt.Fprintf(tw, "weight\t%s\t%s%v\t%s\n", x.Name, x.DType, x.Shape, strings.Join(x.Values, " "))
		}
	}
	return tw.Flush()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
