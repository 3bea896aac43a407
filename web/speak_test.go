package web_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech"
	"github.com/nacre-ml/nacre/speech/phonemes"
)

const spokenText = "The sea keeps its own time. Shells grew layer by layer, each thinner than a hair. Is it 3 o'clock?"

// TestSpeak speaks with a tiny voice in the page, and compares the sound with the same voice here.
func TestSpeak(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	folder := filepath.Join(testenv.Root(t), "speech", "testdata")
	for _, name := range []string{"tiny.onnx", "tiny.onnx.json"} {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		s.models[name] = data
	}
	want := spokenHere(t, filepath.Join(folder, "tiny.onnx"), spokenText, speech.Options{Phonemes: phonemes.English()},
		speech.SpeakOptions{Noise: new(float64), NoiseW: new(float64)})
	b.open(s.URL)
	var got struct {
		Sentences []struct {
			Samples  []float32
			Text     string
			From, To int
			Rate     int
		}
		Seconds float64
	}
	text, err := json.Marshal(spokenText)
	if err != nil {
		t.Fatal(err)
	}
	b.eval(`const { voice } = await import("./nacre.js");
		const v = await voice("models/tiny.onnx"), Sentences = [];
		const onSentence = (s) => Sentences.push({ Samples: [...s.samples], Text: s.text, From: s.from, To: s.to, Rate: s.rate });
		const { seconds } = await v.speak(`+string(text)+`, { onSentence, noise: 0, noiseW: 0 });
		await v.free();
		return { Sentences, Seconds: seconds };`, &got)
	if len(got.Sentences) != len(want) || len(want) != 3 {
		t.Fatalf("%d sentences in the page, %d here", len(got.Sentences), len(want))
	}
	for i, w := range want {
		g := got.Sentences[i]
		if g.Text != w.Text || spokenText[g.From:g.To] != w.Text || g.Rate != w.Rate || len(g.Samples) != len(w.Samples) {
			t.Fatalf("sentence %d is %q at %d, %d samples at %d Hz; here %q, %d samples", i, g.Text, g.From, len(g.Samples), g.Rate, w.Text,
				len(w.Samples))
		}
		for k := range w.Samples {
			if math.Abs(float64(g.Samples[k]-w.Samples[k])) > 1e-4 {
				t.Fatalf("sample %d of sentence %d is %g, and %g here", k, i, g.Samples[k], w.Samples[k])
			}
		}
	}
}

// spokenHere speaks natively.
func spokenHere(t *testing.T, voice, text string, o speech.Options, how speech.SpeakOptions) (list []speech.Sentence) {
	t.Helper()
	v, err := speech.Open(voice, o)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for sentence, err := range v.Speak(context.Background(), text, how) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, sentence)
	}
	return list
}

// TestSpeakTab loads a voice and speaks as a user does, with files, a folder that lacks one, and no
// audio device.
func TestSpeakTab(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	folder := filepath.Join(testenv.Root(t), "speech", "testdata")
	b.open(s.URL)
	b.look("speak-empty")
	b.write("voice-files", filepath.Join(folder, "tiny.onnx"))
	if problem := b.wait(`document.querySelector("#speak-problem:not([hidden])")?.textContent`); !strings.Contains(problem, ".json") {
		t.Errorf("a voice without its JSON: %s", problem)
	}
	b.write("voice-files", filepath.Join(folder, "tiny.onnx")+"\n"+filepath.Join(folder, "tiny.onnx.json"))
	b.wait(`!document.querySelector("#say").disabled`)
	b.click("say")
	b.wait(`document.querySelector("#save[href]") && document.querySelector("#speak-work").hidden`)
	if figures := b.wait(`document.querySelector("#speak-figures").textContent`); !strings.Contains(figures, "real-time factor") ||
		!strings.Contains(figures, "memory") {
		t.Errorf("the figures are %q", figures)
	}
	b.look("speak")
	var wave struct{ Size, Peak, Rate int }
	b.eval(`const data = new DataView(await (await fetch(document.querySelector("#save").href)).arrayBuffer());
		let Peak = 0;
		for (let i = 44; i < data.byteLength; i += 2) Peak = Math.max(Peak, Math.abs(data.getInt16(i, true)));
		return { Size: data.byteLength, Peak, Rate: data.getUint32(24, true) };`, &wave)
	if wave.Size < 1000 || wave.Peak == 0 || wave.Rate != 16000 {
		t.Errorf("the file has %+v", wave)
	}
	b.eval(`document.querySelector("#text").value = "A shell ☃ is a wall. ".repeat(4000);`, nil)
	b.click("say")
	b.wait(`document.querySelector("#unspoken").textContent.includes("☃")`)
	b.click("hush")
	var before, after string
	const figures = `return document.querySelector("#speak-figures").textContent + document.querySelector("#speak-work").hidden`
	b.eval(figures, &before)
	b.eval(`await (await import("./nacre.js")).engine().memory();`+figures, &after)
	if before != after || !strings.HasSuffix(after, "true") {
		t.Errorf("Stop: %q before, %q after", before, after)
	}
	b.eval(`document.querySelector("#text").value = "";`, nil)
	b.click("say")
	if problem := b.wait(`document.querySelector("#speak-problem:not([hidden])")?.textContent`); !strings.Contains(problem, "text") {
		t.Errorf("no text: %s", problem)
	}
	b.open(s.URL + "/?without")
	b.eval(`globalThis.AudioContext = undefined;`, nil)
	b.write("voice-files", filepath.Join(folder, "tiny.onnx")+"\n"+filepath.Join(folder, "tiny.onnx.json"))
	b.wait(`!document.querySelector("#say").disabled`)
	b.click("say")
	b.wait(`document.querySelector("#save[href]")`)
	if problem := b.wait(`document.querySelector("#speak-problem:not([hidden])")?.textContent`); !strings.Contains(problem, "no audio") {
		t.Errorf("no audio: %s", problem)
	}
}
