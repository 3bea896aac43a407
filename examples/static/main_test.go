package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

func TestRead(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if digit, probability, err := read(bytes.NewReader(picture(t))); err != nil || digit != 7 || probability < 0.9 {
		t.Errorf("%d, %v, %v; want 7", digit, probability, err)
	}
	if _, _, err := read(strings.NewReader("no picture")); err == nil {
		t.Error("no error for what is no picture")
	}
}

func picture(t *testing.T) []byte {
	data, err := os.ReadFile(filepath.Join(testenv.Root(t), "cmd", "nacre", "demo", "pictures", "7-a.png"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestBuilds builds the program by the first two lines of its documentation, and runs what this
// system runs.
func TestBuilds(t *testing.T) {
	if !testenv.Complete() || runtime.GOOS != "linux" {
		t.Skip("two builds of the program")
	}
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^//\t(.*go build.*) \./examples/static$`).FindAllSubmatch(source, -1)
	if len(lines) != 3 {
		t.Fatalf("main.go has %d lines that build", len(lines))
	}
	for i, want := range []string{"linux", "windows"} {
		program := filepath.Join(t.TempDir(), "static")
		if out, err := exec.Command("sh", "-c", string(lines[i][1])+` -o "$0" .`, program).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", lines[i][1], err, out)
		}
		if want != "linux" {
			continue
		}
		f, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("the program needs %v, %v", libraries, err)
		}
		f.Close()
		run := exec.Command(program)
		run.Stdin = bytes.NewReader(picture(t))
		if out, err := run.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "7, with probability ") {
			t.Errorf("%q, %v", out, err)
		}
	}
}
