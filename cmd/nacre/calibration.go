package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/quantize"
)

// calibrationTokens is the number of tokens of a run on a text.
const calibrationTokens = 256

// runs returns the runs on calibration data: a text for a decoder, or a folder with a folder
// for each run, in which each input has a file with its name.
func (f *quantizeFlags) runs(ctx context.Context, m *nacre.Model, in string) (quantize.Runs, error) {
	info, err := os.Stat(f.calibration)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return f.folders(ctx, m)
	}
	text, err := readBounded(f.calibration)
	if err != nil {
		return nil, err
	}
	var t *tokenizer.Tokenizer
	if f.tokenizer != "" {
		t, err = tokenizerFor(ctx, m, f.tokenizer)
	} else if t, err = generate.TokenizerOf(ctx, m, in); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s has no tokenizer for the text of %s; --tokenizer names its file", in, f.calibration)
	}
	if err != nil {
		return nil, err
	}
	ids, err := t.EncodeContext(ctx, string(text), true)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s has no text", f.calibration)
	}
	name := ""
	for _, v := range m.Inputs() {
		if v.Name == "input_ids" || v.Name == "tokens" {
			name = v.Name
		}
	}
	if name == "" {
		return nil, fmt.Errorf("%s takes no tokens, but %s; give --calibration a folder", in, valueList(m.Inputs()))
	}
	return func(yield func(map[string]*nacre.Tensor, error) bool) {
		for from := 0; from < len(ids); from += calibrationTokens {
			part := ids[from:min(from+calibrationTokens, len(ids))]
			list := make([]int64, len(part))
			for i, id := range part {
				list[i] = int64(id)
			}
			x, err := nacre.NewTensor(list, 1, len(list))
			if !yield(map[string]*nacre.Tensor{name: x}, err) || err != nil {
				return
			}
		}
	}, nil
}

// folders returns the runs of a folder of folders.
func (f *quantizeFlags) folders(ctx context.Context, m *nacre.Model) (quantize.Runs, error) {
	entries, err := os.ReadDir(f.calibration)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, filepath.Join(f.calibration, e.Name()))
		}
	}
	if list == nil {
		return nil, fmt.Errorf("%s has no folders; each run is a folder, and each input a file in it, such as %s.npy", f.calibration, m.Inputs()[0].Name)
	}
	return func(yield func(map[string]*nacre.Tensor, error) bool) {
		for _, folder := range list {
			inputs, err := f.folder(ctx, folder, m)
			if !yield(inputs, err) || err != nil {
				return
			}
		}
	}, nil
}

// folder reads the inputs of a run.
func (f *quantizeFlags) folder(ctx context.Context, folder string, m *nacre.Model) (map[string]*nacre.Tensor, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	inputs := map[string]*nacre.Tensor{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		v := find(m.Inputs(), name)
		if v.Name == "" {
			return nil, fmt.Errorf("%s: the model takes no input %q; it takes %s", filepath.Join(folder, e.Name()), name, valueList(m.Inputs()))
		}
		var one inputFlags
		if inputs[name], err = one.file(ctx, filepath.Join(folder, e.Name()), v); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(folder, e.Name()), err)
		}
	}
	return inputs, nil
}
