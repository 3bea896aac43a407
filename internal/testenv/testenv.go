// Package testenv decides what a test does where data or a tool is missing. An
// ordinary run skips the test; a complete run, as scripts/test.sh makes, fails it.
package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Variable is the environment variable that asks for a complete run: "1" for all
// that the project's scripts install and fetch, "all" for samples beside the
// checkout too, which no script fetches.
const Variable = "NACRE_TEST_COMPLETE"

// Complete reports whether a test may not be skipped for want of data or a tool.
func Complete() bool {
	v := os.Getenv(Variable)
	return v != "" && v != "0"
}

// Skip skips the test, or fails it in a complete run.
func Skip(t testing.TB, why ...any) {
	t.Helper()
	if Complete() {
		t.Fatalf("%s asks for a complete run: %s", Variable, fmt.Sprint(why...))
	}
	t.Skip(why...)
}

// Need is Skip unless err is nil.
func Need(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		Skip(t, err)
	}
}

// SkipSamples is Skip for samples that no script fetches.
func SkipSamples(t testing.TB, why ...any) {
	t.Helper()
	if os.Getenv(Variable) == "all" {
		Skip(t, why...)
	}
	t.Skip(why...)
}

// Root returns the folder of the module that the test belongs to.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// OfficialData returns the folder of the official ONNX tests: NACRE_ONNX_DATA, or
// where scripts/fetch-onnx-data.sh puts them.
func OfficialData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NACRE_ONNX_DATA")
	if dir == "" {
		dir = filepath.Join(Root(t), ".cache", "onnx", "1.22.0")
	}
	if _, err := os.Stat(filepath.Join(dir, "node")); err != nil {
		Skip(t, "no official ONNX tests in ", dir, ": scripts/fetch-onnx-data.sh fetches them, or NACRE_ONNX_DATA names their folder")
	}
	return dir
}

// FindPython returns a Python that can import the module, or an error:
// NACRE_PYTHON, or the one that scripts/setup-test.sh makes.
func FindPython(t testing.TB, module string) (string, error) {
	t.Helper()
	python := os.Getenv("NACRE_PYTHON")
	if python == "" {
		python = filepath.Join(Root(t), ".venv", "bin", "python")
	}
	if out, err := exec.Command(python, "-c", "import "+module).CombinedOutput(); err != nil {
		return "", fmt.Errorf("no Python with %s (scripts/setup-test.sh makes one, or NACRE_PYTHON names it): %w %s", module, err, out)
	}
	return python, nil
}
