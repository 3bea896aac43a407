package nacre

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Open opens a model file of any format that Nacre reads, or a folder of safetensors
// files, and checks its graph. The file is mapped, and must not change until Close.
// External data and shards are looked for in the model's folder and mapped likewise;
// links and names that lead elsewhere are refused.
//
// The error is ErrFormat if the file is damaged or empty, ErrUnsupported if it is of no known
// format or version, and an error of the file system, such as fs.ErrNotExist, if a
// file cannot be read. Errors name the file and, where there is one, the offset in it.
func Open(path string) (*Model, error) { return OpenContext(context.Background(), path) }

// OpenContext is Open that ends with the context's error when the context is done. The error
// is ErrOption if ctx is nil.
func OpenContext(ctx context.Context, path string) (_ *Model, err error) {
	defer enter(path).end(&err)
	b, err := opening(ctx, path)
	if err != nil {
		return nil, err
	}
	defer stages.From(ctx).Begin("read")()
	return loaded(formats.LoadWithin(b, path))
}

// opening returns the budget for opening a file in a context.
func opening(ctx context.Context, file string) (*budget.Budget, error) {
	if ctx == nil {
		return nil, markf(ErrOption, "%s: the context of opening is nil", file)
	}
	return budget.New(ctx, budget.Limits{}), nil
}

// OpenFS is Open of a file, or of a folder of safetensors files, in a file system.
// Files of the operating system (os.DirFS, os.Root.FS) are mapped, and the model keeps the
// bytes of Files; both must not change until Close. Other files are read into memory. The file system decides which links it
// follows: os.Root.FS refuses links that lead out of its folder.
func OpenFS(fsys fs.FS, path string) (*Model, error) {
	return OpenFSContext(context.Background(), fsys, path)
}

// OpenFSContext is OpenFS that ends with the context's error when the context is done. A read
// of the file system is not interrupted. The error is ErrOption if ctx is nil.
func OpenFSContext(ctx context.Context, fsys fs.FS, path string) (_ *Model, err error) {
	defer enter(path).end(&err)
	b, err := opening(ctx, path)
	if err != nil {
		return nil, err
	}
	if fsys == nil {
		return nil, markf(ErrOption, "%s: the file system is nil", path)
	}
	return loaded(formats.LoadFSWithin(b, fsys, path))
}

// OpenReaderAt reads a model of size bytes into memory. Messages call the file name.
// At most one file system may follow; external data and shards are opened in it by the
// names that the model gives them. Files is a file system in memory, os.DirFS one of a
// folder.
//
// The error is as for Open, or an error of r, ErrOption if r is nil or size is negative,
// ErrUnsupported if the model needs other files and no file system follows.
func OpenReaderAt(name string, r io.ReaderAt, size int64, files ...fs.FS) (*Model, error) {
	return OpenReaderAtContext(context.Background(), name, r, size, files...)
}

// OpenReaderAtContext is OpenReaderAt that ends with the context's error when the context is
// done. A read of r is not interrupted. The error is ErrOption if ctx is nil.
func OpenReaderAtContext(ctx context.Context, name string, r io.ReaderAt, size int64,
	files ...fs.FS) (_ *Model, err error) {
	defer enter(name).end(&err)
	b, err := opening(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case r == nil:
		return nil, markf(ErrOption, "%s: the reader is nil", name)
	case size < 0:
		return nil, markf(ErrOption, "%s: the size %d is negative", name, size)
	}
	beside, err := only(name, files)
	if err != nil {
		return nil, err
	}
	return loaded(formats.LoadReaderAtWithin(b, name, r, size, beside))
}

// Decode reads a model from data. The model keeps data, which must not change until
// Close. The parameters name and files are as for OpenReaderAt.
func Decode(name string, data []byte, files ...fs.FS) (*Model, error) {
	return DecodeContext(context.Background(), name, data, files...)
}

// DecodeContext is Decode that ends with the context's error when the context is done. The
// error is ErrOption if ctx is nil.
func DecodeContext(ctx context.Context, name string, data []byte, files ...fs.FS) (_ *Model, err error) {
	defer enter(name).end(&err)
	b, err := opening(ctx, name)
	if err != nil {
		return nil, err
	}
	beside, err := only(name, files)
	if err != nil {
		return nil, err
	}
	return loaded(formats.DecodeFilesWithin(b, name, data, beside))
}

// only returns the one file system, or nil.
func only(name string, files []fs.FS) (fs.FS, error) {
	switch len(files) {
	case 0:
		return nil, nil
	case 1:
		return files[0], nil
	}
	return nil, markf(ErrOption, "%s: %d file systems where at most one belongs", name, len(files))
}

func loaded(m *graph.Model, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	return newModel(m), nil
}

// Files is a file system of files in memory, by their slash-separated paths. Models keep the
// bytes of the files that they open, which must not change until Close.
type Files map[string][]byte

// Open opens a file. Folders cannot be opened.
func (f Files) Open(name string) (fs.File, error) {
	data, ok := f[name]
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case !ok:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{bytes.NewReader(data), name[strings.LastIndex(name, "/")+1:], data}, nil
}

// memoryFile is an open file of Files, and its own fs.FileInfo.
type memoryFile struct {
	*bytes.Reader
	name string
	data []byte
}

// Contents lends the bytes to readers of formats.
func (f *memoryFile) Contents() ([]byte, error) { return f.data, nil }

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return false }
func (f *memoryFile) Sys() any                   { return nil }
