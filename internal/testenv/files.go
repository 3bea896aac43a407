package testenv

import (
	"path/filepath"
	"testing"
)

// Files returns the files that match a pattern of package filepath. If there are none, it fails the
// test, so that a test of all files tests at least one.
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
