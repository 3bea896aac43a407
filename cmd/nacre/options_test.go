package main

import (
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestInFlags checks that errors name flags in place of options.
func TestInFlags(t *testing.T) {
	for _, c := range []struct{ command, message, want string }{
		{"run", "option Threads is -1; it must not be negative", "--threads is -1; it must not be negative"},
		{"run", "1 byte is left; the option MemoryLimit sets it", "1 byte is left; --memory-limit sets it"},
		{"generate", "option Lowering.Context is -1", "--context is -1"},
		{"generate", "text needs a tokenizer; set Options.Tokenizer", "text needs a tokenizer; set --tokenizer"},
		{"speak", "options Precision and Reference are for voices", "--precision and --reference are for voices"},
		{"speak", "it takes Noise and NoiseW", "it takes --noise and --noise-w"},
		{"run", "options Mean and Std have 1 or 3 numbers here", "--image-mean and --image-std have 1 or 3 numbers here"},
		{"run", "option Outputs has a name twice", "option Outputs has a name twice"},
		{"version", "option Threads is -1", "option Threads is -1"},
	} {
		cmd, _, err := rootCommand().Find([]string{c.command})
		if err != nil {
			t.Fatal(err)
		}
		if got := inFlags(cmd, graph.Errorf(graph.ErrOption, "%s", c.message)); got != c.want {
			t.Errorf("%s: %q, want %q", c.message, got, c.want)
		}
	}
	err := graph.Errorf(graph.ErrMemory, "it takes 12582912 bytes, and 7 bytes are left")
	if got, want := inFlags(rootCommand(), err), "it takes 12 MiB, and 7 B are left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	code, _, stderr := call("run", digits, "--threads", "-1", "--context", "-1")
	if want := "nacre: --threads is -1; it must not be negative\n--context is -1; it must not be negative\n"; code != exitUsage ||
		!strings.HasPrefix(stderr, want) {
		t.Errorf("exit code %d, %q, want %q", code, stderr, want)
	}
}
