package speech

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// kokoroFolder is the voice of oracles/speech/kokoro.py.
var kokoroFolder = filepath.Join("testdata", "kokoro")

// TestKokoroAnswers compares a small voice with ONNX Runtime.
func TestKokoroAnswers(t *testing.T) {
	testenv.Need(t, bindings.Available())
	data, err := os.ReadFile(filepath.Join(kokoroFolder, "answers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct {
		Speaker, Phonemes string
		Speed             float64
		Samples, Every    int
		Sound             []float32
	}
	if err := json.Unmarshal(data, &answers); err != nil || len(answers) == 0 {
		t.Fatal(len(answers), err)
	}
	v, err := Open(kokoroFolder, Options{Phonemes: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if got := fmt.Sprintln(v.Kind(), v.Rate(), v.Language(), v.Speakers()); got != "kokoro 24000 en-us [af_one jf_two]\n" {
		t.Error(got)
	}
	for _, a := range answers {
		k := v.engine.(*kokoro)
		ids, unspoken := k.ids(a.Phonemes)
		if len(unspoken) > 0 {
			t.Errorf("%q has unspoken %q", a.Phonemes, unspoken)
		}
		i := slices.Index(v.Speakers(), a.Speaker)
		got, err := k.run(context.Background(), ids, &k.styles[i], &request{speed: a.Speed})
		if err != nil || len(got) != a.Samples {
			t.Fatalf("%q is %d samples, %v, want %d", a.Phonemes, len(got), err, a.Samples)
		}
		var some []float32
		for i := 0; i < len(got); i += a.Every {
			some = append(some, got[i])
		}
		if d := differ(t, some, a.Sound); d > 1e-5 {
			t.Errorf("%q differs by %g from ONNX Runtime", a.Phonemes, d)
		}
		said := speak(t, v, a.Phonemes, SpeakOptions{Speaker: a.Speaker, Speed: a.Speed})
		if whole := trimmed(got); len(said) != 1 || !slices.Equal(said[0].Samples, whole) {
			t.Errorf("%q is spoken otherwise than the network says", a.Phonemes)
		}
	}
}

// TestKokoroTexts speaks what is more than the network takes at once, and what it does not know.
func TestKokoroTexts(t *testing.T) {
	testenv.Need(t, bindings.Available())
	v, err := Open(kokoroFolder, Options{Phonemes: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	k := v.engine.(*kokoro)
	long, err := k.say(context.Background(), &request{text: strings.Repeat("ka", 300), speed: 1, progress: func(int, int) {}})
	if err != nil {
		t.Fatal(err)
	}
	if most := 4 * 300 * (600 + 4); len(long.samples) > most || len(long.samples) < most*9/10 {
		t.Errorf("600 phonemes are %d samples, want nearly %d", len(long.samples), most)
	}
	got := speak(t, v, "ka%x%", SpeakOptions{})
	if u := got[0].Unspoken; !slices.Equal(u, []string{"%", "x"}) {
		t.Errorf("unspoken is %q", u)
	}
	for _, text := range []string{"%%", "ˈ."} {
		for _, err := range v.Speak(context.Background(), text, SpeakOptions{}) {
			if err != nil && !errors.Is(err, ErrText) {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	noise := 0.5
	for _, err := range v.Speak(context.Background(), "ka", SpeakOptions{Noise: &noise}) {
		if !errors.Is(err, nacre.ErrOption) || !strings.Contains(err.Error(), "Piper") {
			t.Error(err)
		}
	}
	if s := trimmed(make([]float32, 3)); len(s) != 3 {
		t.Errorf("silence became %d samples", len(s))
	}
}

// TestKokoroPhonemes converts phonemes to the symbols of Kokoro.
func TestKokoroPhonemes(t *testing.T) {
	for _, x := range []struct{ language, text, want string }{
		{"en-us", "həlˈoʊ wˈɜːld.", "həlˈO wˈɜɹld."},
		{"en-us", "ɡɹˈeɪt dʒˈɔɪ", "ɡɹˈAt ʤˈY"},
		{"en-us", "tʃˈaɪld ˌaʊɚ", "ʧˈIld ˌWəɹ"},
		{"en-gb", "həlˈəʊ", "həlˈQ"},
	} {
		if got, err := (kokoroPhonemes{spelled{}, x.language}).Phonemes(context.Background(), x.text); got != x.want || err != nil {
			t.Errorf("%s: %q is %q, %v, want %q", x.language, x.text, got, err, x.want)
		}
	}
}

// TestKokoroRefused opens voices that are refused, and one with styles in files of their own.
func TestKokoroRefused(t *testing.T) {
	testenv.Need(t, bindings.Available())
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(kokoroFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	piper, err := os.ReadFile(filepath.Join("testdata", "tiny.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string][]byte{"tiny.onnx": file("tiny.onnx"), "vocab.json": file("vocab.json"), "voices.npz": file("voices.npz")}
	for _, c := range []struct {
		name    string
		changed map[string][]byte // nil removes a file
		kind    error
		want    string
	}{
		{"no model", map[string][]byte{"tiny.onnx": nil}, fs.ErrNotExist, "no model"},
		{"no symbols", map[string][]byte{"vocab.json": nil}, nil, "this is no voice"},
		{"damaged symbols", map[string][]byte{"vocab.json": []byte(`{"vocab":`)}, nacre.ErrFormat, "vocab.json"},
		{"no vocab", map[string][]byte{"vocab.json": []byte(`{"a":1}`)}, nacre.ErrFormat, `no object "vocab"`},
		{"a negative number", map[string][]byte{"vocab.json": []byte(`{"vocab":{"a":-1}}`)}, nacre.ErrFormat, `"a" has number -1`},
		{"half the styles", map[string][]byte{"voices.npz": file("voices.npz")[:900]}, nacre.ErrFormat, "voices.npz"},
		{"styles of nobody", map[string][]byte{"voices.npz": []byte("PK\x05\x06" + strings.Repeat("\x00", 18))}, nacre.ErrFormat, "no styles"},
		{"a model of Piper", map[string][]byte{"tiny.onnx": piper}, nacre.ErrUnsupported, "none of a voice of Kokoro"},
		{"half a model", map[string][]byte{"tiny.onnx": file("tiny.onnx")[:1000]}, nacre.ErrFormat, "tiny.onnx"},
		{"a short style", map[string][]byte{"voices.npz": nil, "voices/x.bin": make([]byte, 1000)}, nacre.ErrFormat, "the style of x"},
		{"an odd style", map[string][]byte{"voices.npz": nil, "voices/x.bin": make([]byte, 1025)}, nacre.ErrFormat, "the style of x"},
	} {
		files := fstest.MapFS{}
		for name, data := range whole {
			files["v/"+name] = &fstest.MapFile{Data: data}
		}
		for name, data := range c.changed {
			delete(files, "v/"+name)
			if data != nil {
				files["v/"+name] = &fstest.MapFile{Data: data}
			}
		}
		v, err := OpenFS(files, "v", Options{Phonemes: spelled{}})
		if err == nil {
			v.Close()
		}
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	files := fstest.MapFS{"onnx/model.onnx": {Data: whole["tiny.onnx"]}, "config.json": {Data: whole["vocab.json"]},
		"voices/bf_b.bin": {Data: make([]byte, 2*1024)}, "voices/af_a.bin": {Data: make([]byte, 1024)}}
	v, err := OpenFS(files, ".", Options{Phonemes: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if !slices.Equal(v.Speakers(), []string{"af_a", "bf_b"}) {
		t.Error(v.Speakers())
	}
	speak(t, v, "ka", SpeakOptions{Speaker: "bf_b"})
}

// TestKokoroVoice speaks with Kokoro's network. Its integers make any two runtimes differ: a last bit
// at the beginning becomes another rhythm, in ONNX Runtime as well.
func TestKokoroVoice(t *testing.T) {
	testenv.Need(t, bindings.Available())
	path := filepath.Join(testenv.Root(t), ".cache", "voices", "kokoro")
	if _, err := os.Stat(path); err != nil {
		testenv.SkipSamples(t, "no ", path, ": scripts/fetch-voice.sh kokoro fetches it")
	}
	v, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, x := range []struct {
		text               string
		speed, least, most float64 // seconds
	}{
		{"こんにちは。", 1, 0.6, 1.6},
		{"こんにちは、せかい", 1.5, 0.5, 1.4},
	} {
		s := speak(t, v, x.text, SpeakOptions{Speed: x.speed})[0]
		seconds, loudest := float64(len(s.Samples))/float64(s.Rate), slices.Max(s.Samples)
		if seconds < x.least || seconds > x.most || loudest < 0.1 || loudest > 1 || len(s.Unspoken) > 0 {
			t.Errorf("%s: %.2f s, as loud as %.2f, without %q", x.text, seconds, loudest, s.Unspoken)
		}
	}
}
