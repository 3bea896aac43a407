package web_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech"
	"github.com/nacre-ml/nacre/speech/phonemes"
	"github.com/nacre-ml/nacre/web"
)

// person is the name of the sound in a folder of Chatterbox.
const person = "person.wav"

// madeChatterbox makes a small voice of Chatterbox, with the sound of a person.
func madeChatterbox(t *testing.T) string {
	t.Helper()
	python, err := testenv.FindPython(t, "onnx, tokenizers")
	testenv.Need(t, err)
	folder := filepath.Join(t.TempDir(), "chatterbox")
	made := filepath.Join(testenv.Root(t), "oracles", "chatterbox", "made.py")
	if out, err := exec.Command(python, made, "tiny", folder, "q4").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const rate, seconds = 24_000, 2
	s := speech.Sound{Rate: rate, Samples: make([]float32, rate*seconds)}
	for i := range s.Samples {
		for k := 1.0; k < 8; k++ {
			s.Samples[i] += float32(0.1 / k * math.Sin(2*math.Pi*k*150*float64(i)/rate))
		}
	}
	f, err := os.Create(filepath.Join(folder, person))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := speech.WriteWAV(f, s); err != nil {
		t.Fatal(err)
	}
	return folder
}

// reference returns the sound of a file.
func reference(t *testing.T, name string) speech.Sound {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := speech.ReadSound(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// publish serves a folder below models, with pages of links for folders.
func (s *site) publish(t *testing.T, folder string) {
	t.Helper()
	top := filepath.Base(folder)
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := path.Join(top, name)
		link := fmt.Sprintf("<a href=%q>%s</a>", path.Base(at), name)
		if d.IsDir() {
			link = fmt.Sprintf("<a href=%q>%s</a>", path.Base(at)+"/", name)
			s.models[at+"/"] = []byte(`<a href="?C=N">Name</a><a href="../">Parent</a>`)
		} else if s.models[at], err = os.ReadFile(filepath.Join(folder, name)); err != nil {
			return err
		}
		if name != "." {
			above := path.Dir(at) + "/"
			s.models[above] = append(s.models[above], link...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFolders speaks in the page with voices that are folders, and compares the sound with the same
// voices here. The second time the files come from the browser.
func TestFolders(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	chatterbox := madeChatterbox(t)
	kokoro := filepath.Join(testenv.Root(t), "speech", "testdata", "kokoro")
	for _, c := range []struct {
		name, folder, text, speaker string
		o                           speech.Options
		unread                      string
		tolerance                   float64 // in parts of the largest sample
	}{
		{"chatterbox", chatterbox, "The tide goes out. Did you hear that?", "",
			speech.Options{Reference: reference(t, filepath.Join(chatterbox, person))}, "vocab.json", 5e-3},
		{"kokoro", kokoro, "こんにちは。ココナ!", "jf_two", speech.Options{Phonemes: phonemes.Japanese()}, "answers.json", 1e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.publish(t, c.folder)
			c.o.Session.Threads = 1
			want := spokenHere(t, c.folder, c.text, c.o, speech.SpeakOptions{Speaker: c.speaker})
			arguments, err := json.Marshal([]any{c.name, c.text, map[string]string{"speaker": c.speaker}})
			if err != nil {
				t.Fatal(err)
			}
			for _, cached := range []bool{false, true} {
				var got struct {
					Sentences [][]float32
					Kind      string
					Cached    bool
					Lost      string
					Kept      []string
					Tokens    int
				}
				b.open(s.URL)
				b.eval(`const { voice } = await import("./nacre.js");
					const [name, text, options] = `+string(arguments)+`;
					const v = await voice("models/" + name, { keep: true }), Sentences = [];
					const { tokens } = await v.speak(text, { ...options, onSentence: (s) => Sentences.push([...s.samples]) });
					await v.free();
					const kept = (await (await caches.open("nacre-models")).keys()).map((r) => r.url);
					return { Sentences, Kind: v.kind, Cached: v.cached, Lost: v.lost, Tokens: tokens,
						Kept: kept.filter((url) => url.includes("/" + name + "/")) };`, &got)
				if got.Kind != c.name || got.Cached != cached || got.Lost != "" || got.Tokens > 0 != (c.name == "chatterbox") {
					t.Errorf("the voice is %s, cached %v, lost %q, with %d tokens", got.Kind, got.Cached, got.Lost, got.Tokens)
				}
				unread := func(url string) bool { return strings.HasSuffix(url, c.unread) }
				if slices.ContainsFunc(got.Kept, unread) || len(got.Kept) < 3 {
					t.Errorf("the browser keeps %q", got.Kept)
				}
				if len(got.Sentences) != len(want) || len(want) < 2 {
					t.Fatalf("%d sentences in the page, %d here", len(got.Sentences), len(want))
				}
				for i, w := range want {
					sameSound(t, got.Sentences[i], w.Samples, c.tolerance)
				}
			}
		})
	}
}

// sameSound compares samples within parts of the largest.
func sameSound(t *testing.T, got, want []float32, tolerance float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d samples in the page, %d here", len(got), len(want))
	}
	most, far, at := 0.0, 0.0, 0
	for i, x := range want {
		most = max(most, math.Abs(float64(x)))
		if d := math.Abs(float64(got[i] - x)); !(d <= far) {
			far, at = d, i
		}
	}
	if !(far <= tolerance*most) {
		t.Errorf("sample %d is %g, and %g here", at, got[at], want[at])
	}
}

// TestFolderTab loads voices that are folders as a user does: chosen, dropped, and of the server.
func TestFolderTab(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	folder := madeChatterbox(t)
	sound := filepath.Join(filepath.Dir(folder), person)
	if err := os.Rename(filepath.Join(folder, person), sound); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.CopyFS(broken, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(broken, "onnx", "language_model_q4.onnx_data")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(filepath.Dir(folder))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	s.page = web.Handler(os.DirFS(filepath.Join(testenv.Root(t), "build", "web")), root)
	const problem = `document.querySelector("#speak-problem:not([hidden])")?.textContent`
	const ready = `!document.querySelector("#say").disabled`

	b.open(s.URL)
	b.write("voice-folder", broken)
	const lacks = "broken: the voice lacks files for precision q4: onnx/language_model_q4.onnx_data."
	if text := b.wait(problem); text != lacks {
		t.Errorf("a folder without a file: %s", text)
	}
	b.look("folder-problem")
	b.write("voice-folder", folder)
	b.wait(problem + `.includes("no reference")`)
	b.write("like", sound)
	b.wait(ready)
	fact := b.wait(`document.querySelector("#voice-fact").textContent + document.querySelector("#like-name").textContent`)
	if !strings.HasPrefix(fact, "chatterbox · en-us · 24,000 Hz · ") || !strings.HasSuffix(fact, person) {
		t.Errorf("the page says %q", fact)
	}
	b.click("say")
	b.wait(`document.querySelector("#save[href]") && document.querySelector("#speak-work").hidden`)
	if figures := b.wait(`document.querySelector("#speak-figures").textContent`); !strings.Contains(figures, "tokens per second") ||
		!strings.Contains(figures, "real-time factor") || !strings.Contains(figures, "memory") {
		t.Errorf("the figures are %q", figures)
	}
	b.look("folder")

	// Stop ends the sound and the work, and the voice can speak again.
	b.eval(`document.querySelector("#text").value = "A shell is a wall of many layers. ".repeat(2000);`, nil)
	b.click("say")
	b.wait(`document.querySelector("#speak-stage").textContent.includes("tokens")`)
	b.look("folder-speaking")
	b.click("hush")
	var stopped bool
	b.eval(`return document.querySelector("#speak-work").hidden && document.querySelector("#hush").disabled;`, &stopped)
	if !stopped {
		t.Error("Stop does not stop")
	}
	b.eval(`document.querySelector("#text").value = "Again.";`, nil)
	b.click("say")
	b.wait(`document.querySelector("#spoken").textContent === "Again." && document.querySelector("#speak-work").hidden`)

	// A folder with the voice is dropped, and then the sound.
	b.open(s.URL + "/?dropped")
	b.drop("speak", filepath.Dir(folder))
	b.wait(problem + `.includes("no reference")`)
	b.drop("speak", sound)
	b.wait(ready)

	// The server's folder is in the menu.
	b.open(s.URL + "/?served")
	b.wait(`document.querySelector("#voices option:nth-child(2)")?.textContent === "chatterbox"`)
	b.write("like", sound)
	b.eval(`const menu = document.querySelector("#voices");
		menu.selectedIndex = 1;
		menu.dispatchEvent(new Event("change"));`, nil)
	b.wait(ready)
}

// TestHub lists the files of a model of Hugging Face.
func TestHub(t *testing.T) {
	b, s := openBrowser(t), openSite(t)
	b.open(s.URL)
	var got []string
	b.eval(`const { folder } = await import("./nacre.js"), asked = [];
		globalThis.fetch = async (url) => {
			asked.push(url);
			return new Response(JSON.stringify({ siblings: [{ rfilename: "tokenizer.json" }, { rfilename: "onnx/a.onnx" }] }));
		};
		const list = [...await folder("https://huggingface.co/some/voice"), ...await folder("https://huggingface.co/some/voice/tree/v2/")];
		return [...asked, ...list.flatMap((f) => [f.name, f.url])];`, &got)
	const at = "https://huggingface.co/"
	want := []string{at + "api/models/some/voice/revision/main", at + "api/models/some/voice/revision/v2"}
	for _, branch := range []string{"main", "v2"} {
		for _, name := range []string{"tokenizer.json", "onnx/a.onnx"} {
			want = append(want, "voice/"+name, at+"some/voice/resolve/"+branch+"/"+name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page asks for %q, want %q", got, want)
	}
}
