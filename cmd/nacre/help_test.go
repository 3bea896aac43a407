package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// leastExamples is the least number of examples in the help of a command.
const leastExamples = 2

// TestHelp checks the help of every command: no line is wider than the terminal, unless it is one word,
// and there are examples, with flags that exist.
func TestHelp(t *testing.T) {
	root := rootCommand()
	for _, cmd := range append(root.Commands(), root) {
		args := append(strings.Fields(cmd.CommandPath())[1:], "--help")
		for _, width := range []int{0, 40, 80, 300} {
			t.Setenv("COLUMNS", strconv.Itoa(width))
			code, text, stderr := call(args...)
			if code != exitDone {
				t.Fatalf("%v: exit code %d, %s", args, code, stderr)
			}
			most := maxColumns
			if width > 0 {
				most = min(most, width)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\n")
				if uniseg.StringWidth(line) > most && len(quoted(strings.TrimSuffix(line, ` \`))) > 1 {
					t.Errorf("%v is wider than %d columns: %s", args, most, line)
				}
			}
		}
		checkExamples(t, root, cmd)
	}
}

// checkExamples checks the examples of a command.
func checkExamples(t *testing.T, root, cmd *cobra.Command) {
	t.Helper()
	lines := strings.Split(cmd.Example, "\n")
	if len(lines) < leastExamples {
		t.Errorf("%s has %d examples", cmd.CommandPath(), len(lines))
	}
	for _, line := range lines {
		words := quoted(line)
		if end := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == "&&" || w == "<" }); end >= 0 {
			words = words[:end]
		}
		if words[0] != "nacre" {
			t.Fatalf("%q does not begin with nacre", line)
		}
		of, _, err := root.Find(words[1:])
		if err != nil || cmd != root && of != cmd {
			t.Errorf("%q is an example of %v (%v), not of %s", line, of.Name(), err, cmd.Name())
			continue
		}
		for _, w := range words {
			name, _, _ := strings.Cut(strings.TrimPrefix(w, "--"), "=")
			if strings.HasPrefix(w, "--") && of.Flags().Lookup(name) == nil {
				t.Errorf("%q: %s has no flag --%s", line, of.Name(), name)
			}
		}
	}
}

// TestSubjects checks that flags in sections exist.
func TestSubjects(t *testing.T) {
	for _, s := range subjects {
		for _, name := range strings.Fields(s.flags) {
			if !slices.ContainsFunc(rootCommand().Commands(), func(c *cobra.Command) bool { return c.Flags().Lookup(name) != nil }) {
				t.Errorf("%s: no command has --%s", s.title, name)
			}
		}
	}
}

func TestMan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pages")
	code, out, stderr := call("man", dir)
	if code != exitDone {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "nacre-run.1"))
	if err != nil || !strings.Contains(string(page), `\fB--memory-limit\fP`) {
		t.Errorf("%v: %q", err, page)
	}
	list, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if want := len(rootCommand().Commands()) + 1; err != nil || len(list) != want {
		t.Errorf("%d pages, want %d (%v)", len(list), want, err)
	}
	if want := fmt.Sprintf("%d pages in %s; man %s shows the first\n", len(list), dir, filepath.Join(dir, "nacre.1")); out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestShells writes completions for shells, and refuses others.
func TestShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, stderr := call("completion", shell); code != exitDone || !strings.Contains(out, "nacre") {
			t.Errorf("%s: exit %d, %.80q, %q", shell, code, out, stderr)
		}
	}
	for _, args := range [][]string{{"completion", "tcsh"}, {"completion"}} {
		code, out, stderr := call(args...)
		if code != exitUsage || out != "" || !strings.Contains(stderr, "the argument is a shell, bash, fish, powershell, zsh") {
			t.Errorf("%q: exit %d, %.80q, %q", args, code, out, stderr)
		}
	}
}

// TestCompletions completes values. The last line of completions is :N, their directive.
func TestCompletions(t *testing.T) {
	const filter, folder, alone = ":8", ":16", ":4"
	for _, c := range []struct {
		args []string
		want []string // lines, or starts of lines before a tab
	}{
		{[]string{"run", ""}, []string{"onnx", "gguf", "safetensors", filter}},
		{[]string{"convert", ""}, []string{"onnx", filter}},
		{[]string{"convert", "model.onnx", ""}, []string{":0"}},
		{[]string{"run", "model.onnx", ""}, []string{alone}},
		{[]string{"demo", ""}, []string{"png", "jpg", filter}},
		{[]string{"conformance", ""}, []string{folder}},
		{[]string{"run", "--out", ""}, []string{folder}},
		{[]string{"run", "--weights", ""}, []string{"hnw", filter}},
		{[]string{"emit", "--weights", ""}, []string{"inline", "placeholder", "archive", alone}},
		{[]string{"quantize", "--to", ""}, []string{"q4_k_m", "int8", alone}},
		{[]string{"convert", "--to", ""}, []string{"huggingface", "gguf", alone}},
		{[]string{"bench", "--isa", ""}, []string{"scalar", alone}},
		{[]string{"plan", "--device", ""}, []string{"cpu", "auto", alone}},
		{[]string{"plan", "--image-fit", ""}, []string{"letterbox", alone}},
		{[]string{"run", digits, "--input", ""}, []string{"image=", ":6"}},
		{[]string{"run", digits, "--input", "image=demo/dig"}, []string{"image=" + digits, ":6"}},
		{[]string{"run", "no model", "--input", ""}, []string{":6"}},
		{[]string{"bench", digits, "--dim", ""}, []string{"batch=", ":6"}},
		{[]string{"bench", digits, "--node", ""}, []string{alone}},
	} {
		code, out, stderr := call(append([]string{"__complete"}, c.args...)...)
		var got []string
		for line := range strings.Lines(out) {
			value, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, value)
		}
		for _, w := range c.want {
			if code != exitDone || !slices.Contains(got, w) {
				t.Errorf("%q: exit code %d, %q lacks %q: %s", c.args, code, got, w, stderr)
			}
		}
	}
	list, _ := operatorNames(nil, nil, "")
	if !slices.Contains(list, "Conv") || !slices.IsSorted(list) {
		t.Errorf("operators %q", list)
	}
}
