package nacre_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
)

// TestShorterFile shortens the file of an open model.
func TestShorterFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are read into memory here, and cannot get shorter under a model")
	}
	data, err := os.ReadFile("cmd/nacre/demo/digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, len(data) - 1} {
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		m, err := nacre.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, int64(size)); err != nil {
			t.Fatal(err)
		}
		check := func(what string, err error) {
			if !errors.Is(err, nacre.ErrFormat) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "lost bytes") {
				t.Errorf("%d bytes: %s: %v", size, what, err)
			}
		}
		_, err = m.NewSession(nacre.Options{})
		check("session", err)
		_, err = m.Weight(m.Weights()[0].Name)
		check("weight", err)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := m.NewSession(nacre.Options{})
		if err != nil {
			t.Fatalf("the file is whole again: %v", err)
		}
		if err := errors.Join(s.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	}
}
