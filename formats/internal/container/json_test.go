package container

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// TestValid compares Valid with package encoding/json, on texts and on changed texts.
func TestValid(t *testing.T) {
	texts := []string{
		"", " ", "{}", "[]", "null", "true", "falsy", "nul", `"a"`, `"`, "\"\n\"", `"\u00e9\n\/"`, `"\u00g0"`, `"\x"`, "\"\xff\"", "\ufeff{}",
		"0", "-0", "01", "1.", ".5", "-", "1e", "1e+5", "-1.25E-3", "+1", "1 2", `{"a":1}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`,
		"[1,2,[3,{}],{\"k\":[null]}]\t\r\n ", "[1,]", "[,1]", "[1 2]", "[}", "{]", "[", "{", "[[[[", "]", `{"a":[1,2}`, `{"a":{"b":"c"},"d":-1.5e9}`,
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000), strings.Repeat("[", 20000), `{"a":"` + strings.Repeat("x", 3*pieces.Bytes) + `"}`,
	}
	random := rand.New(rand.NewPCG(1, 2))
	check := func(text []byte) {
		at, err := Valid(nil, text)
		if want := json.Valid(text); (err == nil) != want {
			t.Errorf("%.80q: error at %d %v, and encoding/json says %v", text, at, err, want)
		}
		if at < 0 || at > len(text) {
			t.Errorf("%.80q: the offset is %d", text, at)
		}
	}
	for _, text := range texts {
		check([]byte(text))
		if len(text) > 1000 {
			continue
		}
		for n := range text {
			check([]byte(text[:n]))
		}
		for range 300 {
			changed := []byte(text + " ")
			changed[random.IntN(len(changed))] = "{}[]\",:\\ 0-.eEtu\x00\xff"[random.IntN(18)]
			check(changed)
		}
	}
}

// TestValidEnds walks long texts in a context that has ended.
func TestValidEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, text := range []string{
		strings.Repeat(" ", 2*pieces.Bytes) + "1", `"` + strings.Repeat("x", 2*pieces.Bytes) + `"`, "[" + strings.Repeat("1,", pieces.Bytes) + "1]", strings.Repeat("1", 2*pieces.Bytes),
	} {
		if at, err := Valid(budget.New(ctx, budget.Limits{}), []byte(text)); !errors.Is(err, context.Canceled) || at > pieces.Bytes+1 {
			t.Errorf("%.20q: %v at %d", text, err, at)
		}
	}
}
