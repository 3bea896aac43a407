package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech"
)

// voices is the folder with small voices.
const voices = "../../speech/testdata/"

// said returns the sound that the small voice makes of phonemes, without noise.
func said(t *testing.T, text string, o speech.SpeakOptions) speech.Sound {
	t.Helper()
	v, err := speech.Open(voices+"tiny.onnx", speech.Options{Phonemes: spelled{}})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	o.Noise, o.NoiseW = new(float64), new(float64)
	all := speech.Sound{Rate: v.Rate()}
	for s, err := range v.Speak(context.Background(), text, o) {
		if err != nil {
			t.Fatal(err)
		}
		all.Samples = append(all.Samples, s.Samples...)
	}
	return all
}

// sameSound compares a WAV file with a sound. Samples of the file have 16 bits.
func sameSound(t *testing.T, file []byte, want speech.Sound) {
	t.Helper()
	got, err := speech.ReadSound(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got.Rate != want.Rate || len(got.Samples) != len(want.Samples) {
		t.Fatalf("%d samples of rate %d, want %d of %d", len(got.Samples), got.Rate, len(want.Samples), want.Rate)
	}
	for i, x := range got.Samples {
		if d := x - want.Samples[i]; d > 1e-4 || d < -1e-4 {
			t.Fatalf("sample %d is %v, want %v", i, x, want.Samples[i])
		}
	}
}

// stdin has commands read a text until the test ends.
func stdin(t *testing.T, text string) {
	t.Helper()
	file, err := os.Open(write(t, filepath.Join(t.TempDir(), "text"), []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = file
	t.Cleanup(func() { os.Stdin = before; file.Close() })
}

const twoSentences = "wˈʌn.\n\ntˈu."

// quietly are the arguments of a call without noise.
func quietly(args ...string) []string {
	return append([]string{"speak", "--voice", voices + "tiny.onnx", "--phonemes", "--noise", "0", "--noise-w", "0"}, args...)
}

// TestSpeak speaks to files and to standard output.
func TestSpeak(t *testing.T) {
	testenv.Need(t, bindings.Available())
	out := filepath.Join(t.TempDir(), "out.wav")
	code, stdout, stderr := call(quietly(twoSentences, "-o", out)...)
	if code != exitDone || stdout != "" || !strings.Contains(stderr, "s of sound in ") {
		t.Fatalf("exit %d: %q, %s", code, stdout, stderr)
	}
	want := said(t, twoSentences, speech.SpeakOptions{})
	sameSound(t, read(t, out), want)

	stdin(t, "\ufeff"+twoSentences)
	code, stdout, stderr = call(quietly("-", "-o", "-")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	sameSound(t, []byte(stdout), want)

	stdin(t, twoSentences)
	code, stdout, stderr = call(quietly("-o", out, "--json", "--speed", "2", "--pause", "1s")...)
	var s spoken
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || code != exitDone || stderr != "" {
		t.Fatalf("exit %d: %v, %s", code, err, stderr)
	}
	fast := said(t, twoSentences, speech.SpeakOptions{Speed: 2, Pause: time.Second})
	sameSound(t, read(t, out), fast)
	if s.Kind != "piper" || s.Rate != 16000 || s.Sentences != 2 || math.Abs(s.Seconds-fast.Seconds()) > 1e-9 || s.Computed <= 0 ||
		s.Factor != s.Computed/s.Seconds || s.First <= 0 || s.Unspoken == nil {
		t.Errorf("statistics %+v", s)
	}
	if code, _, stderr := call(quietly("wˈʌn 語.", "-o", out)...); code != exitDone || !strings.Contains(stderr, "does not know 語") {
		t.Errorf("an unknown character: exit %d, %s", code, stderr)
	}
	code, _, stderr = call("speak", "wˈʌn.", "--voice", voices+"tiny3.onnx", "--phonemes", "--speaker", "cleo", "--seed", "7", "-o", out)
	first := read(t, out)
	if code != exitDone {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	call("speak", "wˈʌn.", "--voice", voices+"tiny3.onnx", "--phonemes", "--speaker", "2", "--seed", "7", "-o", out)
	if !bytes.Equal(read(t, out), first) {
		t.Error("the same seed and speaker sound different")
	}
}

// TestSpeakWrong calls speak wrongly. A file that was there stays.
func TestSpeakWrong(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	out := write(t, filepath.Join(dir, "out.wav"), []byte("before"))
	alone := write(t, filepath.Join(dir, "alone.onnx"), read(t, voices+"tiny.onnx"))
	t.Setenv("PATH", dir)
	stdin(t, "")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"speak", "a", "b", "--voice", alone, "-o", out}, exitUsage, "quotation marks"},
		{[]string{"speak", "a", "-o", out}, exitUsage, "--voice FILE is missing"},
		{[]string{"speak", "a", "--voice", alone}, exitUsage, "output play"},
		{quietly("a", "-o", "-", "--json"), exitUsage, "both write to standard output"},
		{quietly("a", "-o", out, "--speed", "0"), exitUsage, "--speed 0"},
		{quietly("a", "-o", out, "--threads", "-1"), exitUsage, "--threads is -1"},
		{quietly("a", "-o", out, "--speed", "99"), exitFailed, "--speed is 99"},
		{quietly("a", "-o", out, "--speaker", "anna"), exitFailed, "one speaker"},
		{quietly("a", "-o", out, "--precision", "q4"), exitFailed, "--precision and --reference are for voices of Chatterbox"},
		{quietly("a", "-o", out, "--reference", alone), exitFailed, "alone.onnx: the file is no sound"},
		{quietly("a", "-o", out, "--reference", filepath.Join(dir, "none.wav")), exitFailed, "none.wav: no such file"},
		{quietly("a", "-o", out, "--temperature", "0.8"), exitFailed, "--temperature is for voices of Chatterbox"},
		{quietly("-o", out), exitFailed, "the text is empty"},
		{quietly("語", "-o", out), exitFailed, "nothing that this voice can speak"},
		{quietly(strings.Repeat("a", speech.MaxText+1), "-o", out), exitFailed, "at most 100000"},
		{quietly("a", "--play", "-o", out), exitFailed, "no program that plays sound is installed"},
		{quietly("a", "-o", filepath.Join(dir, "none", "out.wav")), exitFailed, "no such file"},
		{[]string{"speak", "a", "--voice", alone, "-o", out}, exitFailed, "alone.onnx.json: the file is missing"},
		{[]string{"speak", "a", "--voice", dir, "-o", out}, exitFailed, "this is no voice"},
		{[]string{"speak", "a", "--voice", filepath.Join(dir, "none.onnx"), "-o", out}, exitFailed, "none.onnx: "},
	} {
		code, stdout, stderr := call(c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%.60q: exit %d, want %d: %q, %s", c.args, code, c.code, stdout, stderr)
		}
	}
	if string(read(t, out)) != "before" {
		t.Error("the file that was there has changed")
	}
	if files := testenv.Files(t, dir, "*"); len(files) != 2 {
		t.Errorf("files are left: %q", files)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	if code := run(ctx, quietly("a", "-o", out), &stdout, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "canceled") {
		t.Errorf("a context that has ended: exit %d, %s", code, &stderr)
	}
}

// TestSpeakPlay plays with programs that keep the sound.
func TestSpeakPlay(t *testing.T) {
	testenv.Need(t, bindings.Available())
	shell, err := exec.LookPath("sh")
	testenv.Need(t, err)
	cat, err := exec.LookPath("cat")
	testenv.Need(t, err)
	want := said(t, twoSentences, speech.SpeakOptions{})
	first := said(t, "wˈʌn.", speech.SpeakOptions{})
	for name, c := range map[string]struct{ script, out string }{
		"aplay":   {cat + ` > "$0.wav"`, ""},
		"ffplay":  {cat + ` > "$0.wav"`, ""},
		"pw-play": {cat + ` "$1" >> "$0.wav"`, ""},
		"paplay":  {"echo no device >&2; exit 1", "paplay cannot play the sound, is there a device for it? It says: no device"},
	} {
		dir := t.TempDir()
		program := write(t, filepath.Join(dir, name), []byte("#!"+shell+"\n"+c.script+"\n"))
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		code, _, stderr := call(quietly(twoSentences, "--play")...)
		if c.out != "" {
			if code != exitFailed || !strings.Contains(stderr, c.out) {
				t.Errorf("%s: exit %d, %s", name, code, stderr)
			}
			continue
		}
		if code != exitDone {
			t.Fatalf("%s: exit %d, %s", name, code, stderr)
		}
		file := read(t, program+".wav")
		if name == "pw-play" { // two files, the first with the pause after it
			n := 44 + 2*(len(first.Samples)+3200)
			sameSound(t, file[:n], speech.Sound{Rate: want.Rate, Samples: want.Samples[:len(first.Samples)+3200]})
			file, want.Samples = file[n:], slices.Clone(want.Samples[len(first.Samples)+3200:])
		}
		sameSound(t, file, want)
		want = said(t, twoSentences, speech.SpeakOptions{})
	}
}

// speaking is an environment variable with the output of the child process of TestSpeakSignals.
const speaking = "NACRE_TEST_SPEAKING"

// TestSpeakSignals ends a process that speaks. Nothing is left of its file.
func TestSpeakSignals(t *testing.T) {
	if out := os.Getenv(speaking); out != "" {
		endOnSignals()
		text := strings.Repeat("wˈʌn.\n\n", 10_000)
		os.Exit(run(context.Background(), quietly(text, "-o", out), os.Stdout, os.Stderr))
	}
	testenv.Need(t, bindings.Available())
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := t.TempDir()
		child := exec.Command(os.Args[0], "-test.run=^TestSpeakSignals$")
		child.Env = append(os.Environ(), speaking+"="+filepath.Join(dir, "out.wav"))
		var stderr bytes.Buffer
		child.Stderr = &stderr
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- child.Wait() }()
		for written := false; !written; {
			select {
			case err := <-ended:
				t.Fatalf("the child ended: %v, %s", err, &stderr)
			case <-time.After(5 * time.Millisecond):
			}
			files, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				info, err := f.Info()
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
				written = written || err == nil && info.Size() > 1000
			}
		}
		if err := child.Process.Signal(signal); err != nil {
			testenv.Skip(t, "no signals here: ", err)
		}
		<-ended
		if code := child.ProcessState.ExitCode(); code != 128+int(signal) {
			t.Errorf("%v: exit code %d, %s", signal, code, &stderr)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%v: %v is left, %v", signal, files, err)
		}
	}
}
