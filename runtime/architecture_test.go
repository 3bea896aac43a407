package runtime_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the picture of ARCHITECTURE.md again")

// drawn returns the picture's box for a row of the layering table. It is empty for the small
// packages that the picture leaves out.
func drawn(row string) string {
	first, rest, _ := strings.Cut(row, "/")
	switch {
	case row == ".":
		return "nacre"
	case row == "runtime/internal/ops/kit":
		return row
	case strings.HasPrefix(row, "runtime/internal/ops/"), row == "runtime/op/standard":
		return "runtime/internal/ops/FAMILY"
	case strings.HasPrefix(row, "runtime/internal/") && !strings.Contains(row, "optest") &&
		!strings.Contains(row, "picture"):
		return row
	case strings.Contains(row, "internal"), first == "scripts", first == "examples":
		return ""
	case first == "csrc":
		return "csrc"
	case first == "formats" && rest != "":
		return "formats/FORMAT"
	}
	return row
}

// picture draws the boxes of the layering table, without arrows that follow from others.
func picture(t *testing.T) string {
	t.Helper()
	edges := lattice(t, allowed)
	reach := map[string]map[string]bool{} // the boxes below each box
	for row := range edges {
		box := drawn(row)
		if box == "" {
			continue
		}
		if reach[box] == nil {
			reach[box] = map[string]bool{}
		}
		for dep := range below(edges, row) {
			if to := drawn(dep); to != "" && to != box {
				reach[box][to] = true
			}
		}
	}
	var lines []string
	id := func(box string) string { return fmt.Sprintf("%s[%q]", strings.ReplaceAll(box, "/", "_"), box) }
	for box, to := range reach {
		for dep := range to {
			follows := false
			for between := range to {
				follows = follows || reach[between][dep]
			}
			if !follows {
				lines = append(lines, "  "+id(box)+" --> "+id(dep)+"\n")
			}
		}
	}
	slices.Sort(lines)
	return "flowchart TD\n" + strings.Join(lines, "")
}

// TestArchitecture compares ARCHITECTURE.md with the code: its picture matches the layering table,
// its tests and folders exist, and its words are sorted and have one row each.
func TestArchitecture(t *testing.T) {
	path := filepath.Join("..", "ARCHITECTURE.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page, want := string(data), picture(t)
	before, rest, ok := strings.Cut(page, "```mermaid\n")
	got, after, ends := strings.Cut(rest, "```\n")
	if !ok || !ends {
		t.Fatal("there is no picture")
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+"```mermaid\n"+want+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != want {
		t.Errorf("the picture is not the table's; -update draws it again:\n%s", want)
	}
	tests := namedTest.FindAllStringSubmatch(page, -1)
	for _, m := range tests {
		if !hasTest(t, m[1], m[2]) {
			t.Errorf("%s has no %s", m[1], m[2])
		}
	}
	folders := regexp.MustCompile("`((?:runtime|formats|generate|bindings|internal|cmd)(?:/[a-z]+)*)`").FindAllStringSubmatch(page, -1)
	for _, m := range folders {
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Error(err)
		}
	}
	_, list, _ := strings.Cut(page, "\n| word | meaning |\n|---|---|\n")
	var words []string
	for line := range strings.Lines(list) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			words = append(words, strings.TrimSpace(cells[1]))
		}
	}
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("the words are not in order: %q", words)
	}
	if len(tests) < 8 || len(folders) < 10 || len(words) < 30 {
		t.Errorf("%d tests, %d folders and %d words were found", len(tests), len(folders), len(words))
	}
}
