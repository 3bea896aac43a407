package generate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// changed returns a decoder with a function of its logits in their place.
func changed(m *graph.Model, change func(x string) []*graph.Node) *graph.Model {
	for _, n := range m.Graph.Nodes {
		for i, name := range n.Outputs {
			if name == "logits" {
				n.Outputs[i] = "plain_logits"
			}
		}
	}
	for name, x := range map[string]float32{"two": 2, "most": 1.5} {
		t := tensor.New(tensor.F32)
		tensor.View[float32](t)[0] = x
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: t})
	}
	m.Graph.Nodes = append(m.Graph.Nodes, change("plain_logits")...)
	return m
}

func oneNode(op, y string, in ...string) *graph.Node {
	return &graph.Node{Name: y, Op: op, Version: 23, Inputs: in, Outputs: []string{y}}
}

// tied is a decoder with many equal logits.
func tied() *graph.Model {
	return changed(llama(), func(x string) []*graph.Node {
		return []*graph.Node{oneNode("Mul", "twice", x, "two"), oneNode("Round", "logits", "twice")}
	})
}

// holed is a decoder with NaN as logits of the likeliest tokens.
func holed() *graph.Model {
	return changed(llama(), func(x string) []*graph.Node {
		return []*graph.Node{oneNode("Sub", "below", "most", x), oneNode("Sqrt", "root", "below"), oneNode("Neg", "logits", "root")}
	})
}

// halved is a decoder with logits of float16.
func halved() *graph.Model {
	m := changed(llama(), func(x string) []*graph.Node {
		n := oneNode("Cast", "logits", x)
		n.Attrs = []*graph.Attr{graph.IntAttr("to", int64(tensor.F16.Code()))}
		return []*graph.Node{n}
	})
	for _, v := range m.Graph.Outputs {
		if v.Name == "logits" {
			v.Type.DType = tensor.F16
		}
	}
	return m
}

// checkTop compares tokens that the largest logits choose with the tokens of all logits. A Sampling
// with Adjust needs all.
func checkTop(t *testing.T, s *nacre.Session, o generate.Options, few bool) {
	t.Helper()
	g := generator(t, s, o)
	prompts := [][]int32{{7, 20, 31, 7, 7, 90, 55, 0, 13}, {4}}
	list := []generate.Sampling{{}, {Temperature: 0.8, TopK: 40, TopP: 0.9, Seed: 3}, {Temperature: 1.5, TopK: 5, MinP: 0.05, Seed: 9},
		{Temperature: 1, TopK: 1, Seed: 4}}
	if few {
		list = list[:3]
	}
	for _, sampling := range list {
		sampling.MaxTokens = 12
		if n := g.Top(sampling); n == 0 {
			t.Errorf("%+v takes all logits", sampling)
		}
		whole := sampling
		whole.Adjust = func(_, _ []int32, _ []float32) error { return nil }
		if n := g.Top(whole); n != 0 {
			t.Errorf("Adjust is given %d logits", n)
		}
		for name, run := range map[string]func(generate.Sampling) [][]int32{
			"batch": func(s generate.Sampling) [][]int32 { return collect(t, 2, g.Batch(t.Context(), prompts, s)) },
			"continuations": func(s generate.Sampling) [][]int32 {
				return collect(t, 2, g.Continuations(t.Context(), prompts[0], 2, s))
			},
		} {
			if got, want := run(sampling), run(whole); !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s of %+v: tokens %v, want %v", name, sampling, got, want)
			}
		}
	}
}

// TestTop checks that the largest logits choose the tokens that all logits choose, also if some are
// equal or NaN.
func TestTop(t *testing.T) {
	defer generate.TopEverywhere()()
	models := map[string]func() *graph.Model{"llama": llama, "sums": sums, "equal logits": tied, "NaN": holed,
		"float16": halved}
	for name, build := range models {
		for _, o := range []generate.Options{{}, {Chunk: 3, SuppressIDs: []int32{5, 17, 90}}, {NoCache: true}, {Window: 12, Slide: true}} {
			t.Run(fmt.Sprintf("%s/%+v", name, o), func(t *testing.T) {
				checkTop(t, session(t, build(), nacre.Options{Threads: 1}), o, false)
			})
		}
	}
	t.Run("vulkan", func(t *testing.T) {
		if testing.Short() {
			t.Skip("hundreds of runs of a device in software: not in short runs")
		}
		d, err := vulkan.Open("0", vulkan.Options{Validate: func(message string) { t.Error(message) }})
		testenv.Need(t, err)
		defer d.Close()
		t.Run("copies", func(t *testing.T) { checkFew(t, session(t, llama(), nacre.Options{Device: d})) })
		for name, build := range models {
			t.Run(name, func(t *testing.T) {
				checkTop(t, session(t, build(), nacre.Options{Device: d}), generate.Options{Chunk: 5}, true)
			})
		}
	})
}

// checkFew checks that a step of a decoder copies only the largest logits and their tokens to the host.
func checkFew(t *testing.T, s *nacre.Session) {
	top, err := s.LastTop(t.Context(), "logits", 3)
	if err != nil {
		t.Fatal(err)
	}
	plan := stepPlan(t, top)
	down := 0
	for line := range strings.Lines(plan.String()) {
		if down += strings.Count(line, "download/"); strings.Contains(line, "TopK") && !strings.Contains(line, "vulkan") {
			t.Errorf("the device does not find the largest logits: %s", line)
		}
	}
	if down != 2 || strings.Contains(plan.String(), "logits  float32[1,1,256]") {
		t.Errorf("%d copies to the host, want 2:\n%v", down, plan)
	}
}

// TestTopOf checks what sampling takes all logits, and that it is so on the CPU.
func TestTopOf(t *testing.T) {
	s := session(t, llama(), nacre.Options{Threads: 1})
	if n := generator(t, s, generate.Options{}).Top(generate.Sampling{}); n != 0 {
		t.Errorf("greedy tokens of the CPU take %d logits, want all", n)
	}
	defer generate.TopEverywhere()()
	g := generator(t, s, generate.Options{SuppressIDs: []int32{1, 2}})
	for _, tt := range []struct {
		s    generate.Sampling
		want int
	}{
		{generate.Sampling{}, 8},
		{generate.Sampling{TopK: 500}, 8},
		{generate.Sampling{Temperature: 1, TopK: 5}, 8},
		{generate.Sampling{Temperature: 1, TopK: 6}, 64},
		{generate.Sampling{Temperature: 1, TopK: 500}, 0},
		{generate.Sampling{Temperature: 1}, 0},
		{generate.Sampling{Alternatives: 1}, 0},
		{generate.Sampling{Bias: map[int32]float32{3: 1}}, 0},
		{generate.Sampling{RepetitionPenalty: 1.1}, 0},
		{generate.Sampling{PresencePenalty: 1}, 0},
		{generate.Sampling{FrequencyPenalty: 1}, 0},
	} {
		if got := g.Top(tt.s); got != tt.want {
			t.Errorf("%+v takes %d logits, want %d", tt.s, got, tt.want)
		}
	}
	half := generator(t, session(t, halved(), nacre.Options{Threads: 1}), generate.Options{})
	if n := half.Top(generate.Sampling{Temperature: 1, TopK: 6}); n != 64 {
		t.Errorf("one of 6 halves is chosen of %d, want 64", n)
	}
	if n := generator(t, s, generate.Options{LastOfEqual: true}).Top(generate.Sampling{}); n != 0 {
		t.Errorf("the last of equal logits is chosen of %d, want all", n)
	}
	if n := generator(t, s, generate.Options{}).Top(generate.Sampling{}); n != 1 {
		t.Errorf("greedy tokens take %d logits, want 1", n)
	}
}
