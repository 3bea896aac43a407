package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	measured "github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/chelis"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
)

// pages lists the pages with printed blocks, and the functions that print a block. A block is the
// text between the lines "<!-- NAME -->" and "<!-- end -->".
var pages = map[string]map[string]func(t *testing.T) string{
	"README.md":    {"hello": helloBlock, "commands": commandsBlock, "scores": scoresBlock, "speed": speedBlock, "blocks": blocksBlock},
	"OPERATORS.md": {"operators": operatorsBlock, "operator": customBlock, "kernels": peerBlock},
	"FORMATS.md":   {"formats": formatsBlock, "limits": limitsBlock, "emitted": emittedBlock},
	"SERVING.md":   {"serving": servingBlock, "generation": generationBlock},
	"WEB.md":       {"node": nodeBlock},
	"NETWORKS.md":  {"conformance": conformanceBlock},
}

// maxREADME is the most lines of README.md.
const maxREADME = 240

// TestPages compares the blocks of pages with newly printed ones.
func TestPages(t *testing.T) {
	for page, blocks := range pages {
		path := filepath.Join("..", "..", page)
		text := string(read(t, path))
		for name, print := range blocks {
			block := regexp.MustCompile(`(?s)<!-- ` + name + ` -->\n.*?<!-- end -->`)
			if n := len(block.FindAllString(text, -1)); n != 1 {
				t.Errorf("%s has %d blocks named %s", page, n, name)
				continue
			}
			want := "<!-- " + name + " -->\n" + print(t) + "<!-- end -->"
			if !*update && block.FindString(text) != want {
				t.Errorf("block %s of %s is out of date (go test ./cmd/nacre -run Pages -update prints it anew)", name, page)
			}
			text = block.ReplaceAllLiteralString(text, want)
		}
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(text, "\n"); page == "README.md" && n > maxREADME {
			t.Errorf("README.md has %d lines, more than %d", n, maxREADME)
		}
	}
}

// helloBlock returns a whole program, without its documentation.
func helloBlock(t *testing.T) string {
	_, code, ok := strings.Cut(string(read(t, filepath.Join("..", "..", "examples", "hello", "main.go"))), "\npackage main\n")
	if !ok {
		t.Fatal("examples/hello is no program")
	}
	return "```go\npackage main\n" + code + "```\n"
}

// servingBlock returns the example of a session that many goroutines use.
func servingBlock(t *testing.T) string {
	return example(t, "example_program_test.go", "Example_callers")
}

// generationBlock returns the loop of the example of a stream.
func generationBlock(t *testing.T) string {
	all := example(t, "example_program_test.go", "Example_tokens")
	_, code, ok := strings.Cut(all, "defer session.Close()\n")
	if !ok {
		t.Fatal("Example_tokens is not laid out as README.md shows it")
	}
	return "```go\n" + code
}

// example returns the body of an example of the root, without its output.
func example(t *testing.T, file, function string) string {
	t.Helper()
	_, code, _ := strings.Cut(string(read(t, filepath.Join("..", "..", file))), "func "+function+"() {\n")
	code, _, ok := strings.Cut(code, "\t// Output:")
	if !ok {
		t.Fatalf("%s has no function %s with an output", file, function)
	}
	return "```go\n" + strings.ReplaceAll("\n"+strings.TrimSuffix(code, "\n"), "\n\t", "\n")[1:] + "\n```\n"
}

// customBlock returns the example of an operator that a program defines.
func customBlock(t *testing.T) string {
	_, code, _ := strings.Cut(string(read(t, filepath.Join("..", "..", "example_custom_op_test.go"))), "// snake is")
	kind, rest, found := strings.Cut(code, "// A program brings")
	_, body, start := strings.Cut(rest, "\tdefer model.Close()\n")
	use, _, end := strings.Cut(body, "\tx, err :=")
	if !found || !start || !end {
		t.Fatal("example_custom_op_test.go is not laid out as OPERATORS.md shows it")
	}
	return "```go\n// snake is" + kind + strings.ReplaceAll("\n"+strings.TrimSuffix(use, "\n"), "\n\t", "\n")[1:] + "\n```\n"
}

func commandsBlock(t *testing.T) string {
	code, out, stderr := call("--help")
	_, list, ok := strings.Cut(out, "\nCommands:\n")
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

// limitsBlock returns the table of bounds that readers set on files.
func limitsBlock(*testing.T) string {
	var b strings.Builder
	b.WriteString("\n| format | what | most |\n|---|---|---|\n")
	spare := formats.ReaderBytes(0)
	fmt.Fprintf(&b, "| all | memory beside the file, in bytes | %d and %d for each byte of the file |\n", spare, formats.ReaderBytes(1)-spare)
	for _, f := range formats.Formats {
		for _, bound := range f.Bounds {
			fmt.Fprintf(&b, "| %s | %s | %d |\n", f.Name, bound.What, bound.Most)
		}
	}
	for _, bound := range tokenizer.Bounds() {
		fmt.Fprintf(&b, "| %s | %s | %d", bound.Of, bound.What, bound.Most)
		if bound.Each > 0 {
			fmt.Fprintf(&b, " and %d for each byte of the file or the text", bound.Each)
		}
		b.WriteString(" |\n")
	}
	fmt.Fprintf(&b, "| settings of generation | bytes of a file | %d |\n", generate.MaxSettings)
	return b.String() + "\n"
}

// emittedBlock lists the operators that modules of Chelis can have.
func emittedBlock(t *testing.T) string {
	list := chelis.Operators()
	if len(list) == 0 {
		t.Fatal("no operator can be emitted")
	}
	var b strings.Builder
	line := ""
	for i, name := range list {
		if i < len(list)-1 {
			name += ","
		}
		if len(line)+1+len(name) > 130 {
			b.WriteString(line + "\n")
			line = ""
		}
		line = strings.TrimSpace(line + " " + name)
	}
	return "\n" + b.String() + line + ".\n\n"
}

// suites lists the official suites with the numbers of their models.
var suites = []struct {
	name string
	of   int
}{{"node", 1765}, {"simple", 23}, {"pytorch-converted", 82}, {"pytorch-operator", 35}, {"light", 9}}

// passing counts the cases in the list of TestConformance, by suite.
func passing(t *testing.T) map[string]int {
	passed := map[string]int{}
	for _, name := range strings.Fields(string(read(t, filepath.Join("testdata", "conformance.txt")))) {
		suite, _, _ := strings.Cut(name, "/")
		passed[suite]++
	}
	return passed
}

func conformanceBlock(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n| suite | pass | of |\n|---|---|---|\n")
	total, all := 0, 0
	for _, s := range suites {
		n := passing(t)[s.name]
		fmt.Fprintf(&b, "| %s | %d | %d |\n", s.name, n, s.of)
		total, all = total+n, all+s.of
	}
	fmt.Fprintf(&b, "| **together** | **%d** | **%d** |\n\n", total, all)
	return b.String()
}

// scoresBlock summarises the official tests and the networks of other pages.
func scoresBlock(t *testing.T) string {
	total, all := 0, 0
	for _, s := range suites {
		total, all = total+passing(t)[s.name], all+s.of
	}
	alike, differ := verdicts(string(read(t, filepath.Join("..", "..", "NETWORKS.md"))))
	return fmt.Sprintf("%d of %d official tests of ONNX 1.22.0 pass. %d of %d networks of others agree with ONNX Runtime.\n", total, all, alike, alike+differ)
}

// speedBlock returns the networks in the newest results of bench.
func speedBlock(t *testing.T) string {
	path, err := measured.Newest(filepath.Join("..", "..", "bench", "results"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := measured.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	return fmt.Sprintf("Speed on one thread and two, ONNX Runtime = 1, best runs; above 1 Nacre is faster. `make bench-peers` [measured](bench/results/%s.txt) it on "+
		"an %s with %d cores, at a load of %.1f (two-thread results are kept only at a load below 3); it times products beside oneDNN and OpenBLAS, too, and `ARGS='-quick -run networks/'` chooses.\n\n%s",
		name, r.CPU, r.Cores, max(r.Load[0], r.Load[1]), r.Markdown())
}

// blocksBlock returns the models in the newest results of scripts/bench-gguf.sh.
func blocksBlock(t *testing.T) string {
	list, err := filepath.Glob(filepath.Join("..", "..", "bench", "results", "*-gguf.txt"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no results of models of GGUF: %v", err)
	}
	path := slices.Max(list)
	lines := strings.Split(strings.TrimSpace(string(read(t, path))), "\n")
	const prompt, generated = 4, 7 // columns of ratios
	var b strings.Builder
	fmt.Fprintf(&b, "Tokens a second over the rates of llama.cpp on the same GGUF file, with `--accuracy fast` (exact); above 1 Nacre is faster. "+
		"`scripts/bench-gguf.sh` [measured](bench/results/%s) it on an %s.\n\n", filepath.Base(path), lines[0])
	names, rates := "| |", [2]string{"| prompt |", "| generation |"}
	for i := 2; i+1 < len(lines); i += 2 {
		exact, fast := strings.Fields(lines[i]), strings.Fields(lines[i+1])
		if len(exact) <= generated || len(fast) <= generated || exact[1] != "exact" || fast[1] != "fast" {
			t.Fatalf("%s: %q and %q are not the rates of a model", path, lines[i], lines[i+1])
		}
		names += " " + strings.TrimSuffix(exact[0], ".gguf") + " |"
		for j, column := range []int{prompt, generated} {
			rates[j] += fmt.Sprintf(" %s (%s) |", fast[column], exact[column])
		}
	}
	fmt.Fprintf(&b, "%s\n%s\n%s\n%s\n", names, strings.Repeat("|---", strings.Count(names, "|")-1)+"|", rates[0], rates[1])
	return b.String()
}

// nodeBlock returns the networks in the newest results of scripts/bench-node.sh.
func nodeBlock(t *testing.T) string {
	list, err := filepath.Glob(filepath.Join("..", "..", "bench", "results", "*-node.json"))
	if err != nil || len(list) == 0 {
		t.Fatalf("no results in Node: %v", err)
	}
	path := slices.Max(list)
	r, err := measured.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Speed on one thread over %s, both in %s; above 1 Nacre is faster. `scripts/bench-node.sh` "+
		"[measured](bench/results/%s.txt) it on an %s.\n\n| network | best runs | medians |\n|---|---|---|\n",
		r.Peers[0], strings.TrimSuffix(r.Peers[1], ", which runs both as WebAssembly"),
		strings.TrimSuffix(filepath.Base(path), ".json"), r.CPU)
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "| %s | %.2f | %.2f |\n", row.Name, row.Best(), row.Median())
	}
	return b.String()
}

// verdicts counts the networks of NETWORKS.md that agree or differ, in rows of one network and in
// rows of a family.
func verdicts(text string) (alike, differ int) {
	for row := range strings.Lines(text) {
		switch {
		case strings.Contains(row, "| agrees") || strings.Contains(row, "| decides alike"):
			alike++
		case strings.Contains(row, "| **differs**") || strings.Contains(row, "| **decides otherwise**"):
			differ++
		}
	}
	for _, m := range regexp.MustCompile(`\| (\d+) agree(?:, \*\*(\d+) differ)?`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		alike += n
		n, _ = strconv.Atoi(m[2])
		differ += n
	}
	return alike, differ
}
