package testenv

import (
	"path/filepath"
	"testing"
)

// Files returns the files that match a pattern of package filepath, and ends the test if
// there are none, so that a test of every file is a test of one at least.
func Files(t testing.TB, pattern ...string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatalf("no file matches %s", filepath.Join(pattern...))
	}
	return list
}
