package speech

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/speech/phonemes"
)

// TestSpeak speaks texts sentence by sentence.
func TestSpeak(t *testing.T) {
	v := tiny(t, "tiny")
	if v.Kind() != "piper" || v.Rate() != 16000 || v.Language() != "en-us" || v.Speakers() != nil {
		t.Errorf("%s, %d, %s, %q", v.Kind(), v.Rate(), v.Language(), v.Speakers())
	}
	const text = "wˈʌn tˈu.\n\nθɹˈiː!\n\n語.\n\nfˈoː語?"
	var calls []Progress
	o := quiet()
	o.Progress = func(p Progress) { calls = append(calls, p) }
	list := speak(t, v, text, o)
	var parts []string
	for i, s := range list {
		parts = append(parts, s.Text)
		if s.Index != i || s.Count != len(list) || text[s.From:s.To] != s.Text {
			t.Errorf("sentence %d is %+v", i, s)
		}
		alone := speak2(v, s.Text)
		silence := 0
		if i+1 < len(list) && len(alone) > 0 {
			silence = 3200
		}
		if want := append(alone, make([]float32, silence)...); !slices.Equal(s.Samples, want) {
			t.Errorf("%q has %d samples in a text, %d alone and a silence of %d", s.Text, len(s.Samples), len(alone), silence)
		}
	}
	if !slices.Equal(parts, []string{"wˈʌn tˈu.", "θɹˈiː!", "語.", "fˈoː語?"}) {
		t.Errorf("sentences are %q", parts)
	}
	if len(list) == 4 && (len(list[2].Samples) > 0 || !slices.Equal(list[2].Unspoken, []string{"語"}) || !slices.Equal(list[3].Unspoken, []string{"語"})) {
		t.Errorf("unspoken: %q, %q", list[2].Unspoken, list[3].Unspoken)
	}
	if len(calls) != 6 || calls[0] != (Progress{0, 4, 0, 1}) || calls[5] != (Progress{3, 4, 1, 1}) {
		t.Errorf("progress %v", calls)
	}
}

// speak2 returns the samples of a sentence, none if there are none.
func speak2(v *Voice, text string) []float32 {
	for s, err := range v.Speak(context.Background(), text, quiet()) {
		if err == nil {
			return s.Samples
		}
	}
	return nil
}

// TestSeed speaks with noise.
func TestSeed(t *testing.T) {
	v := tiny(t, "tiny")
	const text = "wˈʌn.\n\nwˈʌn."
	first := speak(t, v, text, SpeakOptions{Seed: 1})
	again := speak(t, v, text, SpeakOptions{Seed: 1})
	other := speak(t, v, text, SpeakOptions{Seed: 2})
	if !slices.Equal(first[0].Samples, again[0].Samples) || !slices.Equal(first[1].Samples, again[1].Samples) {
		t.Error("the same seed gives another sound")
	}
	if slices.Equal(first[0].Samples, other[0].Samples) {
		t.Error("another seed gives the same sound")
	}
	if slices.Equal(first[1].Samples, first[0].Samples[:min(len(first[0].Samples), len(first[1].Samples))]) {
		t.Error("two sentences have the same noise")
	}
}

// TestSpeakOptions speaks with each option.
func TestSpeakOptions(t *testing.T) {
	v := tiny(t, "tiny3")
	const text = "wˈʌn.\n\ntˈu."
	plain := speak(t, v, text, quiet())
	for _, c := range []struct {
		name string
		set  func(o *SpeakOptions)
		ok   func(s Sentence) bool
	}{
		{"speed", func(o *SpeakOptions) { o.Speed = 2 }, func(s Sentence) bool { return len(s.Samples) < len(plain[0].Samples)-300 }},
		{"speaker", func(o *SpeakOptions) { o.Speaker = "ben" }, func(s Sentence) bool { return !slices.Equal(s.Samples, plain[0].Samples) }},
		{"first speaker", func(o *SpeakOptions) { o.Speaker = "0" }, func(s Sentence) bool { return slices.Equal(s.Samples, plain[0].Samples) }},
		{"its name", func(o *SpeakOptions) { o.Speaker = "anna" }, func(s Sentence) bool { return slices.Equal(s.Samples, plain[0].Samples) }},
		{"pause", func(o *SpeakOptions) { o.Pause = time.Second }, func(s Sentence) bool { return len(s.Samples) == len(plain[0].Samples)+16000-3200 }},
		{"no pause", func(o *SpeakOptions) { o.Pause = -1 }, func(s Sentence) bool { return len(s.Samples) == len(plain[0].Samples)-3200 }},
		{"noise", func(o *SpeakOptions) { *o.Noise = 1 }, func(s Sentence) bool { return !slices.Equal(s.Samples, plain[0].Samples) }},
		{"noise of lengths", func(o *SpeakOptions) { *o.NoiseW = 3 }, func(s Sentence) bool { return !slices.Equal(s.Samples, plain[0].Samples) }},
	} {
		o := quiet()
		c.set(&o)
		if got := speak(t, v, text, o); !c.ok(got[0]) {
			t.Errorf("%s: %d samples, %d without", c.name, len(got[0].Samples), len(plain[0].Samples))
		}
	}
}

// TestSpeakRefused speaks texts and options that are refused.
func TestSpeakRefused(t *testing.T) {
	v, one := tiny(t, "tiny3"), tiny(t, "tiny")
	number := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		name  string
		voice *Voice
		text  string
		o     SpeakOptions
		kind  error
		want  string
	}{
		{"no text", v, "", SpeakOptions{}, ErrText, "the text is empty"},
		{"spaces", v, " \n\t", SpeakOptions{}, ErrText, "the text is empty"},
		{"a long text", v, strings.Repeat("wʌn. ", 20_001), SpeakOptions{}, ErrText, "100005 characters; a text has at most 100000"},
		{"no UTF-8", v, "wʌn\xff", SpeakOptions{}, ErrText, "not UTF-8"},
		{"no characters that the voice knows", v, "語", SpeakOptions{}, ErrText, "nothing that this voice can speak"},
		{"punctuation", v, "...!", SpeakOptions{}, ErrText, "nothing that this voice can speak"},
		{"negative speed", v, "wʌn", SpeakOptions{Speed: -1}, nacre.ErrOption, "Speed is -1"},
		{"no speed", v, "wʌn", SpeakOptions{Speed: 1e-9}, nacre.ErrOption, "Speed is 1e-09"},
		{"negative noise", v, "wʌn", SpeakOptions{Noise: number(-1)}, nacre.ErrOption, "Noise is -1"},
		{"much noise", v, "wʌn", SpeakOptions{NoiseW: number(1e9)}, nacre.ErrOption, "NoiseW is 1e+09"},
		{"a speaker", v, "wʌn", SpeakOptions{Speaker: "dora"}, nacre.ErrOption, `no speaker "dora"; it has ["anna" "ben" "cleo"]`},
		{"a number of a speaker", v, "wʌn", SpeakOptions{Speaker: "3"}, nacre.ErrOption, `no speaker "3"`},
		{"sampling", v, "wʌn", SpeakOptions{Sampling: &generate.Sampling{}}, nacre.ErrOption, "Sampling is for voices of Chatterbox"},
		{"a speaker of one", one, "wʌn", SpeakOptions{Speaker: "anna"}, nacre.ErrOption, "one speaker"},
	} {
		var err error
		for s, e := range c.voice.Speak(context.Background(), c.text, c.o) {
			if err = e; e == nil && len(s.Samples) > 0 {
				t.Errorf("%s: it speaks", c.name)
			}
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "testdata") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestSpeakEnds breaks loops off, and ends contexts. No goroutine is left.
func TestSpeakEnds(t *testing.T) {
	v := tiny(t, "tiny")
	text := strings.Repeat("wˈʌn.\n\n", 50)
	before := runtime.NumGoroutine()
	for range 5 {
		n := 0
		for _, err := range v.Speak(context.Background(), text, SpeakOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 2 {
				break
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n = 0
		var last error
		for _, err := range v.Speak(ctx, text, SpeakOptions{}) {
			if n++; n == 2 {
				cancel()
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) || n > 4 {
			t.Errorf("after cancellation: %d sentences, %v", n, last)
		}
		for _, err := range v.Speak(ctx, text, SpeakOptions{}) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a context that has ended: %v", err)
			}
		}
	}
	if got := settled(before); got > before {
		t.Errorf("%d goroutines, %d before", got, before)
	}
}

// settled returns the number of goroutines, when it is at most n or a second has gone.
func settled(n int) int {
	for range 100 {
		if runtime.NumGoroutine() <= n {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

// TestSpeaking uses a voice while it speaks, and after Close.
func TestSpeaking(t *testing.T) {
	v := tiny(t, "tiny")
	for range v.Speak(context.Background(), "wˈʌn.", SpeakOptions{}) {
		for _, err := range v.Speak(context.Background(), "tˈu.", SpeakOptions{}) {
			if !errors.Is(err, nacre.ErrBusy) {
				t.Errorf("a second text: %v", err)
			}
		}
		if err := v.Close(); !errors.Is(err, nacre.ErrInUse) {
			t.Errorf("Close: %v", err)
		}
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	for _, err := range v.Speak(context.Background(), "wˈʌn.", SpeakOptions{}) {
		if !errors.Is(err, nacre.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// failing is a converter that fails.
type failing struct{ panics bool }

func (f failing) Phonemes(context.Context, string) (string, error) {
	if f.panics {
		panic("no phonemes")
	}
	return "", errors.New("no phonemes")
}

// TestConverterFails speaks with converters that fail.
func TestConverterFails(t *testing.T) {
	v := tiny(t, "tiny")
	for _, c := range []struct {
		converter phonemes.Converter
		kind      error
	}{{failing{}, nil}, {failing{true}, nacre.ErrInternal}} {
		v.engine.(*piper).converter = c.converter
		n := 0
		for _, err := range v.Speak(context.Background(), "wˈʌn. tˈu.", SpeakOptions{}) {
			if n++; err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), "no phonemes") {
				t.Errorf("%v", err)
			}
		}
		if n != 1 {
			t.Errorf("%d errors", n)
		}
	}
}
