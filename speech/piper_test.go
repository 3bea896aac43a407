package speech

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// spelled is a converter for texts that are phonemes.
type spelled struct{}

func (spelled) Phonemes(_ context.Context, text string) (string, error) { return text, nil }

// tiny opens a voice of oracles/speech/voice.py.
func tiny(t testing.TB, name string) *Voice {
	t.Helper()
	testenv.Need(t, bindings.Available())
	v, err := Open(filepath.Join("testdata", name+".onnx"), Options{Phonemes: spelled{}})
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

// quiet returns options without noise.
func quiet() SpeakOptions {
	return SpeakOptions{Noise: new(float64), NoiseW: new(float64)}
}

// speak returns all sentences of a text.
func speak(t testing.TB, v *Voice, text string, o SpeakOptions) []Sentence {
	t.Helper()
	var list []Sentence
	for s, err := range v.Speak(context.Background(), text, o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

// TestPiperIDs computes the numbers of phonemes: ^ and _ begin, _ follows each phoneme, $ ends.
func TestPiperIDs(t *testing.T) {
	c, err := parsePiper([]byte(`{"audio":{"sample_rate":16000},"phoneme_map":{"x":["k","s"],"y":[]},
		"phoneme_id_map":{"_":[0],"^":[1],"$":[2],"k":[3],"s":[4],"a":[5,6],"̃":[7],".":[8],"ˈ":[9]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		text     string
		ids      []int64
		unspoken []string
		spoken   bool
	}{
		{"", []int64{1, 0, 2}, nil, false},
		{"ks.", []int64{1, 0, 3, 0, 4, 0, 8, 0, 2}, nil, true},
		{"x", []int64{1, 0, 3, 0, 4, 0, 2}, nil, true},
		{"yk", []int64{1, 0, 3, 0, 2}, nil, true},
		{"a", []int64{1, 0, 5, 6, 0, 2}, nil, true},
		{"ã", []int64{1, 0, 5, 6, 0, 7, 0, 2}, nil, true}, // decomposed
		{"k語s語", []int64{1, 0, 3, 0, 4, 0, 2}, []string{"語"}, true},
		{"ˈ.", []int64{1, 0, 9, 0, 8, 0, 2}, nil, false},
		{"^k_$", []int64{1, 0, 3, 0, 2}, nil, true}, // no sounds
	} {
		ids, unspoken, spoken := c.ids(decomposed(x.text))
		if !slices.Equal(ids, x.ids) || !slices.Equal(unspoken, x.unspoken) || spoken != x.spoken {
			t.Errorf("%q: %v %q %v, want %v %q %v", x.text, ids, unspoken, spoken, x.ids, x.unspoken, x.spoken)
		}
	}
}

// answer is what ONNX Runtime computes for a sentence.
type answer struct {
	Voice, Phonemes string
	IDs             []int64
	Speed           float64
	Speaker         int
	Samples, Every  int
	Sound           []float32
}

// TestPiperAnswers compares small voices with ONNX Runtime (oracles/speech/voice.py).
func TestPiperAnswers(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "tiny.answers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers []answer
	if err := json.Unmarshal(data, &answers); err != nil || len(answers) == 0 {
		t.Fatal(len(answers), err)
	}
	for _, a := range answers {
		v := tiny(t, a.Voice)
		if ids, _, _ := v.engine.(*piper).config.ids(decomposed(a.Phonemes)); !slices.Equal(ids, a.IDs) {
			t.Errorf("%s: %q is %v, want %v", a.Voice, a.Phonemes, ids, a.IDs)
		}
		o := quiet()
		o.Speed = a.Speed
		if v.Speakers() != nil {
			o.Speaker = v.Speakers()[a.Speaker]
		}
		got := speak(t, v, a.Phonemes, o)
		if len(got) != 1 || len(got[0].Samples) != a.Samples || got[0].Rate != 16000 {
			t.Fatalf("%s: %q is %d sentences, want one of %d samples", a.Voice, a.Phonemes, len(got), a.Samples)
		}
		var some []float32
		for i := 0; i < a.Samples; i += a.Every {
			some = append(some, got[0].Samples[i])
		}
		if d := differ(t, some, a.Sound); d > 1e-5 {
			t.Errorf("%s: %q differs by %g from ONNX Runtime", a.Voice, a.Phonemes, d)
		}
	}
}

// TestPiperVoice compares a voice with ONNX Runtime (oracles/speech/piper.py).
func TestPiperVoice(t *testing.T) {
	testenv.Need(t, bindings.Available())
	path := filepath.Join(testenv.Root(t), ".cache", "voices", "en_US-joe-medium.onnx")
	if _, err := os.Stat(path); err != nil {
		testenv.Skip(t, "no ", path, ": scripts/fetch-voice.sh fetches it")
	}
	python, err := testenv.FindPython(t, "onnxruntime")
	testenv.Need(t, err)
	v, err := Open(path, Options{Phonemes: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	cmd := exec.Command(python, filepath.Join(testenv.Root(t), "oracles", "speech", "piper.py"), path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	answers := bufio.NewReader(out)
	for _, text := range []string{
		"həlˈoʊ wˈɜːld.", "wʌn.", "ðɪs ɪz ɐ lˈɔŋɡɚ sˈɛntəns, wɪð ɐ kˈɑːmə; ænd ɐ kwˈɛstʃən?",
	} {
		for _, speed := range []float64{1, 1.6} {
			ids, _, _ := v.engine.(*piper).config.ids(decomposed(text))
			if err := json.NewEncoder(in).Encode(map[string]any{"ids": ids, "scales": []float64{0, 1 / speed, 0}}); err != nil {
				t.Fatal(err)
			}
			var n uint32
			if err := binary.Read(answers, binary.LittleEndian, &n); err != nil {
				t.Fatal(err)
			}
			want := make([]float32, n)
			if err := binary.Read(answers, binary.LittleEndian, want); err != nil {
				t.Fatal(err)
			}
			o := quiet()
			o.Speed = speed
			if d := differ(t, speak(t, v, text, o)[0].Samples, want); d > 1e-4 {
				t.Errorf("%q at speed %v differs by %g from ONNX Runtime", text, speed, d)
			}
		}
	}
}

// TestPiperRefused opens voices that are refused.
func TestPiperRefused(t *testing.T) {
	testenv.Need(t, bindings.Available())
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	model, config := file("tiny.onnx"), string(file("tiny.onnx.json"))
	changed := func(old, replacement string) string {
		if !strings.Contains(config, old) {
			t.Fatalf("no %s in the configuration", old)
		}
		return strings.Replace(config, old, replacement, 1)
	}
	for _, c := range []struct {
		name   string
		model  []byte
		config string
		kind   error
		want   string
	}{
		{"no JSON", model, "", fs.ErrNotExist, "v.onnx.json: the file is missing"},
		{"damaged JSON", model, config[:100], nacre.ErrFormat, "v.onnx.json: this is no description of a Piper voice"},
		{"other JSON", model, `[1]`, nacre.ErrFormat, "no description of a Piper voice"},
		{"no rate", model, changed(`"sample_rate":16000`, `"x":1`), nacre.ErrFormat, "audio.sample_rate is 0"},
		{"a huge rate", model, changed(`16000`, `2000000`), nacre.ErrFormat, "audio.sample_rate is 2000000"},
		{"negative noise", model, changed(`0.667`, `-1`), nacre.ErrFormat, "inference.noise_scale is -1"},
		{"no length", model, changed(`"length_scale":1`, `"length_scale":0`), nacre.ErrFormat, "inference.length_scale is 0"},
		{"a type of phonemes", model, changed(`"espeak","phoneme_map"`, `"pinyin","phoneme_map"`), nacre.ErrUnsupported, `phoneme_type is "pinyin"`},
		{"no phonemes", model, changed(`phoneme_id_map`, `x`), nacre.ErrFormat, "phoneme_id_map is missing"},
		{"no padding", model, changed(`"_":[0]`, `"_":[]`), nacre.ErrFormat, `phoneme_id_map has no "_"`},
		{"a negative number", model, changed(`"a":[14]`, `"a":[-3]`), nacre.ErrFormat, `the number -3 for "a"`},
		{"a number beyond the symbols", model, changed(`"a":[14]`, `"a":[9999]`), nacre.ErrFormat, `the number 9999 for "a"`},
		{"a number beyond the table", model, strings.Replace(changed(`"a":[14]`, `"a":[99]`), `"num_symbols":`, `"num_symbols":1`, 1), nacre.ErrFormat, "of different voices"},
		{"numbers of a phoneme", model, changed(`"a":[14]`, `"a":[`+strings.Repeat("1,", 99)+`1]`), nacre.ErrFormat, `100 numbers for "a"`},
		{"a map of words", model, changed(`"phoneme_map":{}`, `"phoneme_map":{"ab":["c"]}`), nacre.ErrFormat, "phoneme_map"},
		{"speakers that the network lacks", model, changed(`"num_speakers":1`, `"num_speakers":3`), nacre.ErrFormat, "no input sid"},
		{"a million speakers", model, changed(`"num_speakers":1`, `"num_speakers":1000000`), nacre.ErrFormat, "num_speakers is 1000000"},
		{"a speaker of no number", model, changed(`"speaker_id_map":{}`, `"speaker_id_map":{"x":7}`), nacre.ErrFormat, `the number 7 for "x"`},
		{"half a model", model[:1000], config, nacre.ErrFormat, "v.onnx"},
		{"no model", nil, config, fs.ErrNotExist, "v.onnx"},
	} {
		files := fstest.MapFS{}
		if c.model != nil {
			files["a/v.onnx"] = &fstest.MapFile{Data: c.model}
		}
		if c.config != "" {
			files["a/v.onnx.json"] = &fstest.MapFile{Data: []byte(c.config)}
		}
		v, err := OpenFS(files, "a/v.onnx", Options{Phonemes: spelled{}})
		if err == nil {
			v.Close()
		}
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	files := fstest.MapFS{"a/v.onnx": {Data: model}, "a/v.onnx.json": {Data: []byte(config)}, "b/x": {}}
	v, err := OpenFS(files, "a/v.onnx", Options{Phonemes: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"b": "this is no voice", "b/x": "this is no voice", "c": "not exist", "../a": "not exist"} {
		if _, err := OpenFS(files, name, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// FuzzPiperConfig reads any description of a voice.
func FuzzPiperConfig(f *testing.F) {
	for _, name := range []string{"tiny.onnx.json", "tiny3.onnx.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "həlˈoʊ")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		c, err := parsePiper(data)
		if err != nil {
			return
		}
		ids, _, _ := c.ids(decomposed(text))
		for _, id := range ids {
			if id < 0 || c.Symbols > 0 && id >= int64(c.Symbols) {
				t.Errorf("%q has number %d", text, id)
			}
		}
		if n := len(c.speakers()); n == 1 || n > maxPiperSpeakers {
			t.Errorf("%d speakers", n)
		}
	})
}
