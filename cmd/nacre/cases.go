package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op/standard"
)

// testCase is one model with the results that are known for it.
type testCase struct {
	name  string // path relative to the folder of the command line
	model string
	sets  []testSet
	// rampOutput is the file with output 0 of a light model, "" for other models. The input of such
	// a model, of n elements, has elements i/n.
	rampOutput string
	// settings is the path of data.json, a file that may widen the tolerance or name a threshold.
	settings string
}

// tolerance returns tol. If the case's data.json has a wider relative or absolute part, that part
// is widened. The threshold of decisions comes from data.json.
func (c *testCase) tolerance(ctx context.Context, tol compare.Tolerance) (compare.Tolerance, error) {
	data, err := readFile(ctx, c.settings, mostOfSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return tol, nil
	}
	if err != nil {
		return tol, err
	}
	var own struct {
		RTol, ATol float64
		Threshold  *float64
	}
	if err := json.Unmarshal(data, &own); err != nil {
		return tol, fmt.Errorf("%s: %w", c.settings, err)
	}
	return compare.Tolerance{Rel: max(tol.Rel, own.RTol), Abs: max(tol.Abs, own.ATol), Threshold: own.Threshold}, nil
}

// findCases returns the cases under a folder, sorted by name, that match does not exclude. A case
// is a folder with model.onnx and sets of inputs and outputs, or a light model: a file
// light_NAME.onnx beside light_NAME_output_0.pb. Folders with a model and no results are not cases;
// bare counts them.
func findCases(dir string, match *regexp.Regexp) (cases []testCase, bare int, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil { // WalkDir does not follow a link
		return nil, 0, err
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		c, ok := caseOf(dir, path)
		if !ok || match != nil && !match.MatchString(c.name) {
			return nil
		}
		if c.rampOutput == "" {
			c.sets, _ = findSets(filepath.Dir(path))
			if c.sets == nil {
				bare++
				return nil
			}
		}
		cases = append(cases, c)
		return nil
	})
	sort.Slice(cases, func(i, j int) bool { return cases[i].name < cases[j].name })
	return cases, bare, err
}

// caseOf reports by file names whether path is the model of a case, and returns the case without
// its sets.
func caseOf(root, path string) (testCase, bool) {
	c := testCase{model: path}
	stem, isModel := strings.CutSuffix(path, ".onnx")
	switch {
	case !isModel:
		return c, false
	case filepath.Base(path) == "model.onnx":
		stem = filepath.Dir(path)
		c.settings = filepath.Join(stem, "data.json")
	default:
		c.rampOutput = stem + "_output_0.pb"
		full := "test_" + strings.TrimPrefix(filepath.Base(stem), "light_")
		c.settings = filepath.Join(filepath.Dir(stem), "..", "real", full, "data.json")
		if _, err := os.Stat(c.rampOutput); err != nil {
			return c, false
		}
	}
	rel, err := filepath.Rel(root, stem)
	if err != nil || rel == "." {
		rel = filepath.Base(stem)
	}
	c.name = filepath.ToSlash(rel)
	return c, true
}

// data reads the sets of the case.
func (c *testCase) data(ctx context.Context, s *nacre.Session) ([]*testData, error) {
	if c.rampOutput != "" {
		d, err := c.ramp(ctx, s)
		return []*testData{d}, err
	}
	var list []*testData
	for _, set := range c.sets {
		d, err := set.load(ctx, s)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func (c *testCase) ramp(ctx context.Context, s *nacre.Session) (*testData, error) {
	if len(s.Inputs()) != 1 || s.Inputs()[0].DType != nacre.Float32 {
		return nil, fmt.Errorf("a model without stored inputs must take one of float32, not %s", valueList(s.Inputs()))
	}
	v := s.Inputs()[0]
	shape := make([]int, len(v.Shape))
	for i, d := range v.Shape {
		shape[i] = d.Size
		if d.Open() {
			shape[i] = 1
		}
	}
	t, err := nacre.Zeros(nacre.Float32, shape...)
	if err != nil {
		return nil, err
	}
	x, err := nacre.Data[float32](t)
	if err != nil {
		return nil, err
	}
	for i := range x {
		x[i] = float32(float64(i) / float64(len(x)))
	}
	data, err := readFile(ctx, c.rampOutput, anySize())
	if err != nil {
		return nil, err
	}
	want, err := readTensorProto(ctx, data)
	if err != nil {
		return nil, err
	}
	return &testData{
		inputs:  map[string]nacre.Value{v.Name: t},
		outputs: []namedValue{{s.Outputs()[0].Name, want}},
	}, nil
}

// isRandom reports whether a node of the graph, or of one of the model's functions, draws random
// numbers, so that only types and shapes can be compared.
func isRandom(m *graph.Model) bool {
	found, registry := false, standard.Registry()
	visit := func(n *graph.Node) {
		row, _, err := registry.Find(n)
		found = found || err == nil && row.Random
	}
	walk(m.Graph.Nodes, visit)
	for _, f := range m.Functions {
		walk(f.Nodes, visit)
	}
	return found
}
