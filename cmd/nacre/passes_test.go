package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/cmd/nacre/internal/compare"
	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// restructuring lists the passes that change no number.
var restructuring = []string{"drop_dead", "remove_noop", "common_subexpr"}

// foldTolerance is the largest change by passes that compute in another order, relative to the
// largest number of an output, by the narrowest floats of a model. Floats of 16 bits are rounded
// less often if nodes become one.
var foldTolerance = map[tensor.DType]float64{tensor.F32: 2e-4, tensor.F16: 8e-3, tensor.BF16: 6e-2}

// narrowest returns the type with the fewest bits of precision among the floats of a graph.
func narrowest(g *graph.Graph) tensor.DType {
	d := tensor.F32
	note := func(t tensor.DType) {
		if t == tensor.BF16 || t == tensor.F16 && d == tensor.F32 {
			d = t
		}
	}
	for _, t := range g.Initializers {
		note(t.Tensor.DType())
	}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		note(v.Type.DType)
	}
	return d
}

// TestPassesKeepResults runs whole networks without passes, with each pass alone, with all passes,
// and with all but one. The variable NACRE_PEER_DATA names a folder of more cases.
func TestPassesKeepResults(t *testing.T) {
	official := testenv.OfficialData(t)
	dirs := []string{filepath.Join(official, "simple"), filepath.Join(official, "pytorch-converted"), filepath.Join(official, "pytorch-operator"),
		filepath.Join(official, "light"), testenv.Beside(t, "models"), os.Getenv("NACRE_PEER_DATA")}
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		cases, _, err := findCases(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if testing.Short() && c.rampOutput != "" {
				continue // light models are whole networks
			}
			t.Run(filepath.Base(dir)+"/"+c.name, func(t *testing.T) { checkPasses(t, c) })
		}
	}
}

func checkPasses(t *testing.T, c testCase) {
	m, err := nacre.Open(c.model)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if isRandom(m.Source()) {
		t.Skip("the model draws random numbers, and has no results to compare")
	}
	s, err := m.NewSession(nacre.Options{NoOptimize: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	sets, err := c.data(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]tensor.Value{}
	for name, v := range sets[0].inputs {
		inputs[name] = plain(v)
	}
	p := &passChecker{source: m.Source(), inputs: inputs, dumps: map[string]map[string]tensor.Value{},
		tolerance: foldTolerance[narrowest(m.Source().Graph)]}
	first := runtime.RequiredPasses()
	plain := p.results(t, first, nil)
	if plain == nil {
		return
	}
	p.check(t, "all passes", plain, p.results(t, runtime.Passes(), plain), false)
	// Constants are folded first, because kernels may add in another order if an operand is
	// constant.
	first = append(first, "fold_const")
	folded := p.results(t, first, plain)
	p.check(t, "fold_const alone", plain, folded, false)
	met := map[string]bool{}
	for _, pass := range runtime.Passes()[len(first):] {
		if met[pass] {
			continue
		}
		met[pass] = true
		exact := slices.Contains(restructuring, pass)
		p.check(t, pass+" alone", folded, p.results(t, append(slices.Clone(first), pass), plain), exact)
		rest := slices.DeleteFunc(runtime.Passes(), func(other string) bool { return other == pass })
		p.check(t, "without "+pass, plain, p.results(t, rest, plain), false)
	}
}

// passChecker runs a model after passes. It runs each graph once.
type passChecker struct {
	source    *graph.Model
	inputs    map[string]tensor.Value
	dumps     map[string]map[string]tensor.Value // results by the graph's text
	tolerance float64
}

// results runs the model after passes. If the run fails and before is nil, it returns nil; if it
// fails otherwise, so does the test.
func (p *passChecker) results(t *testing.T, passes []string, before map[string]tensor.Value) map[string]tensor.Value {
	t.Helper()
	m, err := runtime.Rewrite(p.source, runtime.Options{}, passes)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Validate(m); err != nil {
		t.Fatalf("the graph is not valid any more: %v", err)
	}
	var text bytes.Buffer
	if err := graph.Dump(&text, m); err != nil {
		t.Fatal(err)
	}
	if out := p.dumps[text.String()]; out != nil {
		return out
	}
	// Other layouts add in another order, and the choice of layouts depends on the whole graph.
	s, err := byname.New(m, runtime.Options{NoOptimize: true, Layouts: runtime.LayoutsPlain})
	if err == nil {
		defer s.Close()
		var out map[string]tensor.Value
		if out, err = s.RunValues(context.Background(), p.inputs); err == nil {
			p.dumps[text.String()] = out
			return out
		}
	}
	if before != nil {
		t.Fatal(err)
	}
	return nil
}

func (p *passChecker) check(t *testing.T, what string, want, got map[string]tensor.Value, exact bool) {
	t.Helper()
	for name, w := range want {
		tol := compare.Tolerance{Rel: 1, Abs: 1e30}
		if exact {
			tol = compare.Tolerance{}
		}
		r, err := compare.Values(t.Context(), got[name], w, tol)
		if err != nil {
			t.Fatal(err)
		}
		if !exact && r.Match() && r.Share > p.tolerance {
			r.Reason = fmt.Sprintf("largest error %g, %g of the largest number", r.MaxAbs, r.Share)
		}
		if !r.Match() {
			t.Errorf("%s: output %q: %s", what, name, r.Reason)
		}
	}
}
