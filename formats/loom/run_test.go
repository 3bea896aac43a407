package loom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// numbers is a list of float32 in JSON. Numbers that are not finite are texts.
type numbers []float32

func (n *numbers) UnmarshalJSON(b []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	*n = make(numbers, len(raw))
	for i, r := range raw {
		f, err := strconv.ParseFloat(strings.Trim(string(r), `"`), 32)
		if err != nil {
			return err
		}
		(*n)[i] = float32(f)
	}
	return nil
}

// array is a tensor of the samples.
type array struct {
	Shape []int
	Data  numbers
}

// answers is the input and the expected output of a network.
type answers struct {
	Input, Output *array
	OfEntity      *array `json:"output_entity"`
	Plain         *array `json:"output_dequantized_float32"`
	Steps         []struct{ Input, Output *array }
}

// within is a tolerance.
type within struct{ Abs, Rel float64 }

func (w within) compare(got *nacre.Tensor, want *array) error {
	if !slices.Equal(got.Shape(), want.Shape) {
		return fmt.Errorf("shape %v, want %v", got.Shape(), want.Shape)
	}
	data, err := nacre.Data[float32](got)
	if err != nil {
		return err
	}
	for i, g := range data {
		x := want.Data[i]
		if g != x && !(g != g && x != x) && !(math.Abs(float64(g)-float64(x)) <= w.Abs+w.Rel*math.Abs(float64(x))) {
			return fmt.Errorf("element %d is %g, want %g", i, g, x)
		}
	}
	return nil
}

// runCase is one case of the manifest.
type runCase struct {
	ID, Kind, Category string
	Files              map[string]string
	Tolerance          within
}

// walk calls f for every case of a kind.
func walk(t *testing.T, kind string, f func(t *testing.T, dir string, c runCase)) {
	testenv.Need(t, bindings.Available())
	dir := fixtures.Dir(t, "loom")
	var manifest struct{ Cases []runCase }
	fixtures.JSON(t, filepath.Join(dir, "manifest.json"), &manifest)
	for _, c := range manifest.Cases {
		if c.Kind == kind {
			t.Run(c.ID, func(t *testing.T) { f(t, dir, c) })
		}
	}
}

// settings lists the options that tests run networks with.
var settings = []nacre.Options{{Threads: 1}, {Threads: 2}, {Threads: 1, NoOptimize: true}}

// TestNetworkRuns computes every network of the samples, in both formats. Results that only Loom
// gives are computed with quirks.
func TestNetworkRuns(t *testing.T) {
	walk(t, "network", func(t *testing.T, dir string, c runCase) {
		var io answers
		fixtures.JSON(t, filepath.Join(dir, c.Files["io"]), &io)
		for _, kind := range []string{"json", "entity"} {
			if c.Files[kind] == "" {
				continue
			}
			m, err := nacre.Open(filepath.Join(dir, c.Files[kind]))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range settings {
				o.Lowering.Quirks = c.Category == "quirk"
				if err := c.run(m, io, kind, o); err != nil {
					t.Errorf("%s, %+v: %v", kind, o, err)
				}
				if io.Plain != nil {
					o.Lowering.Quirks = false
					if err := c.compute(m, o, []*array{io.Input}, []*array{io.Plain}); err != nil {
						t.Errorf("%s, %+v, without quirks: %v", kind, o, err)
					}
				}
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// run compares a network with its answers.
func (c runCase) run(m *nacre.Model, io answers, kind string, o nacre.Options) error {
	in, out := []*array{io.Input}, []*array{io.Output}
	if kind == "entity" && io.OfEntity != nil {
		out[0] = io.OfEntity
	}
	if io.Steps != nil {
		in, out = nil, nil
		for _, s := range io.Steps {
			in, out = append(in, s.Input), append(out, s.Output)
		}
	}
	return c.compute(m, o, in, out)
}

// compute runs a network on one input after the other.
func (c runCase) compute(m *nacre.Model, o nacre.Options, in, out []*array) error {
	s, err := m.NewSession(o)
	if err != nil {
		return err
	}
	defer s.Close()
	run := s.Run
	if len(m.States()) > 0 {
		st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
		if err != nil {
			return err
		}
		defer st.Close()
		run = st.Run
	}
	for i, x := range in {
		t, err := nacre.NewTensor([]float32(x.Data), x.Shape...)
		if err != nil {
			return err
		}
		got, err := run(context.Background(), map[string]*nacre.Tensor{"input": t})
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if err := c.Tolerance.compare(got["output"], out[i]); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// decoding is the expected result of a bundle for tokens.
type decoding struct {
	Tokens       []int64
	Hidden       *array `json:"hidden_after_final_norm"`
	Logits       *array
	DecodeToken  int64   `json:"decode_token"`
	DecodeLogits numbers `json:"decode_logits"`
}

// check compares the logits of a prompt, the logits of one further token, and the hidden states.
func (d *decoding) check(m *nacre.Model, o nacre.Options, w within) error {
	o.Outputs = []string{"logits", "last_hidden_state"}
	for _, s := range m.States() {
		o.Outputs = append(o.Outputs, s.Output)
	}
	s, err := m.NewSession(o)
	if err != nil {
		return err
	}
	defer s.Close()
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		return err
	}
	defer st.Close()
	step := func(tokens []int64) (map[string]*nacre.Tensor, error) {
		ids, err := nacre.NewTensor(tokens, 1, len(tokens))
		if err != nil {
			return nil, err
		}
		return st.Run(context.Background(), map[string]*nacre.Tensor{"input_ids": ids})
	}
	out, err := step(d.Tokens)
	if err != nil {
		return err
	}
	for name, want := range map[string]*array{"logits": d.Logits, "last_hidden_state": d.Hidden} {
		if want == nil {
			continue
		}
		wide := &array{append([]int{1}, want.Shape...), want.Data}
		if err := w.compare(out[name], wide); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if out, err = step([]int64{d.DecodeToken}); err != nil {
		return err
	}
	if err := w.compare(out["logits"], &array{[]int{1, 1, len(d.DecodeLogits)}, d.DecodeLogits}); err != nil {
		return fmt.Errorf("the token behind: %w", err)
	}
	return nil
}

// TestBundleRuns computes every transformer bundle of the samples.
func TestBundleRuns(t *testing.T) {
	walk(t, "transformer", func(t *testing.T, dir string, c runCase) {
		var want decoding
		fixtures.JSON(t, filepath.Join(dir, c.Files["io"]), &want)
		checkBundle(t, filepath.Join(dir, c.Files["entity"]), c, &want)
	})
}

// checkBundle runs a file with every setting.
func checkBundle(t *testing.T, path string, c runCase, want *decoding) {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, o := range settings {
		o.Lowering.Quirks = c.Category == "quirk"
		if err := want.check(m, o, c.Tolerance); err != nil {
			t.Errorf("%s, %+v: %v", path, o, err)
		}
	}
}

// imported converts a folder of Hugging Face to a bundle.
func imported(t *testing.T, folder string) string {
	t.Helper()
	m, err := formats.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	path := filepath.Join(t.TempDir(), "imported.entity")
	if err := formats.Save(path, m, formats.Options{DropMeta: true}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestImportedRuns computes the bundles that Loom converted from folders of Hugging Face, and the
// bundles that this package converts.
func TestImportedRuns(t *testing.T) {
	walk(t, "hf_import", func(t *testing.T, dir string, c runCase) {
		var all map[string]json.RawMessage
		fixtures.JSON(t, filepath.Join(dir, c.Files["expected"]), &all)
		found := false
		for kind, raw := range all {
			if c.Files[kind] == "" {
				continue
			}
			found = true
			var want decoding
			if err := json.Unmarshal(raw, &want); err != nil {
				t.Fatal(kind, err)
			}
			checkBundle(t, filepath.Join(dir, c.Files[kind]), c, &want)
			if other := c.Files[strings.Replace(kind, "entity", "blockwise", 1)]; other != "" {
				checkBundle(t, filepath.Join(dir, other), c, &want)
			}
		}
		if !found {
			t.Error("no converted file has answers")
		}
		// A bundle made here keeps the norms of queries and keys, as a run without conversion does.
		// There, the last norm has the same epsilon as the others.
		raw := all["direct_import_rmsnorm_eps_from_config"]
		if c.Tolerance = (within{1e-3, 1e-3}); raw == nil {
			raw = all["entity_ternary"]
		}
		var want decoding
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		checkBundle(t, imported(t, filepath.Join(dir, c.Files["dir"])), c, &want)
	})
}
