package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/chelis"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// moduleName matches the names of modules that the linter of Chelis accepts.
var moduleName = regexp.MustCompile(`^[A-Z][a-z0-9]*([A-Z][a-z0-9]+)*(\.[A-Z][a-z0-9]*([A-Z][a-z0-9]+)*)*$`)

func emitCommand() *cobra.Command {
	var out, to, weights, archive string
	var o chelis.Options
	cmd := &cobra.Command{
		Use:   "emit MODEL -o FILE",
		Short: "Write a network as source text of another language",
		Long: `Write a network as source text of another language: a module of Chelis, with one
definition per weight and one, forward, of typed operations on tensors. The text is as
the formatter of Chelis prints it.

The standard operators that Chelis has or that can be spelled out in it are emitted,
from operator sets 11 to 23, over f32, f64, i32, i64 and bool. Axes with names become dimension
variables. What cannot be emitted is an error that names its kind: UnsupportedOpset,
UnsupportedDtype, UnsupportedOperator, UnsupportedShapePattern, InternalInconsistency
(an axis without extent and name) or WeightConversionFailure (a weight that is
too large, or holds infinities or NaNs).`,
		Example: `nacre emit model.onnx -o model.chelis
nacre emit model.onnx -o model.chelis --weights archive --archive model.hnw`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case out == "":
				return usagef("-o names the file to write")
			case to != "chelis":
				return usagef("--to %s: source text of chelis can be emitted", to)
			case weights != "inline" && weights != "placeholder" && weights != "archive":
				return usagef("--weights %s: it takes inline, placeholder or archive", weights)
			case weights == "archive" && archive == "":
				return usagef("--weights archive: --archive names the file of the weights")
			case o.MaxElements < 1:
				return usagef("--max-elements %d: it takes 1 or more", o.MaxElements)
			case o.Module != "" && !moduleName.MatchString(o.Module):
				return usagef("--module %s: a name is words in title case with dots between, such as Hydronnx.Iris", o.Module)
			}
			o.Placeholder, o.Archive = weights == "placeholder", weights == "archive"
			return emitFile(cmd.Context(), args[0], out, archive, o)
		},
	}
	cmd.Flags().StringVarP(&out, "output", "o", "", "the file to write")
	cmd.Flags().StringVar(&to, "to", "chelis", "the language")
	cmd.Flags().StringVar(&weights, "weights", "inline", "inline writes the values of weights, placeholder a literal "+
		"for each weight, archive code that reads the file of --archive")
	cmd.Flags().IntVar(&o.MaxElements, "max-elements", chelis.MaxElements, "the most elements of a weight to write")
	cmd.Flags().StringVar(&archive, "archive", "", "`FILE` (.hnw) for the weights, which names the module and has "+
		"its digest")
	cmd.Flags().StringVar(&o.Module, "module", "", `name of the module, such as "Hydronnx.Iris" (default like the file's)`)
	return cmd
}

// emitFile writes the text of a file's network to out. If archive is not "", it saves the weights
// there.
func emitFile(ctx context.Context, path, out, archive string, o chelis.Options) (err error) {
	opened, err := openModel(ctx, path, "")
	if err != nil {
		return err
	}
	defer func() { err = join(err, opened) }()
	m := opened.Source()
	n, err := formats.Network(m, formats.Lowering{})
	if err != nil {
		return err
	}
	if o.Module == "" {
		o.Module = hnw.ModuleName(n)
	}
	text, err := emit(ctx, n, o)
	if err == nil {
		err = formats.Intact(m)
	}
	if err != nil {
		return err
	}
	if archive != "" {
		n.Meta = append(slices.Clone(n.Meta), graph.Pair{Key: "module.name", Value: o.Module},
			graph.Pair{Key: "module.generated_source_sha256", Value: digest(text)})
		if err := formats.SaveAs(archive, hnw.Name, n,
			formats.Options{DropGraph: true, DropMeta: true}.Within(ctx)); err != nil {
			return err
		}
	}
	return writeFile(ctx, out, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

func digest(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

// emit returns the text of a network. At each node it checks ctx.
func emit(ctx context.Context, m *graph.Model, o chelis.Options) ([]byte, error) {
	if err := graph.Validate(m); err != nil {
		return nil, err
	}
	inlined, err := runtime.Inline(m)
	if err != nil {
		return nil, err
	}
	o.Infer = func(n *graph.Node, in []*chelis.Fact) ([]*chelis.Fact, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		values := make([]*op.Value, len(in))
		for i, f := range in {
			values[i] = (*op.Value)(f)
		}
		out, err := runtime.Infer(n, values)
		facts := make([]*chelis.Fact, len(out))
		for i, v := range out {
			facts[i] = (*chelis.Fact)(v)
		}
		return facts, err
	}
	return chelis.Emit(inlined, o)
}
