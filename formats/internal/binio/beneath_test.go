package binio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestBeneathExchanged opens a name that is exchanged all the time: a file of the folder, a link to
// it, a link to another name of it, and links that leave the folder. Bytes from outside the folder
// are never read.
func TestBeneathExchanged(t *testing.T) {
	dir := t.TempDir()
	inside, outside := filepath.Join(dir, "model"), filepath.Join(dir, "secret")
	testenv.Need(t, os.MkdirAll(filepath.Join(inside, "sub"), 0o777))
	testenv.Need(t, os.WriteFile(filepath.Join(inside, "sub", "data"), []byte("inside"), 0o666))
	testenv.Need(t, os.WriteFile(outside, []byte("outside"), 0o666))
	testenv.Need(t, os.Link(filepath.Join(inside, "sub", "data"), filepath.Join(dir, "second")))
	root, err := os.OpenRoot(inside)
	testenv.Need(t, err)
	defer root.Close()
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		next := filepath.Join(inside, "next")
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			to := []string{"sub/data", "../secret", outside, "sub/../sub/data", "../model/sub/data"}[i%5]
			if os.Symlink(to, next) == nil {
				_ = os.Rename(next, filepath.Join(inside, "data"))
			}
		}
	}()
	read := 0
	for range 2000 {
		f, err := Beneath(root, "data")
		if err != nil {
			continue
		}
		if read++; string(f.Data) != "inside" {
			t.Errorf("read %q", f.Data)
		}
		f.Close()
	}
	close(done)
	<-stopped
	if f, err := Beneath(root, "sub/data"); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	t.Logf("%d of 2000 were read", read)
}

// TestBeneathBlobs opens the target of a link in a cache of Hugging Face. The blobs of the
// repository, or their folder, are links themselves.
func TestBeneathBlobs(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secrets", "data")
	for _, c := range []struct{ name, blobs, data, want string }{
		{"blob", "", "", ""},
		{"folder within", "store", "", ""},
		{"blob within", "", "../store/data", ""},
		{"folder elsewhere", "../secrets", "", "leaves the model's folder"},
		{"absolute folder", filepath.Dir(secret), "", "leaves the model's folder"},
		{"blob elsewhere", "", "../../secrets/data", "leaves the model's folder"},
		{"absolute blob", "", secret, "leaves the model's folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := filepath.Join(dir, strings.ReplaceAll(c.name, " ", "-"))
			snapshot, blobs := filepath.Join(repo, "snapshots", "1"), filepath.Join(repo, "blobs")
			for _, file := range []string{secret, filepath.Join(repo, "store", "data")} {
				testenv.Need(t, os.MkdirAll(filepath.Dir(file), 0o777))
				testenv.Need(t, os.WriteFile(file, []byte(filepath.Base(filepath.Dir(file))), 0o666))
			}
			testenv.Need(t, os.MkdirAll(snapshot, 0o777))
			switch {
			case c.blobs != "":
				testenv.Need(t, os.Symlink(c.blobs, blobs))
			case c.data != "":
				testenv.Need(t, os.Mkdir(blobs, 0o777))
				testenv.Need(t, os.Symlink(c.data, filepath.Join(blobs, "data")))
			default:
				testenv.Need(t, os.Rename(filepath.Join(repo, "store"), blobs))
			}
			testenv.Need(t, os.Symlink("../../blobs/data", filepath.Join(snapshot, "data")))
			root, err := os.OpenRoot(snapshot)
			testenv.Need(t, err)
			defer root.Close()
			f, err := Beneath(root, "data")
			if err != nil {
				if c.want == "" || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				return
			}
			defer f.Close()
			if c.want != "" || string(f.Data) == "secrets" {
				t.Errorf("read %q, want the error %q", f.Data, c.want)
			}
		})
	}
}

// TestBeneathMissing opens a missing file with a name like an error.
func TestBeneathMissing(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	testenv.Need(t, err)
	defer root.Close()
	if _, err := Beneath(root, "path escapes from parent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
