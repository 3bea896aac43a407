package tokenizer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestFolderLinks loads folders with links. Links that leave the folder are refused, whichever file
// they are.
func TestFolderLinks(t *testing.T) {
	files := map[string]string{
		"tokenizer.json":        document1(""),
		"tokenizer_config.json": "{}",
		"chat_template.jinja":   "{{ messages[0].content }}",
		"vocab.json":            `{"a":0,"b":1}`,
		"merges.txt":            "",
	}
	for name, text := range files {
		dir := t.TempDir()
		inside, outside := filepath.Join(dir, "model"), filepath.Join(dir, "other")
		testenv.Need(t, os.MkdirAll(filepath.Join(inside, "sub"), 0o777))
		testenv.Need(t, os.Mkdir(outside, 0o777))
		if name == "merges.txt" {
			testenv.Need(t, os.WriteFile(filepath.Join(inside, "vocab.json"), []byte(files["vocab.json"]), 0o666))
		} else if strings.HasPrefix(name, "chat") || strings.Contains(name, "config") {
			testenv.Need(t, os.WriteFile(filepath.Join(inside, "tokenizer.json"), []byte(files["tokenizer.json"]), 0o666))
		}
		testenv.Need(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o666))
		testenv.Need(t, os.WriteFile(filepath.Join(inside, "sub", name), []byte(text), 0o666))
		if name == "vocab.json" {
			testenv.Need(t, os.WriteFile(filepath.Join(inside, "merges.txt"), nil, 0o666))
		}
		link := filepath.Join(inside, name)
		for to, refused := range map[string]bool{"../other/" + name: true, filepath.Join(outside, name): true, "sub/" + name: false} {
			if err := os.Symlink(to, link); err != nil {
				testenv.Skip(t, "links cannot be made:", err)
			}
			_, err := Load(inside)
			if refused != (err != nil && strings.Contains(err.Error(), "leaves the model's folder")) || !refused && err != nil {
				t.Errorf("%s is a link to %s: %v", name, to, err)
			}
			testenv.Need(t, os.Remove(link))
		}
		if err := os.Link(filepath.Join(outside, name), link); err == nil {
			if _, err := Load(inside); err != nil {
				t.Errorf("%s has another name outside: %v", name, err)
			}
		}
	}
}

// TestFolderCache loads the snapshot of a Hugging Face cache. Its files are links to blobs.
func TestFolderCache(t *testing.T) {
	repository := filepath.Join(t.TempDir(), "models--x--y")
	snapshot := filepath.Join(repository, "snapshots", "1")
	testenv.Need(t, os.MkdirAll(snapshot, 0o777))
	testenv.Need(t, os.Mkdir(filepath.Join(repository, "blobs"), 0o777))
	testenv.Need(t, os.WriteFile(filepath.Join(repository, "blobs", "abc"), []byte(document1("")), 0o666))
	if err := os.Symlink("../../blobs/abc", filepath.Join(snapshot, "tokenizer.json")); err != nil {
		testenv.Skip(t, "links cannot be made:", err)
	}
	for _, path := range []string{snapshot, filepath.Join(snapshot, "tokenizer.json")} {
		if _, err := Load(path); err != nil {
			t.Error(err)
		}
	}
}

// TestFolderIrregular loads folders with a folder in place of a file.
func TestFolderIrregular(t *testing.T) {
	for _, name := range []string{"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"} {
		dir := write(t, map[string]string{"vocab.txt": "[UNK]\na"})
		testenv.Need(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "no regular file") || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is a folder: %v", name, err)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Error("no folder:", err)
	}
}
