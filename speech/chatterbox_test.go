package speech

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// chatterboxTexts are sentences that the voice does not change.
var chatterboxTexts = []string{
	"[laugh] Did you hear that?", "The tide goes out.", "On Monday, the 24th of March, she coughed.",
}

// chatterboxTolerances says how far values of a graph and samples may be from ONNX Runtime's, in
// parts of the largest magnitude. Half floats and codes of activations move the phases of tones.
var chatterboxTolerances = map[string]struct{ values, samples float64 }{
	"fp32": {2e-3, 5e-3}, "fp16": {2e-2, 8e-2}, "quantized": {3e-2, 0.2}, "q4": {2e-3, 5e-3}, "q4f16": {2e-2, 8e-2},
}

// person returns a sound like a vowel whose pitch moves, over faint noise.
func person(seconds float64, rate int) Sound {
	s := Sound{rate, make([]float32, int(seconds*float64(rate)))}
	phase, random := 0.0, rand.New(rand.NewPCG(1, 2))
	for i := range s.Samples {
		t := float64(i) / float64(rate)
		phase += (140 + 30*math.Sin(5*t)) / float64(rate)
		x := 0.0
		for k := 1.0; k < 12; k++ {
			x += math.Sin(2*math.Pi*k*phase) / (1 + k*k/9)
		}
		s.Samples[i] = float32(0.12*x*(0.6+0.4*math.Sin(17*t)) + 0.01*random.NormFloat64())
	}
	return s
}

// madeChatterbox makes a small voice of every precision, what ONNX Runtime says with it, and the
// same voice as another exporter could have written it.
func madeChatterbox(t *testing.T) (folder, said, other string) {
	python, err := testenv.FindPython(t, "onnxruntime, safetensors, tokenizers")
	testenv.Need(t, err)
	folder, said, other = filepath.Join(t.TempDir(), "voice"), t.TempDir(), filepath.Join(t.TempDir(), "voice")
	sound := filepath.Join(said, "person.f32")
	var raw []byte
	if raw, err = binary.Append(raw, binary.LittleEndian, person(2, chatterboxRate).Samples); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sound, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	scripts := filepath.Join(testenv.Root(t), "oracles", "chatterbox")
	for _, args := range [][]string{
		{filepath.Join(scripts, "made.py"), "tiny", folder},
		{filepath.Join(scripts, "renamed.py"), folder, other},
		append([]string{filepath.Join(scripts, "driven.py"), folder, sound, said}, chatterboxTexts...),
	} {
		out, err := exec.Command(python, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		t.Logf("%s", out)
	}
	return folder, said, other
}

// TestChatterbox compares a voice of every precision with ONNX Runtime.
func TestChatterbox(t *testing.T) {
	testenv.Need(t, bindings.Available())
	folder, said, other := madeChatterbox(t)
	for _, set := range chatterboxSets {
		values := opened(t, filepath.Join(said, set.precision+".safetensors"))
		for _, graph := range chatterboxGraphs {
			t.Run(set.precision+"/"+graph, func(t *testing.T) {
				testGraph(t, filepath.Join(folder, set.file("onnx", graph)), graph, set.precision, values)
			})
		}
		t.Run(set.precision, func(t *testing.T) { testChatterbox(t, folder, set.precision, values) })
	}
	t.Run("other names", func(t *testing.T) {
		testChatterbox(t, other, "fp32", opened(t, filepath.Join(said, "fp32.safetensors")))
	})
	t.Run("voice", func(t *testing.T) { testChatterboxVoice(t, folder) })
	t.Run("errors", func(t *testing.T) { testChatterboxErrors(t, folder) })
}

func opened(t *testing.T, path string) *nacre.Model {
	t.Helper()
	m, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// testGraph runs a graph on the inputs of the driver's runs.
func testGraph(t *testing.T, path, graph, precision string, values *nacre.Model) {
	session, err := opened(t, path).NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	runs := 0
	for ; ; runs++ {
		inputs := map[string]*nacre.Tensor{}
		for _, in := range session.Inputs() {
			x, err := values.Weight(fmt.Sprintf("%s/%d/in/%s", graph, runs, in.Name))
			if err != nil {
				break
			}
			inputs[in.Name] = x
		}
		if len(inputs) == 0 {
			break
		}
		outputs, err := session.Run(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range outputs {
			want := weight(t, values, fmt.Sprintf("%s/%d/out/%s", graph, runs, name))
			tolerance := chatterboxTolerances[precision].values
			if name == "waveform" {
				tolerance = chatterboxTolerances[precision].samples
			}
			compare(t, fmt.Sprintf("run %d, %s", runs, name), got, want, tolerance)
		}
	}
	if runs == 0 {
		t.Error("the driver has no run of the graph")
	}
}

func weight(t *testing.T, m *nacre.Model, name string) *nacre.Tensor {
	t.Helper()
	x, err := m.Weight(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// compare compares integers exactly, and floats within parts of the largest magnitude.
func compare(t *testing.T, what string, got, want *nacre.Tensor, tolerance float64) {
	t.Helper()
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
	if want.DType() == nacre.Int64 {
		a, _ := nacre.Data[int64](got)
		b, _ := nacre.Data[int64](want)
		if !slices.Equal(a, b) {
			t.Errorf("%s is %v, want %v", what, a, b)
		}
		return
	}
	a, err := nacre.Float32s(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := nacre.Float32s(want)
	if err != nil {
		t.Fatal(err)
	}
	closeTo(t, what, a, b, tolerance)
}

// closeTo compares floats within parts of the largest magnitude.
func closeTo(t *testing.T, what string, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d elements, want %d", what, len(got), len(want))
	}
	most, far, at := 0.0, 0.0, 0
	for i, x := range want {
		most = max(most, math.Abs(float64(x)))
		if d := math.Abs(float64(got[i]) - float64(x)); !(d <= far) {
			far, at = d, i
		}
	}
	if !(far <= tolerance*most) {
		t.Errorf("%s: element %d is %v, want %v: %.2g of the largest magnitude, %.2g is allowed", what, at, got[at],
			want[at], far/most, tolerance)
	}
}

// openChatterboxAt opens a voice as programs do.
func openChatterboxAt(t *testing.T, folder string, o Options) *Voice {
	t.Helper()
	if o.Reference.Rate == 0 {
		o.Reference = person(2, chatterboxRate)
	}
	o.Session.Threads = 1
	v, err := Open(folder, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// testChatterbox compares codes and sound of a voice with the driver's.
func testChatterbox(t *testing.T, folder, precision string, values *nacre.Model) {
	v := openChatterboxAt(t, folder, Options{Precision: precision})
	c := v.engine.(*chatterbox)
	for i, text := range chatterboxTexts {
		var done int
		q := &request{text: text, speed: 1, options: &SpeakOptions{}, progress: func(n, most int) { done = n }}
		ids, err := c.tokens.EncodeContext(t.Context(), spoken(text), true)
		if err != nil {
			t.Fatal(err)
		}
		wide := make([]int64, len(ids))
		for i, id := range ids {
			wide[i] = int64(id)
		}
		got, err := nacre.NewTensor(wide, 1, len(wide))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, "text", got, weight(t, values, fmt.Sprintf("text/%d", i)), 0)
		if err := c.listen(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		codes, err := c.codes(t.Context(), ids, q)
		if err != nil {
			t.Fatal(err)
		}
		if got, err = nacre.NewTensor(codes, len(codes)); err != nil {
			t.Fatal(err)
		}
		compare(t, "codes", got, weight(t, values, fmt.Sprintf("tokens/%d", i)), 0)
		if done != len(codes) {
			t.Errorf("progress came to %d of %d codes", done, len(codes))
		}
		samples, err := c.waveform(t.Context(), codes)
		if err != nil {
			t.Fatal(err)
		}
		want, err := nacre.Float32s(weight(t, values, fmt.Sprintf("waveform/%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		closeTo(t, "sound", samples, want, chatterboxTolerances[precision].samples)
	}
}

// testChatterboxVoice speaks as programs do.
func testChatterboxVoice(t *testing.T, folder string) {
	v := openChatterboxAt(t, folder, Options{Reference: person(2, 48_000)})
	if v.Kind() != "chatterbox" || v.Rate() != 24_000 || v.Language() != "en-us" || v.Speakers() != nil {
		t.Errorf("the voice is %s of %d Hz in %s with %v", v.Kind(), v.Rate(), v.Language(), v.Speakers())
	}
	text := chatterboxTexts[1] + " " + chatterboxTexts[1]
	speak := func(ctx context.Context, o SpeakOptions) (list []Sentence, err error) {
		for s, err := range v.Speak(ctx, text, o) {
			if err != nil {
				return list, err
			}
			list = append(list, s)
		}
		return list, nil
	}
	first, err := speak(t.Context(), SpeakOptions{})
	if err != nil || len(first) == 0 {
		t.Fatalf("%d sentences, %v", len(first), err)
	}
	last := len(first) - 1
	again, err := speak(t.Context(), SpeakOptions{})
	if err != nil || !slices.Equal(first[last].Samples, again[last].Samples) {
		t.Errorf("the same text sounds different: %v", err)
	}

	// The files of another file system sound the same.
	inMemory, err := OpenFS(os.DirFS(filepath.Dir(folder)), filepath.Base(folder), Options{Reference: person(2, 48_000),
		Session: nacre.Options{Threads: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer inMemory.Close()
	for s, err := range inMemory.Speak(t.Context(), text, SpeakOptions{}) {
		if err != nil || !slices.Equal(s.Samples, first[s.Index].Samples) {
			t.Errorf("sentence %d sounds different in a file system: %v", s.Index, err)
		}
	}

	// The seed chooses what a temperature leaves to chance.
	var sounds [][]float32
	for _, seed := range []uint64{1, 1, 2} {
		list, err := speak(t.Context(), SpeakOptions{Seed: seed, Sampling: &generate.Sampling{Temperature: 1, MaxTokens: 12}})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(list[last].Samples); n > (12+silenceCodes)*960 {
			t.Errorf("12 codes are %d samples", n)
		}
		sounds = append(sounds, list[last].Samples)
	}
	if !slices.Equal(sounds[0], sounds[1]) || slices.Equal(sounds[0], sounds[2]) {
		t.Error("seeds do not choose the sound")
	}

	// The last progress of a sentence has all of its codes.
	var ends Progress
	list, err := speak(t.Context(), SpeakOptions{Progress: func(p Progress) { ends = p }})
	if err != nil || ends.Index != len(list)-1 || ends.Done == 0 || ends.Done != ends.Most {
		t.Errorf("progress ended at %+v (%v)", ends, err)
	}

	// A context that ends within a sentence ends the work, and the voice can speak again.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = speak(ctx, SpeakOptions{Progress: func(p Progress) {
		if p.Index == last && p.Done == 3 {
			cancel()
		}
	}})
	if ctx.Err() == nil || err == nil {
		t.Errorf("after the end of its context the voice said %v", err)
	}
	again, err = speak(t.Context(), SpeakOptions{})
	if err != nil || !slices.Equal(first[last].Samples, again[last].Samples) {
		t.Errorf("after an end the same text sounds different: %v", err)
	}
}
