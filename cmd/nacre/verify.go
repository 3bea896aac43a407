package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
)

func verifyCommand() *cobra.Command {
	var weights string
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check that a model file is sound and that this program can run it",
		Long: `Check a model file: its structure, checksums of external data where the file has
some, names and types. Every problem is reported, and warnings of what the format
forbids and other programs take. Then show what it holds, where
its format has such a text (of a checkpoint of gpt.rs the kind of its network; a
kind that is not known is said to be so and is no failure), and make the model ready to run, which finds operators
that are missing and shapes that cannot be.`,
		Example: `nacre verify model.onnx
nacre verify graph.json --model model.oinf`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if problems := formats.VerifyWithin(budgetOf(cmd), args[0]); len(problems) > 0 {
				return errors.Join(problems...)
			}
			return canRun(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], weights)
		},
	}
	addProgramModel(cmd.Flags(), &weights)
	return cmd
}

// canRun prints the warnings and contents of a well-formed file, makes a session of it, and prints
// the model's inputs and outputs.
func canRun(ctx context.Context, w, stderr io.Writer, path, weights string) (err error) {
	m, err := openModel(ctx, path, weights)
	if err != nil {
		return err
	}
	defer func() { err = join(err, m) }()
	for _, warning := range m.Source().Warnings {
		printable.Fprintln(stderr, "warning:", warning)
	}
	g := m.Source().Graph
	printable.Fprintf(w, "%s: well formed, %s, %s\n", path, plural(len(g.Nodes), "node"),
		plural(len(g.Initializers), "weight"))
	if err := formats.Summary(ctx, w, m.Source()); err != nil {
		return err
	}
	if isProgram(m) && weights == "" {
		return nil // the sizes are in the file of weights
	}
	network, err := m.Network()
	if errors.Is(err, formats.ErrNoNetwork) {
		return nil
	}
	if err != nil {
		return err
	}
	var missing []error
	for _, o := range operators(network) {
		if o.err != nil {
			missing = append(missing, &graph.Error{
				Stage: "validate", File: path, Offset: -1, Node: o.first.Label(), Op: o.first.OpName(), Err: o.err,
			})
		}
	}
	if missing != nil {
		return errors.Join(missing...)
	}
	s, err := m.NewSessionContext(ctx, nacre.Options{Threads: 1})
	if err != nil {
		return err
	}
	printable.Fprintf(w, "%s: can run, takes %s, gives %s\n", path, valueList(s.Inputs()), valueList(s.Outputs()))
	return s.Close()
}
