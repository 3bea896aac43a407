package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/web"
)

// serving is an environment variable with the arguments that TestWebServes has its child process run.
const serving = "NACRE_TEST_SERVING"

// TestWebServes asks a server for the page, and ends it by a signal.
func TestWebServes(t *testing.T) {
	if args := os.Getenv(serving); args != "" {
		endOnSignals()
		os.Exit(run(context.Background(), strings.Split(args, " "), os.Stdout, os.Stderr))
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "index.html"), []byte("the page"))
	child := exec.Command(os.Args[0], "-test.run=^TestWebServes$")
	child.Env = append(os.Environ(), serving+"=web "+dir+" --listen 127.0.0.1:0 --voices "+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(strings.TrimSpace(url))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "the page" {
		t.Errorf("%s: %q (%v)", url, body, err)
	}
	if err := child.Process.Signal(syscall.SIGINT); err != nil {
		testenv.Skip(t, "no signals here: ", err)
	}
	_ = child.Wait() // the exit code says it
	if code := child.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
}

// TestWebRefuses checks the errors of arguments that do not fit.
func TestWebRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir, empty := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "index.html"), nil)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"web " + empty, exitFailed, "scripts/web.sh makes"},
		{"web " + empty + "/none", exitFailed, "none"},
		{"web " + dir + " --listen " + l.Addr().String(), exitFailed, "--listen"},
		{"web " + dir + " --voices " + empty + "/none", exitFailed, "--voices"},
		{"web " + dir + " " + dir, exitUsage, "the form is nacre web [DIR]"},
	} {
		if code, _, stderr := call(strings.Fields(c.args)...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %s", c.args, code, stderr)
		}
	}
	if _, ok := web.Built(); !ok {
		if code, _, stderr := call("web"); code != exitFailed || !strings.Contains(stderr, "nacre web build/web") {
			t.Errorf("no page: exit code %d, %s", code, stderr)
		}
	}
}

// TestInspectHTML writes a page with the picture of a model.
func TestInspectHTML(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.html")
	if code, _, stderr := call("inspect", filepath.Join("demo", "digits.onnx"), "--html", path); code != exitDone {
		t.Fatal(stderr)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>digits.onnx</title>", `"title":"`, "class Viewer"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in the page", want)
		}
	}
}
