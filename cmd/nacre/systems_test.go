package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSystems compares the table of systems in README.md with the scripts that check the systems.
// The steps cross and ports read their systems from the table.
func TestSystems(t *testing.T) {
	root := filepath.Join("..", "..")
	steps := string(read(t, filepath.Join(root, "scripts", "test.sh")))
	compiler := string(read(t, filepath.Join(root, "scripts", "zig.sh")))
	row := regexp.MustCompile(`(?m)^\| ([a-z0-9/, ]+/[a-z0-9]+) \| .* \| (.*) \|$`)
	systems := map[string][]string{} // by step
	for _, cells := range row.FindAllStringSubmatch(string(read(t, filepath.Join(root, "README.md"))), -1) {
		for _, step := range regexp.MustCompile("`[a-z]+`").FindAllString(cells[2], -1) {
			step = strings.Trim(step, "`")
			systems[step] = append(systems[step], strings.Split(cells[1], ", ")...)
		}
	}
	for step := range systems {
		if !strings.Contains(steps, "\n"+step+"() {") {
			t.Errorf("scripts/test.sh has no step %s", step)
		}
	}
	for _, system := range systems["ports"] {
		if !strings.Contains(compiler, "\n"+system+") target=") {
			t.Errorf("scripts/zig.sh has no target for %s", system)
		}
	}
	for step, of := range map[string][]string{"neon": {"linux/arm64"}, "wine": {"windows/amd64"}, "android": {"android/arm64"}} {
		if !slices.Equal(systems[step], of) {
			t.Errorf("step %s is for %v; README.md says %v", step, of, systems[step])
		}
	}
}
