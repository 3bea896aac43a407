package runtime_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// namedTest finds the tests that a page names, as `folder: TestName`.
var namedTest = regexp.MustCompile("`([^`: ]+): ((?:Test|Fuzz)[A-Za-z0-9_]+)`")

// fuzzTarget finds the fuzz targets of a file of tests.
var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

// hasTest reports whether a folder of the module has the test.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

// TestCorpora checks that every fuzz target has inputs in testdata/fuzz, which are small.
func TestCorpora(t *testing.T) {
	const most = 4 << 10
	found := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "..":
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range fuzzTarget.FindAllStringSubmatch(string(text), -1) {
			inputs, err := os.ReadDir(filepath.Join(filepath.Dir(path), "testdata", "fuzz", m[1]))
			if err != nil || len(inputs) == 0 {
				t.Errorf("%s: %s has no inputs in testdata/fuzz (%v)", path, m[1], err)
			}
			for _, input := range inputs {
				if info, err := input.Info(); err != nil || info.Size() >= most {
					t.Errorf("%s: the input %s of %s has %d bytes or more (%v)", path, input.Name(), m[1], most, err)
				}
			}
			found++
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d targets are found (%v)", found, err)
	}
}

// readers returns the folders of the packages that read a format of files, below the root.
func readers(t *testing.T) (folders []string) {
	t.Helper()
	probe := regexp.MustCompile(`(?m)^func .*\bProbe\w*\(data \[\]byte\) bool`)
	for _, path := range testenv.Files(t, "..", "formats", "*", "*.go") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if probe.Match(text) {
			folders = append(folders, filepath.ToSlash(strings.TrimPrefix(filepath.Dir(path), ".."+string(os.PathSeparator))))
		}
	}
	folders = slices.Compact(folders)
	if len(folders) < 7 {
		t.Errorf("readers are found in %v only", folders)
	}
	return folders
}

// TestFuzzedReaders checks that the reader of every format has a fuzz target.
func TestFuzzedReaders(t *testing.T) {
	for _, folder := range readers(t) {
		targets := 0
		for _, path := range testenv.Files(t, "..", folder, "*_test.go") {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			targets += len(fuzzTarget.FindAll(text, -1))
		}
		if targets == 0 {
			t.Errorf("%s has no fuzz target", folder)
		}
	}
}

// TestSecurityPage checks that every claim of SECURITY.md names existing tests, and that the page
// names a test of every reader.
func TestSecurityPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 4 || strings.TrimSpace(cells[1]) == "claim" || strings.HasPrefix(cells[1], "---") {
			continue
		}
		tests := namedTest.FindAllStringSubmatch(cells[2], -1)
		if strings.Count(cells[2], "`") != 2*len(tests) || len(tests) == 0 {
			t.Errorf("no tests, or one that is not written as `folder: TestName`: %s", line)
		}
		for _, m := range tests {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("%s has no %s, which a claim names: %s", m[1], m[2], strings.TrimSpace(cells[1]))
			}
			found++
		}
	}
	if found == 0 {
		t.Error("the page names no tests")
	}
	for _, folder := range readers(t) {
		if !strings.Contains(string(page), "`"+folder+": Test") {
			t.Errorf("the page names no test of %s, such as one of the fields that it refuses", folder)
		}
	}
}
