package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/npy"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// inputFlags say where the inputs of a model come from.
type inputFlags struct {
	files []string
	image pictureFlags
}

func (f *inputFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.files, "input", nil, "`NAME=FILE` of an input; .npy, .pb (TensorProto), .bin (raw elements), .png or .jpg; repeat for more")
	f.image.add(flags)
}

// load reads the files that the flags name, as the session's inputs.
func (f *inputFlags) load(s *nacre.Session) (map[string]*nacre.Tensor, error) {
	inputs := map[string]*nacre.Tensor{}
	for _, arg := range f.files {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || path == "" {
			return nil, usagef("--input %s: the form is NAME=FILE", arg)
		}
		v := find(s.Inputs(), name)
		if v == nil {
			return nil, fmt.Errorf("the model takes no input %q; it takes %s", name, valueList(s.Inputs()))
		}
		if inputs[name] != nil {
			return nil, usagef("--input %s is given twice", name)
		}
		t, err := f.file(path, v)
		if err != nil {
			return nil, fmt.Errorf("input %q: %s: %w", name, path, err)
		}
		inputs[name] = t
	}
	for _, v := range s.Inputs() {
		if inputs[v.Name] == nil {
			return inputs, missingError{fmt.Errorf("input %q has no value (--input %s=FILE); the model takes %s",
				v.Name, v.Name, valueList(s.Inputs()))}
		}
	}
	return inputs, nil
}

// missingError is an input that no flag names.
type missingError struct{ error }

// file reads one input by the ending of its name.
func (f *inputFlags) file(path string, v *graph.Value) (*tensor.Tensor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".npy":
		return npy.Decode(data)
	case ".pb":
		return readTensorProto(data)
	case ".bin":
		return rawTensor(data, v.Type)
	case ".png", ".jpg", ".jpeg":
		return f.image.tensor(data, v.Type)
	default:
		return nil, fmt.Errorf("files ending in %q cannot be read; have .npy, .pb, .bin, .png, .jpg", ext)
	}
}

// rawTensor takes bytes as the elements of a value whose extents are known, but
// for one that the number of bytes gives.
func rawTensor(data []byte, t graph.Type) (*tensor.Tensor, error) {
	if t.Kind != graph.TensorType || t.DType.Bits() == 0 || t.Dims == nil {
		return nil, fmt.Errorf("raw elements do not say what they are, and the model only says %v; use .npy or .pb", t)
	}
	shape := make(tensor.Shape, len(t.Dims))
	open := -1
	for i, d := range t.Dims {
		n, known := d.Value()
		if !known {
			if open >= 0 {
				return nil, fmt.Errorf("raw elements do not give two extents of %v; use .npy or .pb", t)
			}
			open, n = i, 1
		}
		shape[i] = n
	}
	if err := shape.Check(); err != nil {
		return nil, err
	}
	if row := t.DType.Bytes(shape.Len()); open >= 0 && row > 0 {
		shape[open] = len(data) / row
	}
	return tensor.FromBytes(t.DType, shape, data)
}

func find(list []*graph.Value, name string) *graph.Value {
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	return nil
}

func valueList(list []*graph.Value) string {
	if len(list) == 0 {
		return "none"
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprintf("%s %v", v.Name, v.Type)
	}
	return strings.Join(parts, ", ")
}

// readTensorProto reads the tensor of a .pb file.
func readTensorProto(data []byte) (*tensor.Tensor, error) {
	_, t, err := onnx.ReadTensor(data)
	return t, err
}
