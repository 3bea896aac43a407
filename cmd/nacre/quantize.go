package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// quantizeFlags are the flags of the command quantize.
type quantizeFlags struct {
	o          quantize.Options
	to         string
	rules      []string
	importance string
	asJSON     bool
	dropMeta   bool

	calibration, tokenizer, made string
	activations, ranges          string
}

func quantizeCommand() *cobra.Command {
	var f quantizeFlags
	cmd := &cobra.Command{
		Use:   "quantize IN OUT --to TYPE",
		Short: "Write a model with weights of few bits",
		Long: `Write a model with weights of few bits, and print the error of each weight. The
extension of OUT says the format, and the format which types there are:
` + strings.Join(weightTypes(), ", ") + `.

q4_k_m and its like give each weight a type by its part in a decoder. q2, q4 and q8 are for
products of ONNX (MatMulNBits), int4 to uint8 for its DequantizeLinear, i1 to t2 for OINF. From
a file of Loom, ENTITY takes i2 to t2, and q4_0 for transformer bundles.

int8 with --calibration also makes activations codes: convolutions and products then compute on
8-bit integers between QuantizeLinear and DequantizeLinear. --activations float keeps floats.

The error of a weight is relative: the root of the sum of squared errors over that of the
squares. go -C bench/plot run . REPORT.json, in a checkout, draws what --json prints. OUT appears when it is complete; a file that was there stays until then.`,
		Example: `nacre quantize model.gguf small.gguf --to q4_k_m
nacre quantize model.onnx small.onnx --to q4 --layer 'head=float'
nacre quantize model.onnx codes.onnx --to int8 --calibration samples`,
		Args: takes(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.quantize(cmd, args[0], args[1])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "the type that weights become, such as q4_k_m")
	flags.StringArrayVar(&f.rules, "layer", nil,
		"REGEXP=TYPE: the type for weights whose names match; the type float keeps them; the first that matches applies")
	flags.IntVar(&f.o.Block, "block", 0, "elements that share a scale, in files of onnx (default 32; int8 and uint8 have a scale for each channel)")
	flags.BoolVar(&f.o.Asymmetric, "asymmetric", false, "give q2, q4 and q8 zero points")
	flags.BoolVar(&f.o.Pure, "pure", false, "give all weights the same type of blocks")
	flags.BoolVar(&f.o.Requantize, "allow-requantize", false, "quantise weights that are quantised already; errors add up")
	flags.Float64Var(&f.o.KeepAbove, "keep-above", 0, "leave weights as they are if their error is above this, such as 0.1")
	flags.StringVar(&f.importance, "imatrix", "", "file with the importance of columns, of GGUF or of llama.cpp's older form")
	flags.StringVar(&f.calibration, "calibration", "",
		"text for a decoder, or a folder of folders with a file NAME.npy for each input: the model runs on them, which gives the importance of columns (without --imatrix) and the divergence of the result")
	flags.StringVar(&f.activations, "activations", "",
		"what activations become, by --calibration: uint8, int8 or float (default uint8 for --to int8, float for other types)")
	flags.StringVar(&f.ranges, "ranges", string(quantize.MinMax),
		"how the ranges of activations follow from --calibration: minmax, percentile (99.999 % of the numbers) or entropy")
	flags.BoolVar(&f.o.ReduceRange, "reduce-range", false,
		"give weights of int8 codes of 7 bits, for runtimes that add pairs of products in 16 bits")
	flags.BoolVar(&f.o.Compensate, "gptq", false, "compensate the error of a column by later columns, by --calibration; for q2, q4, q8 and types of blocks")
	flags.StringVar(&f.tokenizer, "tokenizer", "", "file or folder of the tokenizer for the text of --calibration")
	flags.StringVar(&f.made, "imatrix-out", "", "write the importance of --calibration to this file of GGUF")
	flags.IntVar(&f.o.Threads, "threads", 0, "threads that quantise; 0 takes one per CPU")
	flags.BoolVar(&f.dropMeta, "drop-metadata", false, "leave out metadata that the format has no place for")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	return cmd
}

// weightTypes returns the names of the types that weights can become.
func weightTypes() (names []string) {
	for _, t := range quantize.Types {
		if t != quantize.Keep {
			names = append(names, t.String())
		}
	}
	return names
}

// options checks the flags.
func (f *quantizeFlags) options(ctx context.Context, out string) error {
	var err error
	if f.to == "" {
		return usagef("--to TYPE is missing; have such as q4_k_m, q4, int8")
	}
	if f.o.Type, err = quantize.TypeOf(f.to); err != nil {
		return usagef("--to: %w", err)
	}
	extension := strings.ToLower(filepath.Ext(out))
	for _, row := range formats.Formats {
		if f.o.Format == "" && slices.Contains(row.Extensions, extension) {
			f.o.Format = row.Name
		}
	}
	if f.o.Format == "" {
		return usagef("the extension of %s names no format; have %s", out, extensions())
	}
	f.o.Scratch = scratch(out)
	switch {
	case f.o.Compensate && f.calibration == "":
		return usagef("--gptq needs --calibration")
	case f.o.Compensate && f.importance != "":
		return usagef("--gptq measures what it needs by --calibration; leave --imatrix out")
	}
	if err := f.staticOptions(); err != nil {
		return err
	}
	for _, rule := range f.rules {
		i := strings.LastIndexByte(rule, '=')
		if i < 0 {
			return usagef("--layer %s: have REGEXP=TYPE", rule)
		}
		p, err := regexp.Compile(rule[:i])
		if err != nil {
			return usagef("--layer %s: %w", rule, err)
		}
		t, err := quantize.TypeOf(rule[i+1:])
		if err != nil {
			return usagef("--layer %s: %w", rule, err)
		}
		f.o.Layers = append(f.o.Layers, quantize.Rule{Pattern: p, Type: t})
	}
	if f.importance != "" {
		f.o.Importance, err = quantize.ReadImportance(ctx, f.importance)
	}
	return err
}

// scratch returns the folder for results on their way to a file: the file's own, so that they take
// room on the same disk. It is the system's if the output is a pipe or a device.
func scratch(out string) string {
	if info, err := os.Stat(out); err == nil && !info.Mode().IsRegular() {
		return os.TempDir()
	}
	return filepath.Dir(out)
}

// staticOptions checks the flags about activations, and sets activations to its default.
func (f *quantizeFlags) staticOptions() error {
	if !slices.Contains(quantize.Methods, quantize.Method(f.ranges)) {
		return usagef("--ranges %s: have minmax, percentile, entropy", f.ranges)
	}
	switch f.activations {
	case "":
		f.activations = "float"
		if f.o.Format == "onnx" && f.o.Type.String() == "int8" && f.calibration != "" && f.o.Block == 0 {
			f.activations = "uint8"
		}
	case "float":
	case "uint8", "int8":
		if f.calibration == "" || f.o.Type.String() != "int8" || f.o.Format != "onnx" {
			return usagef("--activations %s needs --calibration, --to int8 and a file of onnx", f.activations)
		}
	default:
		return usagef("--activations %s: have uint8, int8, float", f.activations)
	}
	f.o.SignedActivations = f.activations == "int8"
	return nil
}

func (f *quantizeFlags) quantize(cmd *cobra.Command, in, out string) (err error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	if err := f.options(ctx, out); err != nil {
		return err
	}
	opened, err := nacre.OpenContext(ctx, in)
	if err != nil {
		return err
	}
	defer func() { err = join(err, opened) }()
	m := opened.Source()
	switch {
	case f.o.Format == "onnx":
		if m, err = opened.Network(); err != nil {
			return err
		}
	case f.o.Format == gguf.Name && isCheckpoint(in, m):
		if f.calibration != "" || f.importance != "" {
			return usagef("--calibration and --imatrix name weights of the file that they are for: nacre convert %s FILE.gguf makes one", in)
		}
		if m, err = asGGUF(ctx, in, m, false, stderr); err != nil {
			return err
		}
	}
	var bar *progressbar.ProgressBar
	f.o.Progress = func(done, total int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(stderr), progressbar.OptionSetDescription("weights"),
				progressbar.OptionSetVisibility(terminal(stderr)), progressbar.OptionSetPredictTime(true),
				progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		}
		_ = bar.Set64(done)
	}
	runs, err := f.measure(ctx, opened, in)
	if err != nil {
		return err
	}
	made, report, err := quantize.Model(ctx, m, f.o)
	if err != nil {
		return err
	}
	if runs != nil {
		if report.Divergence, err = f.compare(ctx, opened, made, runs); err != nil {
			return err
		}
		if report.Divergence == nil {
			report.Warnings = append(report.Warnings, "the result has no network, so its results were not compared")
		}
	}
	if err := formats.SaveAs(out, f.o.Format, made, formats.Options{DropMeta: f.dropMeta}.Within(ctx)); err != nil {
		if errors.Is(err, graph.ErrUnsupported) {
			err = errors.Join(err, errors.New("--drop-metadata leaves out metadata that the format lacks"))
		}
		return err
	}
	for _, w := range report.Warnings {
		printable.Fprintf(stderr, "nacre: %s: %s\n", in, w)
	}
	if f.asJSON {
		return writeJSON(within(cmd), report)
	}
	return errors.Join(table(within(cmd), report), ctx.Err())
}

// measure measures the importance of columns, or the ranges of activations, by calibration data, and
// returns the runs, nil if there is no data.
func (f *quantizeFlags) measure(ctx context.Context, opened *nacre.Model, in string) (quantize.Runs, error) {
	if f.calibration == "" {
		if f.made != "" {
			return nil, usagef("--imatrix-out needs --calibration")
		}
		return nil, nil
	}
	runs, err := f.runs(ctx, opened, in)
	if err != nil || f.importance != "" && f.activations == "float" {
		return runs, err
	}
	network, err := opened.Network()
	if err != nil {
		return nil, err
	}
	if f.activations != "float" {
		method := quantize.Method(f.ranges)
		f.o.Ranges, err = quantize.MeasureRanges(ctx, network, runs, method, nacre.Options{Threads: f.o.Threads})
		if err != nil || f.importance != "" || f.made == "" {
			return runs, err
		}
	}
	measure := quantize.Measure
	if f.o.Compensate {
		measure = quantize.MeasureProducts
	}
	if f.o.Importance, err = measure(ctx, network, runs, nacre.Options{Threads: f.o.Threads}); err != nil {
		return nil, err
	}
	f.o.Importance.Datasets = []string{filepath.Base(f.calibration)}
	if f.made != "" {
		err = formats.SaveAs(f.made, gguf.Name, f.o.Importance.Model(), formats.Options{}.Within(ctx))
	}
	return runs, err
}

// compare compares the results of the original and of the quantised model. If the quantised model
// cannot run, compare returns nil.
func (f *quantizeFlags) compare(ctx context.Context, opened *nacre.Model, made *graph.Model, runs quantize.Runs) (*quantize.Divergence, error) {
	reference, err := opened.Network()
	if err != nil {
		return nil, err
	}
	copied := *made
	copied.Closer = nil // opened closes it
	m, err := nacre.NewModel(&copied)
	if err != nil {
		return nil, err
	}
	network, err := m.Network()
	if errors.Is(err, nacre.ErrUnsupported) {
		return nil, nil // a file of tensors alone
	}
	if err != nil {
		return nil, err
	}
	return quantize.Compare(ctx, reference, network, runs, nacre.Options{Threads: f.o.Threads})
}

// table prints a report for people.
func table(w io.Writer, r *quantize.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	printable.Fprintf(t, "weight\tshape\tfrom\tto\tbits\tsize\terror %%\t\n")
	for _, l := range r.Layers {
		lost := "-"
		if l.Error > 0 {
			lost = fmt.Sprintf("%.3f", 100*l.Error)
		}
		printable.Fprintf(t, "%s\t%v\t%s\t%s\t%.3g\t%s\t%s\t%s\n", cmp.Or(l.Source, l.Name), l.Shape, l.From, l.To, l.Bits, humanize.IBytes(uint64(l.Bytes)), lost, l.Note)
	}
	if len(r.Activations) > 0 {
		printable.Fprintf(t, "\nactivation\tcodes\tleast\tgreatest\tscale\tzero\n")
	}
	for _, a := range r.Activations {
		printable.Fprintf(t, "%s\t%s\t%.5g\t%.5g\t%.5g\t%d\n", a.Name, a.Type, a.Low, a.High, a.Scale, a.Zero)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := printable.Fprintf(w, "%s: %s of constants, %s before; error %.3f %%\n", r.Type, humanize.IBytes(uint64(r.Bytes)),
		humanize.IBytes(uint64(r.Before)), 100*r.Error)
	if d := r.Divergence; d != nil && err == nil {
		_, err = printable.Fprintf(w, "%s: divergence %.5f nats, at most %.5f; the greatest is the same in %.1f %% of %d rows; error %.3f %%\n",
			d.Output, d.KL, d.Most, 100*d.Same, d.Rows, 100*d.Error)
	}
	return err
}
