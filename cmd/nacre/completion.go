package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// completions lists the completions of values by flag, or by command and flag.
var completions = map[string]cobra.CompletionFunc{
	"isa": levelNames, "device": deviceNames, "against": deviceNames,
	"accuracy":     words("exact", "fast"),
	"image-fit":    words("stretch", "crop", "letterbox"),
	"image-layout": words("auto", "nchw", "nhwc"),
	"input":        inputNames, "picture": outputNames, "dim": axisNames, "node": nodeNames, "filter": operatorNames,
	"cache": words("f16", "f32", "int8"),
	"dtype": words("float32", "float64", "float16", "bfloat16", "float8e4m3fn", "float8e5m2"),
	"model": files("oinf"), "export-weights": files("hnw"), "archive": files("hnw"), "imatrix": files("gguf"),
	"profile": files("json"), "voice": files("onnx"), "reference": files("wav", "flac", "mp3"),
	"out": folders, "save": folders, "test-data": folders, "voices": folders,
	"run weights": files("hnw"), "emit weights": words("inline", "placeholder", "archive"), "emit to": words("chelis"),
	"convert to": formatNames, "quantize to": words(weightTypes()...),
	"quantize activations": words("uint8", "int8", "float"), "quantize ranges": words("minmax", "percentile", "entropy"),
	"inspect style":   words("nacre", "hydronnx"),
	"speak precision": words("fp32", "fp16", "quantized", "q4", "q4f16"),
}

// addCompletions gives the commands below root the completions of their flags and arguments. What a
// command has of its own stays.
func addCompletions(root *cobra.Command) {
	for _, c := range root.Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			of, ok := completions[c.Name()+" "+f.Name]
			if !ok {
				of, ok = completions[f.Name]
			}
			if _, own := c.GetFlagCompletionFunc(f.Name); ok && !own {
				_ = c.RegisterFlagCompletionFunc(f.Name, of) // the flag exists, and has no completion yet
			}
		})
		if form := strings.Fields(c.Use); c.ValidArgsFunction == nil && len(form) > 1 {
			c.ValidArgsFunction = arguments(form[1:])
		}
	}
}

// addShells adds the command that writes completions for a shell. It refuses other shells.
func addShells(root *cobra.Command, args []string) {
	root.InitDefaultCompletionCmd(args...)
	c, _, err := root.Find([]string{"completion"})
	if err != nil || c == root {
		return // the arguments ask for completions
	}
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(_ *cobra.Command, args []string) error {
		var shells []string
		for _, shell := range c.Commands() {
			shells = append(shells, shell.Name())
		}
		return usagef("completion %s: the argument is a shell, %s", strings.Join(args, " "), strings.Join(shells, ", "))
	}
}

// arguments returns the completions of arguments in the words of a command's form: models, folders and
// other files.
func arguments(form []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		word := form[min(len(args), len(form)-1)]
		switch strings.Trim(word, "[].") {
		case "MODEL", "IN", "FILE":
			if len(args) == 0 {
				return modelExtensions(), cobra.ShellCompDirectiveFilterFileExt
			}
		case "OUT":
			return nil, cobra.ShellCompDirectiveDefault
		case "DIR":
			return folders(cmd, args, start)
		case "PICTURE":
			return []string{"png", "jpg", "jpeg"}, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func words(list ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

func files(extensions ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

func folders(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// modelExtensions lists the extensions of model files without their dots.
func modelExtensions() []string {
	var list []string
	for _, f := range formats.Formats {
		for _, e := range f.Extensions {
			list = append(list, strings.TrimPrefix(e, "."))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func levelNames(*cobra.Command, []string, string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, l := range bindings.Levels() {
		list = append(list, cobra.CompletionWithDesc(l.Name, l.Text))
	}
	return append(list, "scalar"), cobra.ShellCompDirectiveNoFileComp
}

func deviceNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []cobra.Completion{"cpu", cobra.CompletionWithDesc("auto", "a GPU if there is one")}
	found, err := vulkan.Devices()
	if err == nil && len(found) > 0 {
		list = append(list, cobra.CompletionWithDesc("vulkan", "the first GPU"))
	}
	for i := range found {
		list = append(list, cobra.CompletionWithDesc(fmt.Sprintf("vulkan:%d", found[i].Index), found[i].Name))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

func operatorNames(*cobra.Command, []string, string) (list []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, r := range standard.Registry().Rows() {
		list = append(list, r.Name)
	}
	slices.Sort(list)
	return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
}

func formatNames(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	list := []cobra.Completion{"huggingface"}
	for _, f := range formats.Formats {
		list = append(list, cobra.CompletionWithDesc(f.Name, f.About))
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// withModel returns the completions that list finds in the model of the command line; none if it cannot
// be read.
func withModel(args []string, list func(m *nacre.Model) []string) []string {
	if len(args) == 0 {
		return nil
	}
	m, err := nacre.OpenContext(context.Background(), args[0])
	if err != nil {
		return nil
	}
	defer m.Close()
	return list(m)
}

// inputNames completes NAME=VALUE: the inputs of the model, then files.
func inputNames(_ *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	name, path, ok := strings.Cut(start, "=")
	if !ok {
		return withModel(args, func(m *nacre.Model) (list []string) {
			for _, v := range m.Inputs() {
				list = append(list, cobra.CompletionWithDesc(v.Name+"=", v.Type()))
			}
			return list
		}), directive
	}
	found, _ := filepath.Glob(path + "*") // a path with signs of patterns has no completions
	for i, f := range found {
		found[i] = name + "=" + f
	}
	return found, directive
}

// outputNames completes NAME=FILE of an output.
func outputNames(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return withModel(args, func(m *nacre.Model) (list []string) {
		for _, v := range m.Outputs() {
			list = append(list, cobra.CompletionWithDesc(v.Name+"=", v.Type()))
		}
		return list
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// axisNames completes NAME=N with the symbols of the model's open axes.
func axisNames(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return withModel(args, func(m *nacre.Model) (list []string) {
		for _, v := range m.Inputs() {
			for _, d := range v.Shape {
				if d.Symbol != "" && !slices.Contains(list, d.Symbol+"=") {
					list = append(list, d.Symbol+"=")
				}
			}
		}
		return list
	}), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func nodeNames(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return withModel(args, func(m *nacre.Model) (list []string) {
		for _, n := range m.Source().Graph.Nodes {
			if n.Name != "" {
				list = append(list, cobra.CompletionWithDesc(n.Name, n.OpName()))
			}
		}
		return list
	}), cobra.ShellCompDirectiveNoFileComp
}
