package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// chatTemplates are templates of chats. Of these, the second says each time how many messages there
// are, and the third shortens earlier answers.
var chatTemplates = []string{
	"{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
	"{{ messages | length }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}" +
		"{% if add_generation_prompt %}<assistant>{% endif %}",
	"{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}...{% else %}{{ m.content }}{% endif %}{% endfor %}" +
		"{% if add_generation_prompt %}<assistant>{% endif %}",
}

// chatFolder makes a folder with a small decoder and a template.
func chatFolder(t *testing.T, template string) string {
	t.Helper()
	config, err := json.Marshal(map[string]string{"chat_template": template})
	testenv.Need(t, err)
	return decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t), "tokenizer_config.json": string(config)})
}

// talk runs nacre chat with a text as standard input.
func talk(stdin string, args ...string) (stdout, stderr string, err error) {
	var out, diagnostics bytes.Buffer
	cmd := chatCommand()
	cmd.SetArgs(args)
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&diagnostics)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(context.Background())
	return out.String(), diagnostics.String(), err
}

// savedChat returns the messages of a file that /save wrote.
func savedChat(t *testing.T, path string) (list []message) {
	t.Helper()
	testenv.Need(t, json.Unmarshal(read(t, path), &list))
	return list
}

// TestChat holds chats by a pipe, and compares each answer with nacre generate --messages on the chat
// before it.
func TestChat(t *testing.T) {
	said := []string{"Hi", "Name a river.", "//etc?", "é🙂"}
	for i, template := range chatTemplates {
		dir := chatFolder(t, template)
		for _, flags := range [][]string{
			nil, {"--temperature", "2", "--seed", "7", "--top-k", "40", "--repetition-penalty", "1.2", "--presence-penalty", "0.5"},
			{"--no-cache"}, {"--stop", "a", "--stop", "e"},
		} {
			flags = append(flags, "--max-tokens", "14")
			file := filepath.Join(t.TempDir(), "chat.json")
			stdin := strings.Join(said, "\n\n") + "\n/save " + file + "\n/quit\nnot read\n"
			out, diagnostics, err := talk(stdin, append([]string{dir, "--system", "be brief"}, flags...)...)
			testenv.Need(t, err)
			list := savedChat(t, file)
			if len(list) != 1+2*len(said) || list[0] != (message{"system", "be brief"}) ||
				!strings.Contains(diagnostics, "9 messages saved to "+file) {
				t.Fatalf("template %d, %q: chat %q; %s", i, flags, list, diagnostics)
			}
			var all string
			for n := 1; n < len(list); n += 2 {
				if want := strings.TrimPrefix(said[n/2], "/"); list[n].Role != "user" || list[n].Content != want {
					t.Errorf("message %d is %q, want %q", n, list[n], want)
				}
				text, err := json.Marshal(list[:n+1])
				testenv.Need(t, err)
				before := write(t, filepath.Join(t.TempDir(), "before.json"), text)
				code, want, stderr := call(append([]string{"generate", dir, "--messages", before}, flags...)...)
				if got := list[n+1]; code != exitDone || got.Role != "assistant" || got.Content != strings.TrimSuffix(want, "\n") {
					t.Errorf("template %d, %q: answer %d is %q, want %q; %s", i, flags, n/2, got.Content, want, stderr)
				}
				all += want
			}
			if out != all {
				t.Errorf("template %d, %q: %q, want %q", i, flags, out, all)
			}
		}
	}
}

// TestChatCommands resets chats, goes on with saved ones and meets errors.
func TestChatCommands(t *testing.T) {
	dir := chatFolder(t, chatTemplates[0])
	ten := []string{dir, "--max-tokens", "10"}
	first, _, err := talk("Hi\n", ten...)
	testenv.Need(t, err)
	if out, _, err := talk("  Hi \r\n/reset\nHi\n", ten...); err != nil || out != first+first {
		t.Errorf("after a reset %q, want %q twice; %v", out, first, err)
	}
	if _, stderr, err := talk("/help\n", ten...); err != nil || !strings.Contains(stderr, "/save FILE") ||
		!strings.Contains(stderr, "//TEXT") {
		t.Errorf("help: %q, %v", stderr, err)
	}
	file := filepath.Join(t.TempDir(), "chat.json")
	whole, _, err := talk("Hi\n/save "+file+"\nMore?\n", ten...)
	testenv.Need(t, err)
	if out, _, err := talk("More?\n", append(ten, "--messages", file)...); err != nil || first+out != whole {
		t.Errorf("a saved chat goes on with %q, want the rest of %q; %v", out, whole, err)
	}
	none := decoderFolder(t, nil)
	untemplated := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t)})
	for _, tt := range []struct {
		stdin string
		args  []string
		text  string
	}{
		{"/save\n", ten, `/save: the form of the command is "/save FILE"`},
		{"/reset now\n", ten, `the form of the command is "/reset"`},
		{"/save x\n", ten, "no messages yet"},
		{"Hi\n/save " + dir + "\n", ten, dir},
		{"/etc\n", ten, "/etc: no such command; /help lists them, and //TEXT says /TEXT"},
		{"Hi\n", []string{dir, "--window", "12"}, "the window"},
		{"Hi\n", []string{dir}, "generation has no end"},
		{"Hi\n", []string{none}, "no tokenizer"},
		{"Hi\n", []string{untemplated}, "without a chat template"},
		{"Hi\n", append(ten, "--messages", filepath.Join(dir, "config.json")), "no such file"},
		{"Hi\n", append(ten, "--system", "a", "--messages", file), "system messages"},
		{"Hi\n", append(ten, "--top-p", "7"), "TopP is 7"},
	} {
		if out, stderr, err := talk(tt.stdin, tt.args...); err == nil || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%q, %q: %q, %q, %v; want %q", tt.stdin, tt.args, out, stderr, err, tt.text)
		}
	}
	if out, stderr, err := talk("Hi\n", dir, "--window", "30"); err != nil || len(out) == 0 ||
		!strings.Contains(stderr, "ended by window full") {
		t.Errorf("up to the window: %q, %q, %v", out, stderr, err)
	}
}

// TestChatKeeps counts the runs of an answer, of one token each. Where the template's text goes on
// behind the last answer, only the new text is computed; all is where it differs from the first token
// on.
func TestChatKeeps(t *testing.T) {
	for i, template := range chatTemplates {
		dir := chatFolder(t, template)
		m, err := nacre.Open(filepath.Join(dir, "model.onnx"))
		testenv.Need(t, err)
		defer m.Close()
		s, err := m.NewSession(nacre.Options{Threads: 1})
		testenv.Need(t, err)
		defer s.Close()
		text, err := tokenizer.Load(dir)
		testenv.Need(t, err)
		g, err := generate.New(t.Context(), s, generate.Options{Tokenizer: text, Chunk: 1})
		testenv.Need(t, err)
		letters := map[int32]float32{}
		for id := range int32(256) {
			if id < 'a' || id > 'z' {
				letters[id] = float32(math.Inf(-1))
			}
		}
		stops := newStops()
		defer stops.close()
		c := &chat{generator: g, tokenizer: text, stops: stops, w: writer{stdout: &bytes.Buffer{}, text: text}, stderr: &bytes.Buffer{},
			sampling: generate.Sampling{MaxTokens: 5, Bias: letters}}
		defer c.forget()
		var computed []int
		for _, said := range []string{"one", "two", "three"} {
			before := s.Stats().Runs
			testenv.Need(t, c.answer(t.Context(), said))
			computed = append(computed, s.Stats().Runs-before)
		}
		// The first turn is <user>one\n<assistant>; later ones add \n<user>two\n<assistant>. An answer takes
		// four runs more, and its last token one of the next turn.
		want := [][]int{{21 + 4, 22 + 5, 24 + 5}, {21 + 4, 46 + 4, 73 + 4}, {20 + 4, 23 + 4, 25 + 4}}[i]
		if !slices.Equal(computed, want) {
			t.Errorf("template %d: %v runs, want %v; chat %q", i, computed, want, c.messages)
		}
	}
}

// chatting is an environment variable with the folder that TestChatSignals has its child process
// chat with.
const chatting = "NACRE_TEST_CHATTING"

// TestChatSignals interrupts an answer, which the chat goes on from, and then the chat at its prompt.
func TestChatSignals(t *testing.T) {
	if dir := os.Getenv(chatting); dir != "" {
		endOnSignals()
		os.Exit(run(context.Background(), []string{"chat", dir, "--max-tokens", "10000000", "--threads", "1"}, os.Stdout, os.Stderr))
	}
	file := filepath.Join(t.TempDir(), "chat.json")
	child := exec.Command(os.Args[0], "-test.run=^TestChatSignals$")
	child.Env = append(os.Environ(), chatting+"="+chatFolder(t, chatTemplates[0]))
	stdin, err := child.StdinPipe()
	testenv.Need(t, err)
	out, diagnostics := &watched{}, &watched{}
	child.Stdout, child.Stderr = out, diagnostics
	testenv.Need(t, child.Start())
	ended := make(chan struct{})
	go func() { child.Wait(); close(ended) }()
	until := func(w *watched, done func(text string) bool) {
		t.Helper()
		for start := time.Now(); !done(w.String()); time.Sleep(5 * time.Millisecond) {
			select {
			case <-ended:
				t.Fatalf("the chat ended: %q, %q", out, diagnostics)
			default:
			}
			if time.Since(start) > time.Minute {
				t.Fatalf("%q, %q", out, diagnostics)
			}
		}
	}
	for turn := range 2 {
		before := len(out.String())
		fmt.Fprintf(stdin, "Turn %d\n", turn)
		until(out, func(text string) bool { return len(text) > before+20 })
		if err := child.Process.Signal(syscall.SIGINT); err != nil {
			testenv.Skip(t, "no signals here: ", err)
		}
		until(diagnostics, func(text string) bool { return strings.Count(text, "stopped\n") == turn+1 })
	}
	fmt.Fprintf(stdin, "/save %s\n", file)
	until(diagnostics, func(text string) bool { return strings.Contains(text, "saved") })
	list := savedChat(t, file)
	if len(list) != 4 || list[2].Content != "Turn 1" || out.String() != list[1].Content+"\n"+list[3].Content+"\n" {
		t.Errorf("%d messages; %d bytes of answers", len(list), len(out.String()))
	}
	testenv.Need(t, child.Process.Signal(syscall.SIGINT))
	<-ended
	if code := child.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d; %q", code, diagnostics)
	}
}
