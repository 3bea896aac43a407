package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/invent"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/npy"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inputFlags are the flags that give inputs of a model.
type inputFlags struct {
	files []string
	key   string // name of the tensor in an archive
	image pictureFlags
	stdin io.Reader
	taken bool // whether stdin is read
}

func (f *inputFlags) add(flags *pflag.FlagSet) {
	f.stdin = os.Stdin
	flags.StringArrayVar(&f.files, "input", nil, "`NAME=VALUE` of an input: a file (.npy, .pb for TensorProto, .json, .bin for raw "+
		"elements, .ten, .png, .jpg), also as @FILE; a number or a list such as 16000, 1,2,3 or [[1,2],[3,4]], if "+
		"no file has that name; or - for .npy, .pb or JSON from standard input; repeat for more")
	flags.StringVar(&f.key, "input-key", "input", "`NAME` of a tensor in a .ten file with several")
	f.image.add(flags)
}

// taker is a session or a stream.
type taker interface{ Inputs() []nacre.Info }

// accepted returns the inputs that a run needs and the ones with a value in the model that a run
// may override.
func accepted(s taker) []nacre.Info {
	list := s.Inputs()
	if o, ok := s.(interface{ Overridable() []nacre.Info }); ok {
		list = append(list, o.Overridable()...)
	}
	return list
}

// load reads the files of --input as inputs of s, until ctx ends. If a required input has no file,
// it returns the others with a missingError.
func (f *inputFlags) load(ctx context.Context, s taker) (map[string]*nacre.Tensor, error) {
	inputs, known := map[string]*nacre.Tensor{}, accepted(s)
	for _, arg := range f.files {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || path == "" {
			return nil, usagef("--input %s: the form is NAME=VALUE", arg)
		}
		v := find(known, name)
		if v.Name == "" {
			return nil, fmt.Errorf("the model takes no input %q; it takes %s", name, valueList(s.Inputs()))
		}
		if inputs[name] != nil {
			return nil, usagef("--input %s is given twice", name)
		}
		t, err := f.value(ctx, path, v)
		if err != nil {
			return nil, fmt.Errorf("input %q: %s: %w", name, printable.Cut(path, mostShown), err)
		}
		inputs[name] = t
	}
	for _, v := range s.Inputs() {
		if inputs[v.Name] == nil {
			return inputs, missingError{fmt.Errorf("input %q has no value (--input %s=VALUE); the model takes %s",
				v.Name, v.Name, valueList(s.Inputs()))}
		}
	}
	return inputs, nil
}

// orRandom loads the files of --input and makes random tensors, with extents from e, for the other inputs
// that s requires.
func (f *inputFlags) orRandom(
	ctx context.Context, s taker, e *invent.Extents, seed uint64,
) (map[string]*nacre.Tensor, error) {
	inputs, err := f.load(ctx, s)
	var missing missingError
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	for name, t := range inputs {
		if err := e.Take(find(accepted(s), name), t.Shape()); err != nil {
			return nil, err
		}
	}
	r := rand.New(rand.NewPCG(1, 2+seed))
	for _, v := range s.Inputs() {
		if inputs[v.Name] != nil {
			continue
		}
		t, err := invent.Random(ctx, r, v, e)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w; give one with --input", v.Name, err)
		}
		inputs[v.Name] = t
	}
	return inputs, nil
}

// missingError reports an input without a file.
type missingError struct{ error }

// mostShown is the most bytes of a value that an error shows.
const mostShown = 200

// value returns the input v that text stands for: standard input, a file or a literal.
func (f *inputFlags) value(ctx context.Context, text string, v nacre.Info) (*nacre.Tensor, error) {
	if text == "-" {
		return f.piped(ctx, v)
	}
	if _, err := os.Stat(text); err == nil {
		return f.file(ctx, text, v)
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		return f.file(ctx, path, v)
	}
	if isLiteral(text) {
		return literal([]byte(text), v)
	}
	return f.file(ctx, text, v)
}

// file reads the input v in the format of the path's extension.
func (f *inputFlags) file(ctx context.Context, path string, v nacre.Info) (*nacre.Tensor, error) {
	most := mostOf(v)
	ext := strings.ToLower(filepath.Ext(path))
	switch ext {
	case ".npy", ".pb", ".bin":
	case ".json", ".ten":
		most = anySize() // numbers may be longer than elements, and other tensors in the file
	case ".png", ".jpg", ".jpeg":
		most = f.image.most()
	default:
		return nil, fmt.Errorf("files ending in %q cannot be read, and it is no number or list; have .npy, .pb, .json, .bin, .ten, .png, .jpg", ext)
	}
	data, err := readFile(ctx, path, most)
	if err != nil {
		return nil, err
	}
	switch ext {
	case ".npy":
		return npy.Decode(budget.New(ctx, budget.Limits{}), data)
	case ".pb":
		return readTensorProto(ctx, data)
	case ".json":
		return literal(data, v)
	case ".ten":
		return archived(ctx, path, data, f.key)
	case ".bin":
		return rawTensor(data, v)
	}
	return f.image.tensor(ctx, data, v)
}

// rawTensor returns a tensor with data as its elements. One extent of in may be open: the number of
// bytes gives it.
func rawTensor(data []byte, in nacre.Info) (*nacre.Tensor, error) {
	if in.Kind != nacre.TensorKind || in.DType.Bits() == 0 || in.Shape == nil {
		return nil, fmt.Errorf("raw elements have no type and shape, and the model only says %s; use .npy or .pb", in.Type())
	}
	shape := make(tensor.Shape, len(in.Shape))
	open := -1
	for i, d := range in.Shape {
		shape[i] = d.Size
		if d.Open() {
			if open >= 0 {
				return nil, fmt.Errorf("raw elements do not give two extents of %s; use .npy or .pb", in.Type())
			}
			open, shape[i] = i, 1
		}
	}
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if row := tensor.DType(in.DType).Bytes(shape.Len()); open >= 0 && row > 0 {
		shape[open] = len(data) / row
	}
	return nacre.FromBytes(in.DType, data, shape...)
}

// find returns the value called name, or the zero Info if there is none.
func find(list []nacre.Info, name string) nacre.Info {
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	return nacre.Info{}
}

func valueList(list []nacre.Info) string {
	if len(list) == 0 {
		return "none"
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = v.String()
	}
	return strings.Join(parts, ", ")
}

// readTensorProto reads the tensor of a .pb file.
func readTensorProto(ctx context.Context, data []byte) (*nacre.Tensor, error) {
	_, v, err := nacre.ReadProto(budget.New(ctx, budget.Limits{}), data, nacre.Info{})
	if err != nil {
		return nil, err
	}
	return v.(*nacre.Tensor), nil
}
