package generate_test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// machine is a finite automaton over bytes: by state, the bytes that may follow and the states that
// they lead to. A text may end in a state with the byte 0.
type machine []map[byte]int

// list adds moves from one state to another by any byte of a text.
func (m machine) list(from, to int, bytes string) {
	for _, b := range []byte(bytes) {
		m[from][b] = to
	}
}

// object accepts JSON objects such as {"k":12,"kk":true}.
func object() machine {
	m := make(machine, 16)
	for i := range m {
		m[i] = map[byte]int{}
	}
	m.list(0, 1, "{")
	m.list(1, 2, `"`)
	m.list(2, 3, "abk")
	m.list(3, 3, "abk")
	m.list(3, 4, `"`)
	m.list(4, 5, ":")
	m.list(5, 6, "123456789")
	m.list(6, 6, "0123456789")
	m.list(5, 7, "t")
	m.list(7, 8, "r")
	m.list(8, 9, "u")
	m.list(9, 10, "e")
	for _, end := range []int{6, 10} {
		m.list(end, 1, ",")
		m.list(end, 11, "}")
	}
	m.list(11, 12, "\x00")
	return m
}

// adjust forbids the tokens that the machine does not allow.
func (m machine) adjust(_, generated []int32, logits []float32) error {
	state := 0
	for _, id := range generated {
		state = m[state][byte(id)]
	}
	for id := range logits {
		if _, ok := m[state][byte(id)]; !ok {
			logits[id] = float32(math.Inf(-1))
		}
	}
	return nil
}

// TestAdjustGrammar draws texts at random that a grammar constrains. All that end are of the
// language, and all others begin a text of it.
func TestAdjustGrammar(t *testing.T) {
	ctx := context.Background()
	const item = `"[abk]+":([1-9][0-9]*|true)`
	whole := regexp.MustCompile(`^\{` + item + `(,` + item + `)*\}$`)
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Tokenizer: bytewise{}, StopIDs: []int32{0}})
	prompts, ended, texts := []string{"a", "JSON:", "{}"}, 0, map[string]bool{}
	for seed := range uint64(12) {
		sampling := generate.Sampling{MaxTokens: 80, Temperature: 4, Seed: seed, Adjust: object().adjust}
		all := make([]string, len(prompts))
		for p, err := range g.BatchText(ctx, prompts, sampling) {
			testenv.Need(t, err)
			all[p.Index] += p.Text
			if p.Reason == generate.NotEnded {
				continue
			}
			text := all[p.Index]
			texts[text] = true
			switch {
			case p.Reason == generate.StopID:
				ended++
				if !whole.MatchString(text) {
					t.Errorf("%q is not of the language", text)
				}
			case len(text) != 80 || strings.HasSuffix(text, "}"):
				t.Errorf("%q ended by %v", text, p.Reason)
			}
		}
	}
	if ended < 20 || len(texts) < 20 {
		t.Errorf("%d texts ended, and %d differ", ended, len(texts))
	}
	beams, err := g.Beams(ctx, []int32("JSON:"), generate.BeamSearch{Width: 3}, generate.Sampling{MaxTokens: 12, Adjust: object().adjust})
	testenv.Need(t, err)
	for i, b := range beams {
		if text := raw(b.IDs); (i == 0 || b.Reason == generate.StopID) && !whole.MatchString(text) {
			t.Errorf("beam %q ended by %v", text, b.Reason)
		}
	}
}

// raw returns the text of tokens that are bytes.
func raw(ids []int32) string {
	list := make([]byte, len(ids))
	for i, id := range ids {
		list[i] = byte(id)
	}
	return string(list)
}

// TestAdjustTokens checks the tokens that the hook is given, also after Fork, Append and Truncate,
// and that its errors end generation.
func TestAdjustTokens(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	var prompt, generated []int32
	broken := errors.New("broken")
	sampling := generate.Sampling{MaxTokens: 20, Adjust: func(p, q []int32, logits []float32) error {
		prompt, generated = slices.Clone(p), slices.Clone(q)
		if len(logits) != words {
			t.Errorf("%d logits", len(logits))
		}
		if len(p) == 9 {
			return broken
		}
		clear(logits)
		logits[40+len(q)] = 1
		return nil
	}}
	q, err := g.Start(ctx, []int32{1, 2, 3}, sampling)
	testenv.Need(t, err)
	defer q.Close()
	next := func(q *generate.Sequence, id int32, p, before []int32) {
		t.Helper()
		got, ok, err := q.Next(ctx)
		if got != id || !ok || err != nil || !slices.Equal(prompt, p) || !slices.Equal(generated, before) {
			t.Errorf("token %d, %v, %v after %v and %v; want %d after %v and %v", got, ok, err, prompt, generated, id, p, before)
		}
	}
	next(q, 40, []int32{1, 2, 3}, nil)
	next(q, 41, []int32{1, 2, 3}, []int32{40})
	f, err := q.Fork(1)
	testenv.Need(t, err)
	defer f.Close()
	next(q, 42, []int32{1, 2, 3}, []int32{40, 41})
	next(f, 42, []int32{1, 2, 3}, []int32{40, 41})
	testenv.Need(t, q.Append(ctx, []int32{9}))
	next(q, 40, []int32{1, 2, 3, 40, 41, 42, 9}, nil)
	testenv.Need(t, f.Truncate(4))
	next(f, 40, []int32{1, 2, 3, 40}, nil)
	testenv.Need(t, q.Append(ctx, []int32{9}))
	if _, _, err := q.Next(ctx); !errors.Is(err, broken) {
		t.Errorf("an error of the hook: %v", err)
	}
}

// TestBias forbids tokens, prefers one, and refuses biases that are wrong.
func TestBias(t *testing.T) {
	ctx := context.Background()
	prompt := []int32{7, 200, 31}
	s := session(t, llama(), nacre.Options{Threads: 1})
	g := generator(t, s, generate.Options{})
	free := one(t, g.Tokens(ctx, prompt, generate.Sampling{MaxTokens: 8}))
	none := float32(math.Inf(-1))
	got := one(t, g.Tokens(ctx, prompt, generate.Sampling{MaxTokens: 8, Bias: map[int32]float32{free[0]: none, free[1]: none}}))
	if slices.Contains(got, free[0]) || slices.Contains(got, free[1]) {
		t.Errorf("%v has forbidden tokens of %v", got, free)
	}
	got = one(t, g.Tokens(ctx, prompt, generate.Sampling{MaxTokens: 8, Temperature: 1, Bias: map[int32]float32{77: 1000}}))
	if slices.ContainsFunc(got, func(id int32) bool { return id != 77 }) {
		t.Errorf("%v, want token 77", got)
	}
	for _, bias := range []map[int32]float32{{-1: 1}, {1: float32(math.NaN())}, {1: float32(math.Inf(1))}, {words: 1}} {
		for _, err := range g.Tokens(ctx, prompt, generate.Sampling{MaxTokens: 1, Bias: bias}) {
			if !errors.Is(err, nacre.ErrOption) || !strings.Contains(err.Error(), "Bias") {
				t.Errorf("%v: %v", bias, err)
			}
		}
	}
}
