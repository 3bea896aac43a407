// Package testenv handles tests that lack data or a tool. An ordinary run skips such a test; a
// complete run, as by scripts/test.sh, fails it.
package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// Variable is the environment variable that asks for a complete run: "1" requires everything that
// the project's scripts install and fetch; "all" also requires samples beside the checkout, which
// no script fetches.
const Variable = "NACRE_TEST_COMPLETE"

// Complete reports whether the run is complete: no test may be skipped for lack of data or a tool.
func Complete() bool {
	v := os.Getenv(Variable)
	return v != "" && v != "0"
}

// Sample is the environment variable with the number by which a run chooses among cases that take
// turns. If it is not set, a run takes all of them.
const Sample = "NACRE_TEST_SAMPLE"

// Turn reports whether a complete run takes case i of n cases that take turns.
func Turn(i, n int) bool {
	v := os.Getenv(Sample)
	if v == "" {
		return true
	}
	sample, err := strconv.Atoi(v)
	return err != nil || sample%n == i
}

// Skip skips the test, or fails it in a complete run.
func Skip(t testing.TB, why ...any) {
	t.Helper()
	if Complete() {
		t.Fatalf("%s asks for a complete run: %s", Variable, fmt.Sprint(why...))
	}
	t.Skip(why...)
}

// Need calls Skip if err is not nil.
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

// Root returns the root folder of the test's module.
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

// Beside returns the path of a file or a folder beside the checkout, which no script fetches. It is
// below NACRE_SHARED or, if that is not set, below the folder shared next to the checkout.
func Beside(t testing.TB, elements ...string) string {
	t.Helper()
	root := os.Getenv("NACRE_SHARED")
	if root == "" {
		root = filepath.Join(Root(t), "..", "shared")
	}
	return filepath.Join(append([]string{root}, elements...)...)
}

// Samples is Beside for a test that needs the file or the folder. If it does not exist, Samples
// calls SkipSamples.
func Samples(t testing.TB, elements ...string) string {
	t.Helper()
	path := Beside(t, elements...)
	if _, err := os.Stat(path); err != nil {
		SkipSamples(t, "no ", path, " (NACRE_SHARED names the folder that holds ", filepath.Join(elements...), ")")
	}
	return path
}

// OfficialData returns the folder of the official ONNX tests: NACRE_ONNX_DATA, or the folder of
// scripts/fetch-onnx-data.sh.
func OfficialData(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("NACRE_ONNX_DATA")
	if dir == "" {
		dir = filepath.Join(Root(t), ".cache", "onnx", "1.22.0")
	}
	if _, err := os.Stat(filepath.Join(dir, "node")); err != nil {
		Skip(t, "no official ONNX tests in ", dir,
			": scripts/fetch-onnx-data.sh fetches them, or NACRE_ONNX_DATA names their folder")
	}
	return dir
}

// FindPython returns a Python that can import the module: NACRE_PYTHON, or the one of
// scripts/setup-test.sh. Otherwise it returns an error.
func FindPython(t testing.TB, module string) (string, error) {
	t.Helper()
	python := os.Getenv("NACRE_PYTHON")
	if python == "" {
		python = filepath.Join(Root(t), ".venv", "bin", "python")
	}
	if out, err := exec.Command(python, "-c", "import "+module).CombinedOutput(); err != nil {
		return "", fmt.Errorf("no Python with %s (scripts/setup-test.sh makes one, or NACRE_PYTHON names it): %w %s",
			module, err, out)
	}
	return python, nil
}
