package output

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFaults fails each system call in turn. The old file must stay until the new one is complete,
// and nothing else may remain.
func TestFaults(t *testing.T) {
	defer func() { Fault = nil }()
	broken := errors.New("broken")
	for _, old := range []string{"", "old"} {
		for at := 0; ; at++ {
			path := filepath.Join(t.TempDir(), "model.onnx")
			if old != "" {
				if err := os.WriteFile(path, []byte(old), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			calls, failed := 0, ""
			Fault = func(call string) error {
				if calls++; calls-1 == at {
					failed = call
					return broken
				}
				return nil
			}
			err := write(t, path, "new")
			Fault = nil
			if failed == "" {
				if err != nil || at < 5 {
					t.Errorf("%d calls, %v", at, err)
				}
				check(t, path, "new")
				break
			}
			if !errors.Is(err, broken) {
				t.Errorf("%s fails: %v", failed, err)
			}
			switch {
			case failed == "close" && renameOpen:
				check(t, path, "new") // it is already in its place
			case old != "":
				check(t, path, old)
			default:
				if entries, err := os.ReadDir(filepath.Dir(path)); len(entries) > 0 {
					t.Errorf("%s fails: %v is left, %v", failed, entries, err)
				}
			}
		}
	}
}
