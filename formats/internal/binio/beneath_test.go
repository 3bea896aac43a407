package binio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestBeneathExchanged opens a name that is exchanged all the time: a file of the folder, a
// link to it, one to another name of it, and links that leave the folder. What is outside
// is never read.
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
