package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/budget"
)

// testSet is a folder of stored inputs and outputs in the form of the official ONNX tests:
// input_K.pb and output_K.pb, with K the number of the model's input or output, from 0.
type testSet struct {
	dir string
}

// String returns the folder's own name.
func (t testSet) String() string { return filepath.Base(t.dir) }

// testData has the inputs and expected outputs of a set.
type testData struct {
	inputs  map[string]nacre.Value
	outputs []namedValue
}

type namedValue struct {
	name  string
	value nacre.Value
}

// findSets returns dir if it is a set, else the sets in it.
func findSets(dir string) ([]testSet, error) {
	if isSet(dir) {
		return []testSet{{dir}}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var sets []testSet
	for _, e := range entries {
		if sub := filepath.Join(dir, e.Name()); e.IsDir() && isSet(sub) {
			sets = append(sets, testSet{sub})
		}
	}
	if sets == nil {
		return nil, fmt.Errorf("%s: neither it nor a folder in it holds output_0.pb", dir)
	}
	return sets, nil
}

func isSet(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "output_0.pb"))
	return err == nil
}

// load reads the set for the model of session s.
func (t testSet) load(ctx context.Context, s *nacre.Session) (*testData, error) {
	numbers, err := t.numbers("input")
	if err != nil {
		return nil, err
	}
	in, err := t.read(ctx, "input", numbers, inputsFor(s, len(numbers)))
	if err != nil {
		return nil, err
	}
	if numbers, err = t.numbers("output"); err != nil {
		return nil, err
	}
	out, err := t.read(ctx, "output", numbers, s.Outputs())
	if err != nil {
		return nil, err
	}
	data := &testData{inputs: map[string]nacre.Value{}, outputs: out}
	for _, x := range in {
		data.inputs[x.name] = x.value
	}
	return data, nil
}

// inputsFor returns the inputs that the numbers of n files count: the required inputs or, with more
// files, also those that a run may override, in the order of the model.
func inputsFor(s *nacre.Session, n int) []nacre.Info {
	inputs := s.Inputs()
	if n <= len(inputs) {
		return inputs
	}
	known := accepted(s)
	return slices.DeleteFunc(s.Model().Inputs(), func(v nacre.Info) bool { return find(known, v.Name).Name == "" })
}

// read reads the files of one kind with these numbers. File K has the name and type of values[K].
func (t testSet) read(ctx context.Context, kind string, numbers []int, values []nacre.Info) ([]namedValue, error) {
	var list []namedValue
	for _, k := range numbers {
		file := filepath.Join(t.dir, fmt.Sprintf("%s_%d.pb", kind, k))
		if k >= len(values) {
			return nil, fmt.Errorf("%s: the model has %s", file, plural(len(values), kind))
		}
		v := values[k]
		data, err := readFile(ctx, file, mostOf(v))
		if err != nil {
			return nil, err
		}
		_, x, err := nacre.ReadProto(budget.New(ctx, budget.Limits{}), data, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, namedValue{v.Name, x})
	}
	return list, nil
}

// numbers returns the numbers K of the files of one kind, in ascending order.
func (t testSet) numbers(kind string) ([]int, error) {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return nil, err
	}
	var list []int
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), kind+"_")
		text, pb := strings.CutSuffix(rest, ".pb")
		if !ok || !pb {
			continue
		}
		k, err := strconv.Atoi(text)
		if err != nil || k < 0 {
			return nil, fmt.Errorf("%s: %q is not numbered", t.dir, e.Name())
		}
		list = append(list, k)
	}
	slices.Sort(list)
	if kind == "output" && len(list) == 0 {
		return nil, errors.New(t.dir + ": there is no output_0.pb")
	}
	return list, nil
}
