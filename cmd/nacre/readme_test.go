package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks are the parts of README.md that are printed, not written: what stands
// between the lines "<!-- NAME -->" and "<!-- end -->".
var blocks = map[string]func(t *testing.T) string{
	"example":     exampleBlock,
	"operator":    customBlock,
	"commands":    commandsBlock,
	"conformance": conformanceBlock,
	"operators":   operatorsBlock,
	"formats":     formatsBlock,
}

// TestREADME compares the printed parts of README.md with what is printed now.
func TestREADME(t *testing.T) {
	path := filepath.Join("..", "..", "README.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for name, print := range blocks {
		block := regexp.MustCompile(`(?s)<!-- ` + name + ` -->\n.*?<!-- end -->`)
		if n := len(block.FindAllString(text, -1)); n != 1 {
			t.Errorf("README.md has %d blocks named %s", n, name)
			continue
		}
		want := "<!-- " + name + " -->\n" + print(t) + "<!-- end -->"
		if !*update && block.FindString(text) != want {
			t.Errorf("block %s of README.md is out of date (go test ./cmd/nacre -run README -update prints it anew)", name)
		}
		text = block.ReplaceAllLiteralString(text, want)
	}
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// exampleBlock is the function Example, which the tests of the root run.
func exampleBlock(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join("..", "..", "example_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(data), "func Example() {\n")
	code, _, ok := strings.Cut(code, "\t// Output:")
	if !ok {
		t.Fatal("example_test.go has no function Example with an output")
	}
	return "```go\n" + strings.ReplaceAll("\n"+strings.TrimSuffix(code, "\n"), "\n\t", "\n")[1:] + "\n```\n"
}

// customBlock is the example of an operator that a program brings.
func customBlock(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join("..", "..", "example_custom_op_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(data), "// snake is")
	kind, rest, found := strings.Cut(code, "// A program brings")
	_, body, start := strings.Cut(rest, "\tdefer model.Close()\n")
	use, _, end := strings.Cut(body, "\tx, err :=")
	if !found || !start || !end {
		t.Fatal("example_custom_op_test.go is not laid out as the README shows it")
	}
	return "```go\n// snake is" + kind + strings.ReplaceAll("\n"+strings.TrimSuffix(use, "\n"), "\n\t", "\n")[1:] + "\n```\n"
}

func commandsBlock(t *testing.T) string {
	code, out, stderr := call("--help")
	_, list, ok := strings.Cut(out, "Available Commands:\n")
	list, _, end := strings.Cut(list, "\n\n")
	if code != 0 || !ok || !end {
		t.Fatalf("nacre --help: %d, %s", code, stderr)
	}
	return "```\n" + list + "\n```\n"
}

func operatorsBlock(t *testing.T) string {
	code, out, stderr := call("devices", "--ops", "--markdown")
	if code != 0 {
		t.Fatalf("nacre devices --ops --markdown: %d, %s", code, stderr)
	}
	return "\n" + out + "\n"
}

func formatsBlock(t *testing.T) string {
	code, out, stderr := call("formats", "--markdown")
	if code != 0 {
		t.Fatalf("nacre formats --markdown: %d, %s", code, stderr)
	}
	return "\n" + out + "\n"
}

// conformanceBlock counts the list that TestConformance guards, by suite.
func conformanceBlock(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join("testdata", "conformance.txt"))
	if err != nil {
		t.Fatal(err)
	}
	passed := map[string]int{}
	for _, name := range strings.Fields(string(data)) {
		suite, _, _ := strings.Cut(name, "/")
		passed[suite]++
	}
	var b strings.Builder
	b.WriteString("\n| suite | pass | of |\n|---|---|---|\n")
	total, all := 0, 0
	for _, s := range []struct {
		name string
		of   int
	}{{"node", 1765}, {"simple", 23}, {"pytorch-converted", 82}, {"pytorch-operator", 35}, {"light", 9}} {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", s.name, passed[s.name], s.of)
		total, all = total+passed[s.name], all+s.of
	}
	fmt.Fprintf(&b, "| **together** | **%d** | **%d** |\n\n", total, all)
	return b.String()
}
