package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/internal/printable"
)

// runFlags are the flags of nacre run.
type runFlags struct {
	session  sessionFlags
	programs programFlags
	forwards forwardFlags
	input    inputFlags
	dims     dimFlags
	random   bool
	testData string
	out      string
	profile  string
	json     bool
	pictures []string
	finite   bool
	weights  string
	export   string
	tol      compare.Tolerance
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run MODEL",
		Short: "Run a model on files, numbers, random inputs, or stored test data",
		Long: `Run a model once and print what comes out, or store it. Names of axes that the model leaves open
follow from the inputs.

An input is a file, a number or a list: --input sr=16000, --input x=1,2,3, --input 'x=[[1,2],[3,4]]' and
--input x=x.npy. If a file has the name, it is the file; @ before it says that it is one. - is standard
input: .npy, JSON or .pb. JSON is such a list, or an object in the form of --json. If a list has fewer
axes than the input, axes of extent 1 come first. With --random, inputs that no --input names are random:
floats from a normal distribution, integers and booleans 0 or 1, by --seed; open axes have extent 1 unless
--dim says otherwise.

With --out every tensor becomes a .npy file. Sequences and maps, such as the class
probabilities of CatBoost and scikit-learn, become .json files: a map is an object,
a sequence a list, a tensor in one has dtype, shape and values. With --json one object
of that form, with a member for each output, goes to stdout.

With --picture an output becomes a picture. Axes of extent 1 in front do not count, and the shorter of
the first and the last of three axes is channels. One channel is grey, 3 are red, green and blue, and 4
have opacity; numbers in 0..1 and 0..255 keep their brightness, others are stretched. Any other number of
channels is scores of classes, and integers of more than 8 bits are classes: each class has a colour, and
class 0 is black.

With --check-finite a NaN or an infinity in an output is a failure, and the first node with one is named.

With --test-data the model runs on folders of input_K.pb and output_K.pb, and
every output is compared with the stored one. A mismatch of float16 or bfloat16 that a
tolerance for these types accepts names its flags.

A decoder takes --tokens 1,2,3, or --prompt TEXT with --tokenizer FILE, in place of
files. Such a run, and that of a checkpoint
of gpt.rs, prints the kind of the network, the shape of its logits, and the best of
the last token, or of the first picture; --trace stores every activation.

A program of OpenInfer runs with the file of its tensors (--model), step by step:
persistent variables last over the --steps. --trace stores the nodes that ran, in the
form of OpenInfer's traces.

With --export-weights every initialiser of the model is written to an archive
(.hnw), bit for bit; the model then runs only if inputs, test data or a folder for
outputs are given. With --weights the model takes its weights from such an archive,
which must be intact and fit: every initialiser needs a tensor of its name, type
and shape.`,
		Example: `nacre run model.onnx --input image=cat.jpg --image-fit crop --image-shorter 256 --image-mean 0.485,0.456,0.406 --image-std 0.229,0.224,0.225
nacre run model.onnx --input tokens=tokens.npy --out results
nacre run model.onnx --input 'x=[[1,2],[3,4]]' --input rate=16000 --json
nacre run model.onnx --random --dim batch=2 --check-finite
nacre run segment.onnx --input image=cat.jpg --picture mask=mask.png
nacre run model.onnx --test-data .
nacre run model.onnx --export-weights model.hnw
nacre run model.onnx --weights tuned.hnw --input tokens=tokens.npy
nacre run gpt2.chk --tokens 15496,995 --out logits.ten
nacre run resnet34.chk --input image=picture.ten --trace trace.ten
nacre run graph.json --model model.oinf --steps 3 --input q=q{step}.npy --trace trace.json`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.input.add(flags)
	flags.BoolVar(&f.random, "random", false, "make random inputs where --input gives none")
	f.dims.add(flags)
	f.forwards.add(flags)
	flags.StringVar(&f.testData, "test-data", "", "`DIR` with input_K.pb and output_K.pb, or with folders of such files")
	flags.Float64Var(&f.tol.Rel, "rtol", 1e-3, "test data: relative part of the tolerance")
	flags.Float64Var(&f.tol.Abs, "atol", 1e-4, "test data: absolute part of the tolerance")
	flags.StringVar(&f.out, "out", "", "`DIR` for the outputs, as .npy files, or .json for sequences and maps; with "+
		"--tokens, and for checkpoints of gpt.rs, a .ten file for the logits")
	flags.StringVar(&f.profile, "profile", "", "`FILE` for the time of every step (Chrome trace); a table goes to stderr")
	flags.BoolVar(&f.json, "json", false, "print the outputs as JSON")
	flags.StringArrayVar(&f.pictures, "picture", nil, "`NAME=FILE` (.png) for an output as a picture; repeat for more")
	flags.BoolVar(&f.finite, "check-finite", false, "fail if an output has a NaN or an infinity, and name the first node with one")
	flags.StringVar(&f.weights, "weights", "", "`FILE` (.hnw) that has the weights to run with")
	flags.StringVar(&f.export, "export-weights", "", "`FILE` (.hnw) for the weights that the model has")
	f.session.add(flags)
	flags.Lookup("seed").Usage = "seed of random inputs, and of weights that the file leaves to chance"
	f.input.image.memory = &f.session.memory
	f.programs.add(flags)
	cmd.MarkFlagsMutuallyExclusive("tokens", "prompt")
	for _, name := range []string{"input", "random", "out", "json", "picture", "check-finite"} {
		cmd.MarkFlagsMutuallyExclusive("test-data", name)
	}
	return cmd
}

func (f *runFlags) run(ctx context.Context, path string, stdout, stderr io.Writer) (err error) {
	if len(f.dims.list) > 0 && !f.random {
		return usagef("--dim is for --random")
	}
	if err := f.checkPictures(); err != nil {
		return err
	}
	o, err := f.session.options()
	if err != nil {
		return err
	}
	m, err := openModel(ctx, path, f.programs.model)
	if err != nil {
		return err
	}
	defer func() { err = join(err, m) }()
	if err := f.archives(ctx, m, stderr); err != nil || f.exportOnly() {
		return err
	}
	program := isProgram(m) && f.testData == "" && f.profile == ""
	forward := !isProgram(m) && f.testData == "" && f.profile == "" && f.forwards.used(m)
	if (f.json || f.pictures != nil) && (program || forward) {
		return usagef("--json and --picture are for models that take their inputs from --input")
	}
	if (f.random || f.finite) && program {
		return usagef("--random and --check-finite are not for programs of OpenInfer")
	}
	if program {
		return f.program(ctx, m, o, stdout, stderr)
	}
	if !isProgram(m) && f.programs.given() {
		return usagef("--model and --steps are for programs of OpenInfer")
	}
	if forward {
		return f.forward(ctx, m, stdout, stderr)
	}
	if f.forwards != (forwardFlags{}) {
		return usagef("--tokens, --prompt and --trace are for decoders and checkpoints of gpt.rs, without --test-data " +
			"and --profile")
	}
	s, err := m.NewSessionContext(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s) }()
	if f.testData != "" {
		return f.compare(ctx, s, stdout, stderr)
	}
	stream, err := f.begin(ctx, m, s)
	if err != nil {
		return err
	}
	if stream != nil {
		return f.first(ctx, m, s, o, stream, stdout, stderr)
	}
	return f.plain(ctx, m, s, o, stdout, stderr)
}

// inputs returns the inputs of --input, and with --random the others.
func (f *runFlags) inputs(ctx context.Context, s taker, stderr io.Writer) (map[string]*nacre.Tensor, error) {
	if !f.random {
		return f.input.load(ctx, s)
	}
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return nil, err
	}
	inputs, err := f.input.orRandom(ctx, s, e, f.session.seed)
	sayAssumed(stderr, e)
	return inputs, err
}

// plain runs a session once.
func (f *runFlags) plain(
	ctx context.Context, m *nacre.Model, s *nacre.Session, o nacre.Options, stdout, stderr io.Writer,
) error {
	inputs, err := f.inputs(ctx, s, stderr)
	if err != nil {
		return err
	}
	start := time.Now()
	out, err := f.once(ctx, s, asValues(inputs), stderr)
	if err != nil {
		return err
	}
	if err := f.show(ctx, s, out, time.Since(start), stdout, stderr); err != nil {
		return err
	}
	return f.checkFinite(ctx, m, o, out, func(s *nacre.Session) (map[string]nacre.Value, error) {
		return s.RunValues(ctx, asValues(inputs))
	})
}

// show stores or prints the outputs of a run.
func (f *runFlags) show(
	ctx context.Context, s *nacre.Session, out map[string]nacre.Value, took time.Duration, stdout, stderr io.Writer,
) error {
	printable.Fprintf(stderr, "ran in %v\n", took.Round(time.Microsecond))
	computed := slices.DeleteFunc(s.Outputs(), func(v nacre.Info) bool { return out[v.Name] == nil })
	listing := stdout
	if f.json {
		listing = stderr
	}
	if f.out != "" {
		if err := writeOutputs(ctx, listing, f.out, computed, out); err != nil {
			return err
		}
	}
	if err := f.writePictures(ctx, listing, out); err != nil {
		return err
	}
	switch {
	case f.json:
		o := outputsJSON(ctx, computed, out)
		if err := ctx.Err(); err != nil {
			return err
		}
		return writeJSON(pieces.Writer(ctx, stdout), o)
	case f.out != "" || f.pictures != nil:
		return nil
	}
	for _, v := range computed {
		if err := describe(ctx, stdout, v.Name, out[v.Name]); err != nil {
			return err
		}
	}
	return nil
}

// archives replaces the model's weights with --weights, and writes them with --export-weights.
func (f *runFlags) archives(ctx context.Context, m *nacre.Model, stderr io.Writer) error {
	if f.weights != "" {
		if err := m.ReplaceWeightsContext(ctx, f.weights); err != nil {
			return err
		}
	}
	if f.export == "" {
		return nil
	}
	if err := formats.SaveAs(f.export, hnw.Name, m.Source(),
		formats.Options{DropGraph: true, DropMeta: true}.Within(ctx)); err != nil {
		return err
	}
	printable.Fprintf(stderr, "%s: weights of %s\n", f.export, m.Source().File)
	return nil
}

// exportOnly reports whether an archive is all that the flags ask for.
func (f *runFlags) exportOnly() bool {
	return f.export != "" && len(f.input.files) == 0 && !f.random && f.testData == "" && f.out == "" && f.profile == ""
}

func asValues(tensors map[string]*nacre.Tensor) map[string]nacre.Value {
	m := make(map[string]nacre.Value, len(tensors))
	for name, t := range tensors {
		m[name] = t
	}
	return m
}

// once runs the model, with a profile if --profile asks for one.
func (f *runFlags) once(
	ctx context.Context, s *nacre.Session, inputs map[string]nacre.Value, stderr io.Writer,
) (map[string]nacre.Value, error) {
	if f.profile == "" {
		return s.RunValues(ctx, inputs)
	}
	return f.profiled(ctx, s, inputs, stderr)
}

// compare runs the model on every stored data set and prints a line for each output.
func (f *runFlags) compare(ctx context.Context, s *nacre.Session, stdout, stderr io.Writer) error {
	sets, err := findSets(f.testData)
	if err != nil {
		return err
	}
	failed := 0
	for _, set := range sets {
		data, err := set.load(ctx, s)
		if err != nil {
			return err
		}
		out, err := f.once(ctx, s, data.inputs, stderr)
		if err != nil {
			return fmt.Errorf("%s: %w", set, err)
		}
		for _, want := range data.outputs {
			r, err := compare.Values(ctx, plain(out[want.name]), plain(want.value), f.tol)
			if err != nil {
				return err
			}
			verdict := "ok"
			if !r.Match() {
				reason, err := mismatch(ctx, r, plain(out[want.name]), plain(want.value), f.tol)
				if err != nil {
					return err
				}
				verdict, failed = "MISMATCH: "+reason, failed+1
			}
			printable.Fprintf(stdout, "%s %s %s abs %.3g rel %.3g %s\n",
				set, want.name, kindAndCount(want.value), r.MaxAbs, r.MaxRel, verdict)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s not match (rtol %g, atol %g)", outputsDo(failed), f.tol.Rel, f.tol.Abs)
	}
	return nil
}

func outputsDo(n int) string {
	if n == 1 {
		return "1 output does"
	}
	return fmt.Sprintf("%d outputs do", n)
}
