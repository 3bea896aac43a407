package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/nacre-ml/nacre/internal/printable"
)

// text prints the report as text.
func (r *report) text(w io.Writer, values int) error {
	printable.Fprintf(w, "%s: %s", r.File, r.Format)
	switch {
	case len(r.Opsets) > 0:
		printable.Fprintf(w, " IR %d", r.Version)
	case r.Version > 0:
		printable.Fprintf(w, " version %d", r.Version)
	}
	for _, d := range sortedKeys(r.Opsets) {
		printable.Fprintf(w, ", %s %d", d, r.Opsets[d])
	}
	printable.Fprintln(w)
	if r.Producer != "" {
		printable.Fprintf(w, "producer  %s\n", r.Producer)
	}
	for _, m := range r.Meta {
		printable.Fprintf(w, "meta      %s = %s\n", m.Key, shortened(fmt.Sprint(m.Value)))
	}
	for _, k := range sortedKeys(r.Sizes) {
		printable.Fprintf(w, "size      %s = %d\n", k, r.Sizes[k])
	}
	for _, line := range r.Notes {
		printable.Fprintf(w, "note      %s\n", line)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	given := 0
	for _, v := range r.Inputs {
		switch {
		case *v.Required:
			printable.Fprintf(tw, "input\t%s\t%s\n", v.Name, v.Type)
		case given < mostGiven:
			printable.Fprintf(tw, "input\t%s\t%s\thas a value in the model\n", v.Name, v.Type)
			given++
		default:
			given++
		}
	}
	if given > mostGiven {
		printable.Fprintf(tw, "input\t...\t\t%d more have a value in the model; --json lists them\n", given-mostGiven)
	}
	for _, v := range r.Outputs {
		printable.Fprintf(tw, "output\t%s\t%s\n", v.Name, v.Type)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	printable.Fprintf(w, "%s, %s of %d bytes", plural(len(r.Nodes), "node"), plural(len(r.Tensors), "tensor"), r.TensorBytes)
	if r.Within > 0 {
		printable.Fprintf(w, ", and %d of %d bytes within nodes", r.Within, r.WithinBytes)
	}
	printable.Fprintln(w)
	for _, o := range r.Operators {
		format := "  %s\t%d\n"
		if !o.Implemented {
			format = "  %s\t%d\tnot implemented\n"
		}
		name := o.Op
		if o.Domain != "" {
			name = o.Domain + "." + name
		}
		printable.Fprintf(tw, format, name, o.Count)
	}
	if values > 0 || len(r.Nodes) == 0 {
		for _, x := range r.Tensors {
			printable.Fprintf(tw, "tensor\t%s\t%s%v\t%s\n", x.Name, x.Stored, x.Shape, x.first())
		}
	}
	return tw.Flush()
}

// mostGiven is the most inputs with values in the model that the report has a line for.
const mostGiven = 8

// first returns the first elements of a tensor, or says that it has no data.
func (x *reportTensor) first() string {
	if !x.Data {
		return "declared, without data"
	}
	return strings.Trim(fmt.Sprint(x.Values), "[]")
}

// shortened joins the words of a text with single spaces, and cuts it after 100 characters.
func shortened(s string) string {
	const most = 100
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
