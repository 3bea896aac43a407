package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// generating is an environment variable with the arguments that TestGenerateSignals has its child
// process run.
const generating = "NACRE_TEST_GENERATING"

// TestGenerateSignals ends a process that generates. The text ends with a line break, the speeds
// follow, and the exit code is the signal's.
func TestGenerateSignals(t *testing.T) {
	if args := os.Getenv(generating); args != "" {
		endOnSignals()
		os.Exit(run(context.Background(), strings.Split(args, " "), os.Stdout, os.Stderr))
	}
	dir := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t)})
	call := "generate " + dir + " --tokens 72,105 --max-tokens 10000000 --threads 1"
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, extra := range []string{"", " --json", " --count 2"} {
			child := exec.Command(os.Args[0], "-test.run=^TestGenerateSignals$")
			child.Env = append(os.Environ(), generating+"="+call+extra)
			var stdout, stderr bytes.Buffer
			speeds := &firstLine{w: &stderr, done: make(chan struct{})}
			child.Stdout, child.Stderr = &stdout, speeds
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { child.Wait(); close(ended) }()
			select {
			case <-speeds.done: // the prompt is computed now
			case <-ended:
				t.Fatalf("the child ended, %s", stderr.String())
			}
			if err := child.Process.Signal(signal); err != nil {
				testenv.Skip(t, "no signals here: ", err)
			}
			<-ended
			if code := child.ProcessState.ExitCode(); code != 128+int(signal) {
				t.Errorf("%v%s: exit code %d, %s", signal, extra, code, stderr.String())
			}
			if !regexp.MustCompile(`^prompt: 2 tokens in .*\ngenerated: (0 tokens|[1-9].* tokens/s); ended by ` + signal.String() + "\n$").MatchString(stderr.String()) {
				t.Errorf("%v%s: standard error is %q", signal, extra, stderr.String())
			}
			var c continuation
			switch out := stdout.String(); {
			case extra == " --json":
				if err := json.Unmarshal(stdout.Bytes(), &c); err != nil || c.Text == nil || c.Reason != signal.String() {
					t.Errorf("%v: %q, %v", signal, out, err)
				}
			case !strings.HasSuffix(out, "\n") && !strings.Contains(stderr.String(), "generated: 0 tokens"):
				t.Errorf("%v%s: the text is %q", signal, extra, out)
			}
		}
	}
}

// firstLine passes text on to w, and closes done after the first line.
type firstLine struct {
	w    *bytes.Buffer
	done chan struct{}
	once bool
}

func (f *firstLine) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if !f.once && bytes.ContainsRune(f.w.Bytes(), '\n') {
		f.once = true
		close(f.done)
	}
	return n, err
}
