package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// full is a device without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullOutput runs every command that prints results into a full device.
func TestFullOutput(t *testing.T) {
	folder := t.TempDir()
	testFolder(t, folder)
	cases := filepath.Join(folder, "cases")
	for _, args := range [][]string{
		{"--help"},
		{"--version"},
		{"version"},
		{"formats"},
		{"devices"},
		{"inspect", digits},
		{"inspect", digits, "--json"},
		{"verify", digits},
		{"plan", digits},
		{"run", digits, "--test-data", filepath.Join(cases, "right")},
		{"conformance", cases, "--run", "^right$"},
		{"conformance", cases, "--list"},
		{"bench", digits, "--count", "1"},
		{"profile", digits, "--count", "1"},
		{"inspect", digits, "--nodes"},
		{"inspect", digits, "--layers"},
		{"demo"},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), folder, "DIR"), func(t *testing.T) {
			if code, stdout, stderr := call(args...); code != exitDone || stdout == "" {
				t.Fatalf("exit code %d, prints %q, %s", code, stdout, stderr)
			}
			var stderr bytes.Buffer
			if code := run(context.Background(), args, full{}, &stderr); code != exitFailed ||
				!strings.Contains(stderr.String(), syscall.ENOSPC.Error()) {
				t.Errorf("exit code %d, %q", code, stderr.String())
			}
		})
	}
}

// TestClosedReader writes to a pipe without a reader. The exit code is SIGPIPE's.
func TestClosedReader(t *testing.T) {
	want := exitCode(syscall.SIGPIPE)
	var stderr bytes.Buffer
	if code := run(context.Background(), []string{"formats"}, goneWriter{}, &stderr); code != want || stderr.Len() > 0 {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), calling+"=formats")
	child.Stdout, child.Stderr = w, &stderr
	if err := child.Run(); err == nil || child.ProcessState.ExitCode() != want && filepath.Separator == '/' ||
		stderr.Len() > 0 {
		t.Errorf("a process: %v, %q", err, stderr.String())
	}
}

// goneWriter is a pipe without a reader.
type goneWriter struct{}

func (goneWriter) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "pipe", Err: syscall.EPIPE}
}

// calling is an environment variable with the arguments that TestChild runs the command with.
const calling = "NACRE_TEST_CALLING"

// TestChild is the child process of the tests below.
func TestChild(t *testing.T) {
	if args := os.Getenv(calling); args != "" {
		endOnSignals()
		os.Exit(run(context.Background(), strings.Split(args, " "), os.Stdout, os.Stderr))
	}
}

// shell runs a line of sh and returns its standard error. $NACRE is the command.
func shell(t *testing.T, line string) string {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		testenv.Skip(t, "no sh here")
	}
	c := exec.Command(sh, "-c", line)
	c.Env = append(os.Environ(), "NACRE="+os.Args[0]+" -test.run=^TestChild$")
	var said bytes.Buffer
	c.Stderr = &said
	if err := c.Run(); err != nil && c.ProcessState == nil {
		t.Fatal(err)
	}
	return said.String()
}

// TestStandardOutput runs commands with standard output closed or full, and one that does not write
// to it.
func TestStandardOutput(t *testing.T) {
	testenv.Need(t, bindings.Available())
	folder := t.TempDir()
	there := filepath.Join(folder, "there.onnx")
	for _, c := range []struct {
		args, output string
		code         int
		says         string
	}{
		{"formats", ">&-", exitFailed, "nacre: standard output: file already closed\n"},
		{"inspect " + digits + " --json", ">&-", exitFailed, "nacre: standard output: file already closed\n"},
		{"convert " + digits + " " + there, ">&-", exitDone, ""},
		{"formats", ">/dev/null", exitDone, ""},
		{"formats", "1<>/dev/null", exitDone, ""},
		{"formats", ">/dev/full", exitFailed, "no space left on device"},
	} {
		if _, err := os.Stat("/dev/full"); err != nil && strings.Contains(c.output, "full") {
			continue
		}
		said := shell(t, calling+"='"+c.args+"' $NACRE "+c.output+"; echo code $? >&2")
		want := fmt.Sprintf("code %d\n", c.code)
		if !strings.HasSuffix(said, want) || !strings.Contains(said, c.says) ||
			c.says == "" && strings.Contains(said, "nacre: ") {
			t.Errorf("nacre %s %s: %q, want %q and %q", c.args, c.output, said, c.says, want)
		}
	}
}

// unfinished is an environment variable with the path of the file that TestSignals has its child
// process write.
const unfinished = "NACRE_TEST_UNFINISHED"

// TestSignals ends a process that writes a file, by signals and by closing the pipe that it writes
// to.
func TestSignals(t *testing.T) {
	if path := os.Getenv(unfinished); path != "" {
		endOnSignals()
		f, err := output.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		fmt.Println("written")
		_, _ = io.Copy(io.Discard, os.Stdin)
		_, _ = (&results{w: os.Stdout}).Write([]byte("more"))
		select {}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGPIPE} {
		if signal.Ignored(sig) {
			continue // as under nohup: the child inherits it, and goes on
		}
		path := filepath.Join(t.TempDir(), "model.onnx")
		child := exec.Command(os.Args[0], "-test.run=^TestSignals$")
		child.Env = append(os.Environ(), unfinished+"="+path)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "written\n" {
			t.Fatalf("the child says %q, %v", line, err)
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
			t.Fatalf("%d files are being written, %v", len(entries), err)
		}
		if sig == syscall.SIGPIPE {
			err = errors.Join(out.Close(), in.Close())
		} else {
			err = child.Process.Signal(sig)
		}
		if err != nil {
			testenv.Skip(t, "no signals here: ", err)
		}
		child.Wait()
		if code := child.ProcessState.ExitCode(); code != 128+int(sig) {
			t.Errorf("%v: exit code %d", sig, code)
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
			t.Errorf("%v leaves %v, %v", sig, entries, err)
		}
	}
}

// TestIgnoredSignals checks that signals ignored at the start do not end the command.
func TestIgnoredSignals(t *testing.T) {
	dir := decoderFolder(t, nil)
	// The command generates until the last signal, and ends with its exit code.
	said := shell(t, `trap "" HUP INT
`+calling+`="generate `+dir+` --tokens 1 --max-tokens 10000000 --threads 1" $NACRE >/dev/null &
sleep 0.3; kill -HUP $!; kill -INT $!; sleep 0.3; kill -TERM $!; wait $!; echo code $? >&2`)
	if want := fmt.Sprintf("code %d\n", 128+int(syscall.SIGTERM)); !strings.HasSuffix(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}
