package runtime_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/device"
)

func contributing(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestContributingCode checks that every piece of code in CONTRIBUTING.md is in the file that is
// named before it.
func TestContributingCode(t *testing.T) {
	file, source, found := "", "", 0
	var block []string
	inside := false
	name := regexp.MustCompile("^`([^`]+)`$")
	for line := range strings.Lines(contributing(t)) {
		line = strings.TrimRight(line, "\n")
		bare := strings.TrimSpace(line)
		switch {
		case !inside && name.MatchString(bare):
			file = name.FindStringSubmatch(bare)[1]
			data, err := os.ReadFile(filepath.Join("..", file))
			if err != nil {
				t.Error(err)
			}
			source = unindented(strings.Split(string(data), "\n"))
		case strings.HasPrefix(bare, "```") && !inside:
			inside, block = true, nil
		case bare == "```":
			inside = false
			found++
			if !strings.Contains(source, unindented(block)) {
				t.Errorf("%s has no\n%s", file, strings.Join(block, "\n"))
			}
		case inside:
			block = append(block, line)
		}
	}
	if least := 8; found < least {
		t.Errorf("%d pieces of code were found, fewer than %d", found, least)
	}
}

// unindented joins lines without their leading and trailing space.
func unindented(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("\n" + strings.TrimSpace(line))
	}
	return b.String() + "\n"
}

// TestContributingNames checks that every path in CONTRIBUTING.md exists, and every identifier of a
// package or a type is declared.
func TestContributingNames(t *testing.T) {
	text := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(contributing(t), "")
	path := regexp.MustCompile(`^(?:runtime|csrc|bindings|cmd|bench|formats|packed|shaders|oracles|scripts|internal)/[\w./]+$`)
	folders := map[string]string{"op": "op", "kit": "internal/ops/kit", "device": "internal/device", "graph": "graph", "tensor": "tensor", "binder": "internal/cpu",
		"runtime": ".", "packed": "../packed", "container": "../formats/internal/container", "hnw": "../formats/hnw"}
	identifier := regexp.MustCompile(`^(\w+)\.(\w+)$`)
	paths, identifiers := 0, 0
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		if path.MatchString(m[1]) {
			paths++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Error(err)
			}
			continue
		}
		id := identifier.FindStringSubmatch(m[1])
		if id == nil || folders[id[1]] == "" {
			continue
		}
		identifiers++
		if !declared(t, folders[id[1]], id[2]) {
			t.Errorf("runtime/%s declares no %s", folders[id[1]], id[2])
		}
	}
	if paths < 10 || identifiers < 8 {
		t.Errorf("only %d paths and %d identifiers were found", paths, identifiers)
	}
	for test, folder := range map[string]string{"TestDeviceWithoutRows": "internal/exec", "TestNodes": "vulkan",
		"TestDTypeTables": "internal/ops/kit", "TestReaderMemory": "../formats"} {
		if !declared(t, folder, test) {
			t.Errorf("there is no %s", test)
		}
	}
}

// declared reports whether a file of a folder declares a type, a function or a method.
func declared(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || files == nil {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	line := regexp.MustCompile(`(?m)^(?:type ` + name + `\b|func (?:\([^)]*\) )?` + name + `\b)`)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if line.Match(data) {
			return true
		}
	}
	return false
}

// TestContributingDevice checks that CONTRIBUTING.md lists the methods of the device that Compile
// takes.
func TestContributingDevice(t *testing.T) {
	_, section, ok := strings.Cut(contributing(t), "\n## A device\n")
	if !ok {
		t.Fatal("CONTRIBUTING.md has no section on devices")
	}
	listed := map[string]bool{}
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for _, m := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
				listed[m[1]] = true
			}
		}
	}
	methods := reflect.TypeFor[device.Accelerator]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		if !listed[name] {
			t.Errorf("a device has a method %s, which CONTRIBUTING.md does not list", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("CONTRIBUTING.md lists %s, which a device does not have", name)
	}
}
