package binio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"
	"testing/iotest"
)

func TestOpenFS(t *testing.T) {
	want := []byte("content")
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", want, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/folder", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, fsys := range map[string]fs.FS{
		"system": os.DirFS(dir), "memory": fstest.MapFS{"file": {Data: want}, "folder/file": {}},
	} {
		f, err := OpenFS(context.Background(), fsys, "file")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(f.Data, want) || (f.unmap != nil) != (name == "system") {
			t.Errorf("%s: %q holds %q", name, f.Path, f.Data)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		for _, bad := range []string{"folder", "none", "../file", "/file", ""} {
			if _, err := OpenFS(context.Background(), fsys, bad); err == nil {
				t.Errorf("%s: opened %q", name, bad)
			}
		}
	}
}

// lending is a file system with one file, which lends its contents or fails.
type lending struct {
	fstest.MapFS
	contents []byte
	err      error
}

type lent struct {
	fs.File
	of *lending
}

func (l *lending) Open(name string) (fs.File, error) {
	f, err := l.MapFS.Open(name)
	return lent{f, l}, err
}

func (l lent) Contents() ([]byte, error) { return l.of.contents, l.of.err }

// TestLender opens a file that is in memory: its bytes are not copied.
func TestLender(t *testing.T) {
	l := &lending{MapFS: fstest.MapFS{"file": {}}, contents: []byte("content")}
	f, err := OpenFS(context.Background(), l, "file")
	if err != nil {
		t.Fatal(err)
	}
	if Offset(l.contents, f.Data) != 0 || len(f.Data) != len(l.contents) {
		t.Errorf("the file holds %q", f.Data)
	}
	l.err = errors.New("broken")
	if _, err := OpenFS(context.Background(), l, "file"); !errors.Is(err, l.err) {
		t.Errorf("got %v", err)
	}
}

// TestReadAll reads data of the given size, longer and shorter data, and a broken reader.
func TestReadAll(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), firstRead/4) // more than two first reads
	got, err := ReadAll(bytes.NewReader(data), int64(len(data)))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes of %d (%v)", len(got), len(data), err)
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		r    io.Reader
		size int64
		kind error
	}{
		{"less", bytes.NewReader(data[:10]), 1 << 60, io.ErrUnexpectedEOF},
		{"nothing", bytes.NewReader(nil), 1, io.ErrUnexpectedEOF},
		{"broken", iotest.ErrReader(broken), 10, broken},
		{"broken behind the end", io.MultiReader(bytes.NewReader(data[:10]), iotest.ErrReader(broken)), 10, broken},
	} {
		if _, err := ReadAll(c.r, c.size); !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	for name, size := range map[string]int64{"more": 9, "negative": -1} {
		if _, err := ReadAll(bytes.NewReader(data[:10]), size); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
