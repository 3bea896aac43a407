package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// checkFlags are the flags of nacre check.
type checkFlags struct {
	session sessionFlags // the side to check
	against sessionFlags // the side to compare with
	input   inputFlags
	dims    dimFlags
	tol     compare.Tolerance
	save    string

	separately bool
}

func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check MODEL",
		Short: "Run a model in two ways and name the first node that differs",
		Long: `Run a model twice on the same inputs, on --device and on --against, and compare every
value that the nodes of its main graph compute. Inputs that no file gives are random.
The first node, in the order of the graph, of which an output differs is named with the
types of its operands; --save writes these, and the output of both ways, as nacre run --out does.

If no flag asks for another way (--device, --against, --isa, --no-optimize, --direct-conv,
--accuracy, --weight-budget), the optimised network is compared with the graph as the file has it: all
values together, then the outputs alone, for which nodes may be joined.

Devices that may round the rows of products to 8 bits round other blocks of them. So if --device and
--against differ, only --accuracy fast lets --device round, and --against never does.`,
		Example: `nacre check model.onnx
nacre check model.onnx --device vulkan
nacre check model.onnx --device vulkan:1 --save difference
nacre check model.onnx --device cpu --isa scalar`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.input.add(flags)
	f.dims.add(flags)
	flags.StringVar(&f.against.device, "against", "cpu", "device to compare with")
	flags.Float64Var(&f.tol.Rel, "rtol", 1e-3, "relative part of the tolerance")
	flags.Float64Var(&f.tol.Abs, "atol", 1e-4, "absolute part of the tolerance")
	flags.BoolVar(&f.separately, "separately", false,
		"then run the model for each node alone, so that nodes before it are joined as in other runs")
	flags.StringVar(&f.save, "save", "", "`DIR` for the operands of the node that differs")
	f.session.add(flags)
	return cmd
}

func (f *checkFlags) run(ctx context.Context, path string, stdout, stderr io.Writer) (err error) {
	mine, err := f.session.options()
	if err != nil {
		return err
	}
	theirs, err := f.against.options()
	if err != nil {
		return err
	}
	theirs.Lowering = mine.Lowering
	if f.session.device != f.against.device {
		theirs.Accuracy = nacre.AccuracyExact
		if mine.Accuracy == nacre.AccuracyModel {
			mine.Accuracy = nacre.AccuracyExact
		}
	}
	alike := f.alike()
	theirs.NoOptimize = alike
	m, err := nacre.OpenContext(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = join(err, m) }()
	network, err := m.Network()
	if err != nil {
		return err
	}
	nodes := network.Graph.Live()
	inputs, err := f.values(ctx, m, theirs)
	if err != nil {
		return err
	}
	c := &checking{checkFlags: f, model: m, mine: mine, theirs: theirs, inputs: inputs, stdout: stdout, stderr: stderr}
	if found, err := c.compare(ctx, nodes); found || err != nil {
		return err
	}
	if alike {
		if found, err := c.compare(ctx, computing(network.Graph)); found || err != nil {
			return err
		}
	}
	if c.separately {
		for i := range nodes {
			if found, err := c.compare(ctx, nodes[i:i+1]); found || err != nil {
				return err
			}
		}
	}
	_, err = printable.Fprintf(stdout, "%d values of %d nodes agree; the largest error is %.3g of the tolerance\n",
		len(outputsOf(nodes)), len(nodes), c.worst)
	return err
}

// alike reports whether both sides would run in the same way.
func (f *checkFlags) alike() bool {
	mine, theirs := f.session, f.against
	mine.threads, mine.memory, mine.quirks, mine.seed = theirs.threads, theirs.memory, theirs.quirks, theirs.seed
	mine.context = theirs.context
	return mine == theirs
}

// computing returns the nodes that compute outputs of the graph.
func computing(g *graph.Graph) []*graph.Node {
	isOutput := func(name string) bool {
		return slices.ContainsFunc(g.Outputs, func(v *graph.Value) bool { return v.Name == name })
	}
	return slices.DeleteFunc(slices.Clone(g.Live()), func(n *graph.Node) bool {
		return !slices.ContainsFunc(n.Outputs, isOutput)
	})
}

// checking is one comparison.
type checking struct {
	*checkFlags
	model          *nacre.Model
	mine, theirs   nacre.Options
	inputs         map[string]nacre.Value
	worst          float64
	stdout, stderr io.Writer
}

// compare runs the model on both sides with the outputs of nodes as outputs. It reports whether a
// node differs, and then prints it.
func (c *checking) compare(ctx context.Context, nodes []*graph.Node) (found bool, err error) {
	names := outputsOf(nodes)
	c.mine.Outputs, c.theirs.Outputs = names, names
	got, err := values(ctx, c.model, c.mine, c.inputs)
	if err != nil {
		return false, fmt.Errorf("--device %s: %w", c.session.device, err)
	}
	want, err := values(ctx, c.model, c.theirs, c.inputs)
	if err != nil {
		return false, fmt.Errorf("--against %s: %w", c.against.device, err)
	}
	for _, n := range nodes {
		for _, name := range outputsOf([]*graph.Node{n}) {
			r, err := compare.Values(ctx, plain(got[name]), plain(want[name]), c.tol)
			if err != nil {
				return false, err
			}
			if c.worst = max(c.worst, r.Share); !r.Match() {
				return true, c.differ(ctx, n, name, r, got, want, c.inputs, c.stdout, c.stderr)
			}
		}
	}
	return false, nil
}

// outputsOf returns the names of all values that nodes compute.
func outputsOf(nodes []*graph.Node) (names []string) {
	for _, n := range nodes {
		for _, name := range n.Outputs {
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// values runs the model with options o and returns the values of o.Outputs.
func values(
	ctx context.Context, m *nacre.Model, o nacre.Options, inputs map[string]nacre.Value,
) (_ map[string]nacre.Value, err error) {
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = join(err, s) }()
	return s.RunValues(ctx, inputs)
}

// values returns the inputs: tensors from files, random ones for the rest.
func (f *checkFlags) values(
	ctx context.Context, m *nacre.Model, o nacre.Options,
) (_ map[string]nacre.Value, err error) {
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = join(err, s) }()
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return nil, err
	}
	inputs, err := f.input.orRandom(ctx, s, e, f.session.seed)
	return asValues(inputs), err
}

// differ prints node n because its output differs. With --save it writes n's operands and both
// results. The error is errReported unless writing fails.
func (f *checkFlags) differ(
	ctx context.Context, n *graph.Node, output string, r compare.Result, got, want, inputs map[string]nacre.Value,
	stdout, stderr io.Writer,
) error {
	printable.Fprintf(stdout, "node %s (%s) differs first: output %q: %s\n", n.Label(), n.OpName(), output, r.Reason)
	for i, name := range n.Inputs {
		v, ok := want[name]
		if !ok {
			v = inputs[name]
		}
		if name != "" && v != nil {
			printable.Fprintf(stdout, "  input %d  %s  %v\n", i, name, v)
		}
	}
	if f.save == "" {
		return errReported
	}
	operands := map[string]nacre.Value{"device": got[output], "against": want[output]}
	for i, name := range n.Inputs {
		for _, list := range []map[string]nacre.Value{want, inputs} {
			if v := list[name]; v != nil {
				operands[fmt.Sprint("input", i)] = v
			}
		}
	}
	var list []nacre.Info
	for _, name := range slices.Sorted(maps.Keys(operands)) {
		list = append(list, nacre.Info{Name: name})
	}
	if err := writeOutputs(ctx, stderr, f.save, list, operands); err != nil {
		return err
	}
	return errReported
}
