package formats

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// LoadFS is Load for a file or a folder of a file system. Files of the operating system are mapped
// until the model is closed; other files are read into memory. Further files of the model are
// opened in the same folder. The file system decides which links are followed.
func LoadFS(fsys fs.FS, name string) (*graph.Model, error) { return LoadFSWithin(nil, fsys, name) }

// LoadFSWithin is LoadFS with a budget for memory. It fails if the budget's context ends.
func LoadFSWithin(b *Budget, fsys fs.FS, name string) (m *graph.Model, err error) {
	defer guard.At(name).End(&err)
	if err := b.Err(); err != nil {
		return nil, opening(name, err)
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, opening(name, err)
	}
	if info.IsDir() {
		return loadFolderFS(b, fsys, name)
	}
	f, err := binio.OpenFS(b, fsys, name)
	if err != nil {
		return nil, opening(name, err)
	}
	f.Path = name
	defer func() {
		if m == nil {
			f.Close()
		}
	}()
	read, err := loadFileFS(b, fsys, f)
	if err != nil {
		return nil, err
	}
	return checked(b, read)
}

// loadFileFS reads a model from f. The model closes f.
func loadFileFS(b *budget.Budget, fsys fs.FS, f *binio.File) (*graph.Model, error) {
	format, known, err := detect(f)
	if err != nil {
		return nil, err
	}
	beside, err := fs.Sub(fsys, path.Dir(f.Path))
	if err != nil {
		return nil, opening(f.Path, err)
	}
	m, err := format.decode(b, f.Path, f.Data, beside)
	if err != nil {
		if !known {
			err = misnamed(f, format, err)
		}
		return nil, err
	}
	m.Closer = both{m.Closer, f}
	return m, nil
}

func loadFolderFS(b *budget.Budget, fsys fs.FS, name string) (*graph.Model, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.openFolderFS != nil })
	files, err := fs.Sub(fsys, name)
	if err != nil {
		return nil, opening(name, err)
	}
	m, err := Formats[i].openFolderFS(b, name, files)
	if err != nil {
		return nil, err
	}
	return checked(b, m)
}

// both closes the two files of a model. The first may be nil.
type both [2]io.Closer

func (b both) Close() error {
	if b[0] == nil {
		return b[1].Close()
	}
	return errors.Join(b[0].Close(), b[1].Close())
}

// DecodeFiles is Decode for a model that may consist of several files. External data and shards are
// opened in files, under the names that the model gives.
func DecodeFiles(name string, data []byte, files fs.FS) (*graph.Model, error) {
	return DecodeFilesWithin(nil, name, data, files)
}

// DecodeFilesWithin is DecodeFiles with a budget for memory. It fails if the budget's context ends.
func DecodeFilesWithin(b *Budget, name string, data []byte, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	if err := b.Err(); err != nil {
		return nil, opening(name, err)
	}
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Probe(data) })
	if i < 0 {
		return nil, unknown(name, data)
	}
	m, err := Formats[i].decode(b, name, data, files)
	if err != nil {
		return nil, err
	}
	return checked(b, m)
}

// LoadReaderAt reads size bytes of r into memory and decodes them as DecodeFiles does.
func LoadReaderAt(name string, r io.ReaderAt, size int64, files fs.FS) (*graph.Model, error) {
	return LoadReaderAtWithin(nil, name, r, size, files)
}

// LoadReaderAtWithin is LoadReaderAt with a budget for memory. It fails if the budget's context
// ends.
func LoadReaderAtWithin(b *Budget, name string, r io.ReaderAt, size int64, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	data, err := binio.ReadAll(pieces.Reader(b, io.NewSectionReader(r, 0, size)), size)
	if err != nil {
		return nil, opening(name, err)
	}
	return DecodeFilesWithin(b, name, data, files)
}

// decode reads a model from data. The model keeps data.
func (f *Format) decode(b *budget.Budget, name string, data []byte, files fs.FS) (m *graph.Model, err error) {
	if files != nil && f.readFiles != nil {
		m, err = f.readFiles(b, name, data, files)
	} else {
		m, err = f.read(b, name, data)
	}
	if err == nil {
		m.Raw = data
	}
	return m, err
}
