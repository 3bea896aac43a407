package onnx

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// SaveOptions change how Save writes a model.
type SaveOptions struct {
	// External is the size in bytes from which constants go to a file beside the model, or
	// WhenNeeded or Never.
	External int
	// Watch wraps the writer of the file that holds the constants. It may be nil.
	Watch func(w io.Writer) io.Writer
	// Last is called after all files are written and before they take their places. If it fails, no
	// file takes its place. It may be nil.
	Last func() error

	ctx context.Context // nil for none
}

// Within returns the options with a context. If ctx ends, saving fails with its error.
func (o SaveOptions) Within(ctx context.Context) SaveOptions {
	o.ctx = ctx
	return o
}

func (o *SaveOptions) context() context.Context {
	if o.ctx == nil {
		return context.Background()
	}
	return o.ctx
}

// Save writes a model to a file. An existing file is replaced once the new one is complete.
// Constants outside the model go to a second file, named after the model with 16 hexadecimal digits
// of a hash of the constants and .data. The second file takes its place before the model does. So
// the old or the new model at that path has its constants beside it at every moment. Save then
// removes the constants of earlier models at that path.
func Save(path string, m *graph.Model, o SaveOptions) (err error) {
	defer guard.At(path).End(&err)
	e, side, err := encode(o.context(), m, filepath.Base(path), o.External)
	if err != nil {
		return saving(path, err)
	}
	files := []newFile{{path, e}}
	data := ""
	if side != nil && len(side.parts) > 0 {
		data = filepath.Join(filepath.Dir(path), side.location)
		files = []newFile{{data, side}, {path, e}}
	}
	if err := replace(files, o); err != nil {
		return saving(path, err)
	}
	removeData(path, data)
	return nil
}

type newFile struct {
	path    string
	content io.WriterTo
}

// replace writes all files before the first takes its place. If a file cannot take its place,
// replace removes the files that did not exist before.
func replace(files []newFile, o SaveOptions) error {
	pending := make([]*output.File, len(files))
	for i, file := range files {
		p, err := output.Create(file.path)
		if err != nil {
			return err
		}
		defer p.Discard()
		w := pieces.Writer(o.context(), p)
		if i == 0 && o.Watch != nil { // the constants come first
			w = o.Watch(w)
		}
		if _, err := file.content.WriteTo(w); err != nil {
			return err
		}
		pending[i] = p
	}
	if o.Last != nil {
		if err := o.Last(); err != nil {
			return err
		}
	}
	var made []string
	for i, p := range pending {
		_, missing := os.Lstat(files[i].path)
		if err := p.Commit(); err != nil {
			if !p.InPlace() {
				removeAll(made)
			}
			return err
		}
		if errors.Is(missing, fs.ErrNotExist) {
			made = append(made, files[i].path)
		}
	}
	return nil
}

func removeAll(paths []string) {
	for _, path := range paths {
		os.Remove(path)
	}
}

// dataName matches the rest of the name of a file of constants, after the name of its model.
var dataName = regexp.MustCompile(`^\.[0-9a-f]{16}\.data$`)

// removeData removes the files of constants that Save made for the model at path, except the file
// but. A file that cannot be removed stays.
func removeData(path, but string) {
	folder, base := filepath.Split(path)
	if folder == "" {
		folder = "."
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := e.Name()
		if len(name) > len(base) && name[:len(base)] == base && dataName.MatchString(name[len(base):]) && name != filepath.Base(but) && e.Type().IsRegular() {
			os.Remove(filepath.Join(folder, name))
		}
	}
}

// sideFile is a file of constants outside the model.
type sideFile struct {
	location string
	from     int // size from which constants go here, in bytes
	parts    []sidePart
	size     int64
}

// newSideFile returns the empty file for the constants of a model of at least from bytes. It
// encodes the model once to find these constants, because the model holds the file's name, and the
// name contains their hash.
func newSideFile(ctx context.Context, m *graph.Model, base string, from int) (*sideFile, error) {
	side := &sideFile{from: from}
	if _, err := encodeModel(m, side); err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := side.WriteTo(pieces.Writer(ctx, h)); err != nil {
		return nil, err
	}
	return &sideFile{location: fmt.Sprintf("%s.%x.data", base, h.Sum(nil)[:8]), from: from}, nil
}

type sidePart struct {
	offset int64
	data   []byte
}

// page is the alignment of long constants, so that they can be mapped one by one.
const page = 4096

// add appends data and returns its offset.
func (s *sideFile) add(data []byte) int64 {
	align := int64(64)
	if len(data) >= page {
		align = page
	}
	s.size = (s.size + align - 1) / align * align
	at := s.size
	s.parts = append(s.parts, sidePart{at, data})
	s.size += int64(len(data))
	return at
}

// WriteTo writes the file to w. Pages of mapped files are released once they are written.
func (s *sideFile) WriteTo(w io.Writer) (int64, error) {
	var zeros [page]byte
	at := int64(0)
	for _, p := range s.parts {
		for _, b := range [][]byte{zeros[:p.offset-at], p.data} {
			n, err := w.Write(b)
			at += int64(n)
			if err != nil {
				return at, err
			}
		}
		mapped.Release(p.data)
	}
	return at, nil
}
