//go:build unix

package generate_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestSettingsPipe reads folders with a pipe without a writer in place of a file. Reading refuses
// it and does not wait.
func TestSettingsPipe(t *testing.T) {
	m := session(t, llama(), nacre.Options{Threads: 1}).Model()
	for _, name := range []string{"genai_config.json", "generation_config.json", "config.json"} {
		dir := t.TempDir()
		testenv.Need(t, syscall.Mkfifo(filepath.Join(dir, name), 0o666))
		done := make(chan error, 1)
		go func() {
			_, _, err := generate.SettingsOf(m, os.DirFS(dir))
			if name == "genai_config.json" {
				_, file := generate.DecoderFile(os.DirFS(dir))
				err = errors.Join(err, file)
			}
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, nacre.ErrFormat) {
				t.Errorf("%s is a pipe: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is a pipe, and is waited for", name)
		}
	}
}
