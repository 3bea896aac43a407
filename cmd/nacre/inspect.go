package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// inspectFlags are the flags of nacre inspect.
type inspectFlags struct {
	json    bool
	values  int
	style   string
	weights string
	nodes   bool
	filter  string
	layers  bool
	dims    dimFlags
	html    string
	profile string
	plan    bool
}

func inspectCommand() *cobra.Command {
	var f inspectFlags
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show the contents of a model file",
		Long: `Print what a model file has: its format, inputs and outputs, metadata, operators and
weights.

With --nodes it prints one line for each node, also of the graphs within nodes: name, operator,
inputs and outputs with types, and attributes.

With --layers it prints nodes as layers, by the scopes of their names or, if these have none, of
the names of their weights. Blocks that are equal but for their numbers are one row, with the
first block below it. Parameters and bytes are of weights, also within attributes; operations
are the multiplications and additions of convolutions, products and recurrent layers. Axes that
the model leaves open have extent 1 unless --dim says otherwise.

With --html it also writes a page with a picture of the graph, for any browser and without a
network. Groups of nodes open by a press or Enter. --profile adds the time and the kernels of a
run, --plan the kernels alone.`,
		Example: `nacre inspect model.onnx --layers --dim batch=1
nacre inspect model.onnx --nodes --filter attention
nacre inspect model.onnx --html model.html --profile trace.json`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := f.check(cmd); err != nil {
				return err
			}
			m, err := openModel(cmd.Context(), args[0], f.weights)
			if err != nil {
				return err
			}
			defer func() { err = join(err, m) }()
			return f.run(cmd.Context(), m, within(cmd))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.nodes, "nodes", false, "print one line for each node")
	flags.StringVar(&f.filter, "filter", "", "with --nodes: only nodes with `TEXT` in a name or the operator, in any case")
	flags.BoolVar(&f.layers, "layers", false, "print layers with parameters, operations, weights and shapes")
	f.dims.add(flags)
	flags.BoolVar(&f.json, "json", false, "print JSON, with every node and weight")
	flags.IntVar(&f.values, "values", 0, "print the first `N` elements of every weight")
	flags.StringVar(&f.html, "html", "", "write a page with a picture of the graph to `FILE`")
	flags.StringVar(&f.profile, "profile", "", "with --html: `FILE` of nacre run --profile, for time and kernels of nodes")
	flags.BoolVar(&f.plan, "plan", false, "with --html: plan a run, for kernels of nodes")
	flags.StringVar(&f.style, "style", "nacre", "the report: nacre, or hydronnx for the report of its inspect command")
	addProgramModel(flags, &f.weights)
	cmd.MarkFlagsMutuallyExclusive("nodes", "layers", "values")
	cmd.MarkFlagsMutuallyExclusive("profile", "plan")
	return cmd
}

func (f *inspectFlags) check(cmd *cobra.Command) error {
	switch given := cmd.Flags().Changed; {
	case f.style != "nacre" && f.style != "hydronnx":
		return usagef("--style %s: it takes nacre or hydronnx", f.style)
	case given("filter") && !f.nodes:
		return usagef("--filter is for --nodes")
	case given("dim") && !f.layers && !f.plan:
		return usagef("--dim is for --layers and --plan")
	case (f.plan || f.profile != "") && f.html == "":
		return usagef("--profile and --plan are for --html")
	}
	return nil
}

func (f *inspectFlags) run(ctx context.Context, m *nacre.Model, w io.Writer) error {
	if f.style == "hydronnx" {
		return inspectHydronnx(ctx, w, m.Source())
	}
	if f.html != "" {
		if err := f.picture(ctx, m); err != nil {
			return err
		}
	}
	if f.nodes || f.layers {
		network, err := networkOf(m)
		if err != nil {
			return err
		}
		if f.nodes {
			err = inspectNodes(ctx, network, f.filter, f.json, w)
		} else {
			err = inspectLayers(ctx, m, network, f.dims, f.json, w)
		}
		return errors.Join(err, formats.Intact(m.Source()))
	}
	r := inspect(ctx, m, f.values)
	var err error
	if f.json {
		err = r.digest(ctx)
	}
	if err = errors.Join(err, ctx.Err(), formats.Intact(m.Source())); err != nil {
		return err
	}
	if f.json {
		return writeJSON(w, r)
	}
	return r.text(w, f.values)
}

// networkOf returns the file's own graph or, of a file without nodes, the network that is made of it.
func networkOf(m *nacre.Model) (*graph.Model, error) {
	if source := m.Source(); len(source.Graph.Nodes) > 0 {
		return source, nil
	}
	return m.Network()
}
