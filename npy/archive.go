package npy

import (
	"archive/zip"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/pieces"
)

// ending is the end of the names of arrays in an archive.
const ending = ".npy"

// ReadArchive reads the arrays of an .npz archive of size bytes, by the names that numpy.savez
// gave them. Files of the archive that are no .npy files are left out. The tensors have memory of
// their own, which b counts. An error names the array.
func ReadArchive(b *formats.Budget, r io.ReaderAt, size int64) (_ map[string]*nacre.Tensor, err error) {
	defer guard.At("").End(&err)
	if r == nil || size < 0 {
		return nil, errorf(nacre.ErrOption, "an archive without a reader, or of a negative size")
	}
	archive, err := zip.NewReader(r, size)
	if err != nil {
		return nil, errorf(nacre.ErrFormat, "not an .npz archive: %w", err)
	}
	out := map[string]*nacre.Tensor{}
	for _, entry := range archive.File {
		name, isArray := strings.CutSuffix(entry.Name, ending)
		if !isArray {
			continue
		}
		if out[name] != nil {
			return nil, errorf(nacre.ErrFormat, "the archive has array %q twice", name)
		}
		if out[name], err = readEntry(b, entry); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	return out, nil
}

// readEntry reads an array of an archive, and checks the sum of its file.
func readEntry(b *formats.Budget, entry *zip.File) (*nacre.Tensor, error) {
	f, err := entry.Open()
	if err != nil {
		return nil, errorf(nacre.ErrFormat, "%w", err)
	}
	defer f.Close()
	r := pieces.Reader(b, f)
	t, err := read(b, r)
	if err != nil {
		return nil, err
	}
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return nil, errorf(nacre.ErrFormat, "bytes follow the elements")
	case err != io.EOF:
		return nil, errorf(nacre.ErrFormat, "%w", err)
	}
	return t, nil
}

// WriteArchive writes tensors as an .npz archive without compression, as numpy.savez does, in the
// order of their names. The error of a tensor is as for Write, and names it.
func WriteArchive(w io.Writer, tensors map[string]*nacre.Tensor) (err error) {
	defer guard.At("").End(&err)
	archive := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		f, err := archive.CreateHeader(&zip.FileHeader{Name: name + ending, Method: zip.Store})
		if err == nil {
			err = Write(f, tensors[name])
		}
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
	}
	return archive.Close()
}
