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
	"github.com/nacre-ml/nacre/runtime/graph"
)

// LoadFS is Load for a file or a folder of a file system. Files of the operating system are mapped
// until the model is closed; other files are read into memory. Further files of the model are
// opened in the same folder. The file system decides which links are followed.
func LoadFS(fsys fs.FS, name string) (m *graph.Model, err error) {
	defer guard.At(name).End(&err)
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, opening(name, err)
	}
	if info.IsDir() {
		return loadFolderFS(fsys, name)
	}
	f, err := binio.OpenFS(fsys, name)
	if err != nil {
		return nil, opening(name, err)
	}
	f.Path = name
	defer func() {
		if m == nil {
			f.Close()
		}
	}()
	read, err := loadFileFS(fsys, f)
	if err != nil {
		return nil, err
	}
	return checked(nil, read)
}

// loadFileFS reads a model from f. The model closes f.
func loadFileFS(fsys fs.FS, f *binio.File) (*graph.Model, error) {
	format, known, err := detect(f)
	if err != nil {
		return nil, err
	}
	beside, err := fs.Sub(fsys, path.Dir(f.Path))
	if err != nil {
		return nil, opening(f.Path, err)
	}
	m, err := format.decode(nil, f.Path, f.Data, beside)
	if err != nil {
		if !known {
			err = misnamed(f, format, err)
		}
		return nil, err
	}
	m.Closer = both{m.Closer, f}
	return m, nil
}

func loadFolderFS(fsys fs.FS, name string) (*graph.Model, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.openFolderFS != nil })
	files, err := fs.Sub(fsys, name)
	if err != nil {
		return nil, opening(name, err)
	}
	m, err := Formats[i].openFolderFS(nil, name, files)
	if err != nil {
		return nil, err
	}
	return checked(nil, m)
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
func DecodeFiles(name string, data []byte, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Probe(data) })
	if i < 0 {
		return nil, unknown(name, data)
	}
	m, err := Formats[i].decode(nil, name, data, files)
	if err != nil {
		return nil, err
	}
	return checked(nil, m)
}

// LoadReaderAt reads size bytes of r into memory and decodes them as DecodeFiles does.
func LoadReaderAt(name string, r io.ReaderAt, size int64, files fs.FS) (_ *graph.Model, err error) {
	defer guard.At(name).End(&err)
	data, err := binio.ReadAll(io.NewSectionReader(r, 0, size), size)
	if err != nil {
		return nil, opening(name, err)
	}
	return DecodeFiles(name, data, files)
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
