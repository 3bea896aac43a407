package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// full is a device without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestFullOutput runs every command that prints results into a full device.
func TestFullOutput(t *testing.T) {
	folder := t.TempDir()
	testFolder(t, folder)
	cases := filepath.Join(folder, "cases")
	for _, args := range [][]string{
		{"--help"},
		{"version"},
		{"formats"},
		{"devices"},
		{"inspect", digits},
		{"inspect", digits, "--json"},
		{"verify", digits},
		{"run", digits, "--plan"},
		{"run", digits, "--test-data", filepath.Join(cases, "right")},
		{"conformance", cases, "--run", "^right$"},
		{"conformance", cases, "--list"},
		{"bench", digits, "--count", "1"},
		{"demo"},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), folder, "DIR"), func(t *testing.T) {
			if code, stdout, stderr := call(args...); code != exitDone || stdout == "" {
				t.Fatalf("exit code %d, prints %q, %s", code, stdout, stderr)
			}
			var stderr bytes.Buffer
			if code := run(args, full{}, &stderr); code != exitFailed || !strings.Contains(stderr.String(), syscall.ENOSPC.Error()) {
				t.Errorf("exit code %d, %q", code, stderr.String())
			}
		})
	}
}

// unfinished names the file that TestSignals has its child process write.
const unfinished = "NACRE_TEST_UNFINISHED"

// TestSignals ends a process that writes a file.
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
		select {}
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		path := filepath.Join(t.TempDir(), "model.onnx")
		child := exec.Command(os.Args[0], "-test.run=^TestSignals$")
		child.Env = append(os.Environ(), unfinished+"="+path)
		out, err := child.StdoutPipe()
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
		if err := child.Process.Signal(signal); err != nil {
			testenv.Skip(t, "no signals here: ", err)
		}
		child.Wait()
		if code := child.ProcessState.ExitCode(); code != 128+int(signal) {
			t.Errorf("%v: exit code %d", signal, code)
		}
		if entries, err := os.ReadDir(filepath.Dir(path)); len(entries) != 0 {
			t.Errorf("%v leaves %v, %v", signal, entries, err)
		}
	}
}
