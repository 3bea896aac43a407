//go:build unix

package tokenizer

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFolderPipe loads folders with a pipe without a writer in place of a file. Loading refuses it
// and does not wait.
func TestFolderPipe(t *testing.T) {
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
		dir := write(t, map[string]string{"vocab.txt": "[UNK]\na"})
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o666); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { _, err := Load(dir); done <- err }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "no regular file") {
				t.Errorf("%s is a pipe: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s is a pipe, and is waited for", name)
		}
	}
}
