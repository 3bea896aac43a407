package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestGenerateREADME runs the command of README.md that generates a text.
func TestGenerateREADME(t *testing.T) {
	testenv.Need(t, bindings.Available())
	shown := regexp.MustCompile(`\n    \$ nacre generate (\S+) --prompt "([^"]*)" --max-tokens (\d+)\n    (.*\n)`).
		FindStringSubmatch(string(read(t, filepath.Join("..", "..", "README.md"))))
	if shown == nil {
		t.Fatal("README.md shows no command that generates a text")
	}
	file := filepath.Join(testenv.Root(t), ".cache", "gguf", shown[1])
	if _, err := os.Stat(file); err != nil {
		testenv.SkipSamples(t, "no ", file, ": scripts/fetch-networks.sh gguf fetches it")
	}
	code, got, stderr := call("generate", file, "--prompt", shown[2], "--max-tokens", shown[3])
	if code != exitDone || got != shown[4] {
		t.Errorf("exit %d: %q, want %q; %s", code, got, shown[4], stderr)
	}
}
