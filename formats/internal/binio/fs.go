package binio

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/nacre-ml/nacre/internal/pieces"
)

// lender is an open file with its contents in memory. They must not change.
type lender interface{ Contents() ([]byte, error) }

// OpenFS opens a regular file of a file system. A file of the operating system is mapped, and a
// lender lends its contents; others are read into memory, and reading ends with the error of ctx.
func OpenFS(ctx pieces.Context, fsys fs.FS, name string) (*File, error) {
	if err := regular(fs.Stat(fsys, name)); err != nil {
		return nil, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if of, ok := f.(*os.File); ok {
		return Map(of)
	}
	info, err := f.Stat()
	if err := regular(info, err); err != nil {
		return nil, err
	}
	var data []byte
	if l, ok := f.(lender); ok {
		data, err = l.Contents()
	} else {
		data, err = ReadAll(pieces.Reader(ctx, f), info.Size())
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return &File{Path: name, Data: data}, nil
}

// firstRead is the most bytes that ReadAll allocates before it has read as many.
const firstRead = 64 << 20

// ReadAll reads size bytes. It fails if r has fewer or more. If size is too large, it allocates
// about firstRead bytes, or twice the bytes that r has.
func ReadAll(r io.Reader, size int64) ([]byte, error) {
	if size < 0 || size != int64(int(size)) {
		return nil, fmt.Errorf("a file of %d bytes cannot be read", size)
	}
	data := make([]byte, 0, min(int(size), firstRead))
	for len(data) < int(size) {
		if len(data) == cap(data) {
			data = slices.Grow(data, min(len(data), int(size)-len(data)))
		}
		part := data[len(data):min(cap(data), int(size))]
		n, err := io.ReadFull(r, part)
		data = data[:len(data)+n]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, fmt.Errorf("%d bytes of %d are there: %w", len(data), size, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return nil, err
		}
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return nil, fmt.Errorf("more than %d bytes are there", size)
	case err != io.EOF:
		return nil, err
	}
	return data, nil
}
