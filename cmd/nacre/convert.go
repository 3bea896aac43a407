package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func convertCommand() *cobra.Command {
	var o formats.Options
	var dtype, to, weights string
	var dropTokenizer bool
	cmd := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write a model file in another format",
		Long: `Write a model file in another format, which the extension of OUT says
(` + extensions() + `).

The same input gives the same bytes. What the other format cannot hold (an element
type, the characters of a name, metadata, a graph) is an error that lists all of
it before anything is written. The flags below leave it out, escape it or make
floats of it. OUT appears when it is complete; a file that was there stays until then.

A GGUF file becomes a folder of Hugging Face where OUT ends with a slash: tensors in
blocks become float32, or the type of --dtype. A folder of Hugging Face becomes a GGUF
file where OUT ends with .gguf; nacre quantize makes blocks of its floats. Settings,
tokenizer and the template of chats go along. What the other side cannot say is an
error that names it.`,
		Example: `nacre convert model.onnx model.safetensors --drop-graph
nacre convert model.gguf folder/ --dtype bfloat16
nacre convert folder model.gguf`,
		Args: takes(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dtype != "" {
				d, err := tensor.ParseDType(dtype)
				if err != nil || !d.IsFloat() {
					return usagef("--dtype %s: it takes float32, float64, float16, bfloat16, float8e4m3fn or float8e5m2", dtype)
				}
				o.DType = d
			}
			return convert(cmd.Context(), args[0], weights, args[1], to, dropTokenizer, o, cmd.ErrOrStderr())
		},
	}
	addProgramModel(cmd.Flags(), &weights)
	cmd.Flags().StringVar(&dtype, "dtype", "", "element type for floating-point tensors, such as float16; integers stay")
	cmd.Flags().BoolVar(&o.Dequantize, "dequantize", false,
		"make float32 of weights that have scales; --dtype makes another type of it")
	cmd.Flags().StringVar(&to, "to", "", "the format, if the extension of OUT does not name it; huggingface for a folder")
	cmd.Flags().BoolVar(&o.DropMeta, "drop-metadata", false,
		"leave out metadata, size variables, declarations and tensors beside a network that the format has no place for")
	cmd.Flags().BoolVar(&o.DropGraph, "drop-graph", false, "leave out the nodes of a model, with its producer, "+
		"domain, version and documentation, if the format holds only tensors")
	cmd.Flags().BoolVar(&dropTokenizer, "drop-tokenizer", false, "leave out the tokenizer between GGUF and folders of Hugging Face")
	cmd.Flags().BoolVar(&o.Rename, "rename", false, "escape names that the format cannot hold")
	return cmd
}

// extensions lists the formats with their extensions.
func extensions() string {
	var list []string
	for _, f := range formats.Formats {
		if len(f.Extensions) > 0 {
			list = append(list, f.Name+" "+strings.Join(f.Extensions, " "))
		}
	}
	return strings.Join(list, ", ")
}

func convert(ctx context.Context, in, weights, out, to string, dropTokenizer bool, o formats.Options, stderr io.Writer) (err error) {
	opened, err := openModel(ctx, in, weights)
	if err != nil {
		return err
	}
	defer func() { err = join(err, opened) }()
	m := opened.Source()
	o = o.Within(ctx)
	var bar *progressbar.ProgressBar
	o.Progress = func(written, total int64) {
		if bar == nil {
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(stderr),
				progressbar.OptionSetVisibility(terminal(stderr)),
				progressbar.OptionShowBytes(true), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
		}
		_ = bar.Set64(written)
	}
	if isFolderName(out, to) {
		return convertToFolder(ctx, m, out, dropTokenizer, o, stderr)
	}
	if named := to == gguf.Name || to == "" && strings.EqualFold(filepath.Ext(out), ".gguf"); named && isCheckpoint(in, m) {
		if m, err = asGGUF(ctx, in, m, dropTokenizer, stderr); err != nil {
			return err
		}
	}
	var widened []string
	o.Widened = func(name string, from tensor.DType) { widened = append(widened, fmt.Sprintf("%s (%v)", name, from)) }
	if to == "" {
		err = formats.Save(out, m, o)
	} else {
		err = formats.SaveAs(out, to, m, o)
	}
	switch {
	case errors.Is(err, formats.ErrExtension):
		return fmt.Errorf("%w; --to names one", err)
	case errors.Is(err, graph.ErrUnsupported):
		return errors.Join(err, errors.New("--drop-graph and --drop-metadata leave out parts that the format lacks, "+
			"--rename escapes names, and --dequantize makes floats of quantised weights"))
	case err != nil:
		return err
	}
	info, err := os.Stat(out)
	if err == nil {
		printable.Fprintf(stderr, "%s: %s, %s\n", out, plural(len(m.Graph.Initializers), "tensor"), humanize.IBytes(uint64(info.Size())))
		if len(widened) > 0 {
			printable.Fprintf(stderr, "%s became float32, because the format has no form of their blocks for the nodes that read them: %s\n", plural(len(widened), "tensor"),
				strings.Join(widened, ", "))
		}
	}
	return err
}
