package gptrs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
)

// golden holds the answers of gpt.rs.
type golden struct {
	Forward map[string]struct {
		Model  string
		Shape  []int
		Tokens []int64
		Input  string // FILE:KEY of a picture
	}
	Greedy []struct {
		Model    string
		Prompt   []int64
		Most     int    `json:"max_new_tokens"`
		Whole    string `json:"tokens_no_cache"`
		KeyValue string `json:"tokens_kv_cache"`
	} `json:"greedy_generation"`
}

func readGolden(t *testing.T) (dir string, g golden) {
	t.Helper()
	dir = fixtures.Dir(t, "gptrs")
	data, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err == nil {
		err = json.Unmarshal(data, &g)
	}
	if err != nil || len(g.Forward) == 0 || len(g.Greedy) == 0 {
		t.Fatalf("%d forward runs, %d generations, %v", len(g.Forward), len(g.Greedy), err)
	}
	return dir, g
}

// ways lists the options that every network runs with.
var ways = []nacre.Options{{Threads: 1}, {Threads: 2}, {Threads: 1, NoOptimize: true}, {Threads: 2, NoOptimize: true}}

func open(t *testing.T, path string) *nacre.Model {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func session(t *testing.T, m *nacre.Model, o nacre.Options) *nacre.Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// stored returns a tensor of an archive.
func stored(t *testing.T, path, key string) *nacre.Tensor {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, init := range m.Graph.Initializers {
		if init.Name == key {
			x, err := nacre.FromBytes(nacre.DType(init.Tensor.DType()), slices.Clone(init.Tensor.Bytes()), init.Tensor.Shape()...)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	t.Fatalf("%s has no tensor %q", path, key)
	return nil
}

func ids(t *testing.T, list ...int64) *nacre.Tensor {
	t.Helper()
	x, err := nacre.NewTensor(list, 1, len(list))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// whole returns the inputs for a run of a decoder without a past.
func whole(t *testing.T, s *nacre.Session, tokens []int64) map[string]*nacre.Tensor {
	t.Helper()
	in := map[string]*nacre.Tensor{}
	for _, v := range s.Inputs() {
		if v.Name == "input_ids" {
			in[v.Name] = ids(t, tokens...)
			continue
		}
		x, err := nacre.NewTensor([]float32{}, 1, v.Shape[1].Size, 0, v.Shape[3].Size)
		if err != nil {
			t.Fatal(err)
		}
		in[v.Name] = x
	}
	return in
}

// floats returns the elements of a tensor.
func floats(t *testing.T, x *nacre.Tensor) []float32 {
	t.Helper()
	v, err := nacre.Data[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// near fails if a difference exceeds 1e-4.
func near(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d numbers, want %d", len(got), len(want))
	}
	most := 0.0
	for i := range got {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= most) {
			most = d
		}
	}
	if !(most <= 1e-4) {
		t.Errorf("off by %g", most)
	}
}

// TestForward compares the logits of every network.
func TestForward(t *testing.T) {
	dir, g := readGolden(t)
	for file, want := range g.Forward {
		logits := floats(t, stored(t, filepath.Join(dir, file), "logits"))
		m := open(t, filepath.Join(dir, want.Model))
		for _, o := range ways {
			t.Run(fmt.Sprintf("%s/%d/%v", want.Model, o.Threads, o.NoOptimize), func(t *testing.T) {
				s := session(t, m, o)
				in, shape := map[string]*nacre.Tensor{}, want.Shape
				if want.Input == "" {
					in, shape = whole(t, s, want.Tokens), append([]int{1}, shape...)
				} else {
					name, key, _ := strings.Cut(want.Input, ":")
					in["image"] = stored(t, filepath.Join(dir, name), key)
				}
				out, err := s.Run(context.Background(), in)
				if err != nil {
					t.Fatal(err)
				}
				if got := out["logits"].Shape(); !slices.Equal(got, shape) {
					t.Errorf("shape %v, want %v", got, shape)
				}
				near(t, floats(t, out["logits"]), logits)
			})
		}
	}
}

// greedy continues a prompt. next returns the logits of the last token of a window. Unless fresh is
// set, the window begins with the tokens of the window before.
func greedy(t *testing.T, prompt []int64, most, window int, next func(tokens []int64, fresh bool) []float32) []int64 {
	t.Helper()
	tokens := slices.Clone(prompt)
	for range most {
		list := tokens[max(0, len(tokens)-window):]
		logits := next(list, len(tokens) > window)
		best := 0
		for i, v := range logits {
			if v >= logits[best] {
				best = i
			}
		}
		tokens = append(tokens, int64(best))
	}
	return tokens
}

// last returns the last row of logits.
func last(t *testing.T, out map[string]*nacre.Tensor) []float32 {
	t.Helper()
	v, n := floats(t, out["logits"]), out["logits"].Shape()[2]
	return v[len(v)-n:]
}

func text(tokens []int64) string {
	list := make([]string, len(tokens))
	for i, v := range tokens {
		list[i] = fmt.Sprint(v)
	}
	return strings.Join(list, ",")
}

// window returns the largest number of tokens that a network sees.
func window(t *testing.T, m *nacre.Model) int {
	t.Helper()
	for _, p := range m.Source().Meta {
		if p.Key == "config" {
			var c struct {
				Config struct {
					Context int `json:"context_length"`
				}
			}
			if err := json.Unmarshal([]byte(p.Value), &c); err != nil || c.Config.Context == 0 {
				t.Fatalf("%s: %v", p.Value, err)
			}
			return c.Config.Context
		}
	}
	t.Fatal("no configuration")
	return 0
}

// TestGreedy generates with and without a cache, across the window.
func TestGreedy(t *testing.T) {
	dir, g := readGolden(t)
	ctx := context.Background()
	for _, want := range g.Greedy {
		m := open(t, filepath.Join(dir, want.Model))
		for _, o := range ways {
			t.Run(fmt.Sprintf("%s/%d/%v", want.Model, o.Threads, o.NoOptimize), func(t *testing.T) {
				s := session(t, m, o)
				got := greedy(t, want.Prompt, want.Most, window(t, m), func(tokens []int64, _ bool) []float32 {
					out, err := s.Run(ctx, whole(t, s, tokens))
					if err != nil {
						t.Fatal(err)
					}
					return last(t, out)
				})
				if text(got) != want.Whole {
					t.Errorf("without a cache %s, want %s", text(got), want.Whole)
				}
				st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				got = greedy(t, want.Prompt, want.Most, window(t, m), func(tokens []int64, fresh bool) []float32 {
					if fresh {
						st.Reset()
					}
					out, err := st.Run(ctx, map[string]*nacre.Tensor{"input_ids": ids(t, tokens[st.Len():]...)})
					if err != nil {
						t.Fatal(err)
					}
					return last(t, out)
				})
				if text(got) != want.KeyValue {
					t.Errorf("with a cache %s, want %s", text(got), want.KeyValue)
				}
			})
		}
	}
}

// TestOnePlan checks that a token costs the same at every position: one plan serves runs of one
// token after a past of any length.
func TestOnePlan(t *testing.T) {
	dir, g := readGolden(t)
	for _, want := range g.Greedy {
		t.Run(want.Model, func(t *testing.T) {
			st, err := session(t, open(t, filepath.Join(dir, want.Model)), nacre.Options{}).NewStream(context.Background(), nacre.StreamOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			plans := map[string]bool{}
			for range 4 {
				in := map[string]*nacre.Tensor{"input_ids": ids(t, 1)}
				p, err := st.Plan(context.Background(), in)
				if err == nil {
					_, err = st.Run(context.Background(), in)
				}
				if err != nil {
					t.Fatal(err)
				}
				plans[p.String()] = true
			}
			if len(plans) != 1 {
				t.Errorf("%d plans", len(plans))
			}
		})
	}
}

// TestRefusedInput gives decoders inputs that they must refuse.
func TestRefusedInput(t *testing.T) {
	dir, g := readGolden(t)
	for _, want := range g.Greedy {
		m := open(t, filepath.Join(dir, want.Model))
		s := session(t, m, nacre.Options{})
		logits := s.Outputs()[0]
		vocabulary, most := int64(logits.Shape[2].Size), window(t, m)
		for _, c := range []struct {
			tokens []int64
			says   []string
		}{
			{[]int64{0, vocabulary}, []string{"element 1", fmt.Sprint(vocabulary), "vocabulary"}},
			{[]int64{-1}, []string{"element 0", "-1", "vocabulary"}},
			{nil, []string{"sequence", "0", "at least 1"}},
			{make([]int64, most+1), []string{fmt.Sprint(most + 1), fmt.Sprint("at most ", most), "window"}},
		} {
			_, err := s.Run(context.Background(), whole(t, s, c.tokens))
			expect(t, err, nacre.ErrShape, append(c.says, m.Source().File)...)
		}
		st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		in := map[string]*nacre.Tensor{"input_ids": ids(t, make([]int64, most)...)}
		if _, err := st.Run(context.Background(), in); err != nil {
			t.Error(err)
		}
		in["input_ids"] = ids(t, 0)
		_, err = st.Run(context.Background(), in)
		expect(t, err, nacre.ErrShape, fmt.Sprint(most+1), "window")
		if st.Len() != most {
			t.Errorf("the stream has %d rows after a refused run, want %d", st.Len(), most)
		}
	}
}

// expect checks the kind of an error and the words in its message.
func expect(t *testing.T, err, kind error, says ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%v, want %v", err, kind)
		return
	}
	for _, word := range says {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%v does not say %q", err, word)
		}
	}
}
