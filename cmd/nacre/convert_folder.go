package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gguf"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/beneath"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// folderFormat is the value of --to for folders of Hugging Face.
const folderFormat = "huggingface"

// isFolderName reports whether OUT is to be a folder.
func isFolderName(out, to string) bool {
	return to == folderFormat || to == "" && (strings.HasSuffix(out, "/") || strings.HasSuffix(out, string(filepath.Separator)))
}

// errTokenizer names the way out of a tokenizer that the other side cannot say.
var errTokenizer = errors.New("--drop-tokenizer leaves the tokenizer out")

// tokenizerFiles are the files of a folder with tokenizers that are not converted.
var tokenizerFiles = []string{"vocab.json", "vocab.txt"}

// convertToFolder writes the model of a GGUF file as a folder of Hugging Face.
func convertToFolder(ctx context.Context, m *graph.Model, out string, dropTokenizer bool, o formats.Options, stderr io.Writer) error {
	if m.Format != gguf.Name {
		return fmt.Errorf("%s: a folder of Hugging Face is made of a file of %s, and this one is of %s: %w", m.File, gguf.Name, m.Format, graph.ErrUnsupported)
	}
	f, err := formats.ToFolderWithin(budget.New(ctx, budget.Limits{}), m, o)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	if !dropTokenizer {
		files, err = tokenizer.ToFolder(ctx, m.Meta, tokenizer.Options{})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			printable.Fprintln(stderr, "the file has no tokenizer")
		case err != nil:
			return errors.Join(fmt.Errorf("%s: %w", m.File, err), errTokenizer)
		}
	}
	if err := formats.SaveFolder(out, f, files, o); err != nil {
		return err
	}
	bytes := int64(0)
	entries, err := os.ReadDir(out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		bytes += info.Size()
	}
	printable.Fprintf(stderr, "%s: %s in %s, %s\n", out, plural(len(f.Graph.Initializers), "tensor"), plural(len(entries), "file"),
		humanize.IBytes(uint64(bytes)))
	to := tensor.F32
	if o.DType != tensor.Invalid {
		to = o.DType
	}
	if text := blocksOf(m); text != "" {
		printable.Fprintf(stderr, "tensors in blocks became %v: %s\n", to, text)
	}
	return nil
}

// blocksOf counts the tensors of each type of blocks, for messages. It returns "" for none.
func blocksOf(m *graph.Model) string {
	count := map[string]int{}
	for _, x := range m.Graph.Initializers {
		if d := x.Tensor.DType(); d.Blocks() != nil {
			count[d.String()]++
		}
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d of %s", count[name], name))
	}
	return strings.Join(list, ", ")
}

// isCheckpoint reports whether a model is of a folder of Hugging Face with settings.
func isCheckpoint(in string, m *graph.Model) bool {
	info, err := os.Stat(in)
	return err == nil && info.IsDir() && slices.ContainsFunc(m.Meta, func(p graph.Pair) bool { return p.Key == "config.json" })
}

// asGGUF returns the model of a folder of Hugging Face as that of a GGUF file, with its tokenizer.
func asGGUF(ctx context.Context, in string, m *graph.Model, dropTokenizer bool, stderr io.Writer) (*graph.Model, error) {
	g, err := formats.ToGGUFWithin(budget.New(ctx, budget.Limits{}), m)
	if err != nil {
		return nil, errors.Join(err, errors.New("a file *.safetensors of the folder, as IN, is written with the names that it has"))
	}
	for _, warning := range g.Warnings {
		printable.Fprintln(stderr, "warning:", warning)
	}
	if dropTokenizer {
		return g, nil
	}
	files := beneath.FS(in)
	rows := 0
	for _, x := range g.Graph.Initializers {
		if x.Name == "token_embd.weight" {
			rows = x.Tensor.Shape()[0]
		}
	}
	pairs, err := tokenizer.ToGGUF(ctx, files, rows, tokenizer.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		for _, name := range tokenizerFiles {
			if _, err := fs.Stat(files, name); err == nil {
				return nil, errors.Join(fmt.Errorf("%s: the tokenizer is in %s, and one in a tokenizer.json or a model of SentencePiece is converted: %w", in, name, graph.ErrUnsupported), errTokenizer)
			}
		}
		printable.Fprintln(stderr, "the folder has no tokenizer")
		return g, nil
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", in, err), errTokenizer)
	}
	g.Meta = append(g.Meta, pairs...)
	return g, nil
}
