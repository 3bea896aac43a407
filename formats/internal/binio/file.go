// Package binio gives the readers of formats the bytes of a file. Files are mapped where the system
// can, and read into memory elsewhere.
package binio

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/mapped"
)

// File is the bytes of a file. They must not be written, and are gone after Close. If another
// process shortens a mapped file, touching the lost bytes is a fault; Guard turns it into an error.
type File struct {
	Path  string
	Data  []byte
	unmap func() error
}

// Open opens a regular file.
func Open(path string) (*File, error) {
	if err := regular(os.Stat(path)); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Map(f)
}

// Map returns the bytes of an open regular file. The caller may close f.
func Map(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err := regular(info, err); err != nil {
		return nil, err
	}
	size := info.Size()
	if size > math.MaxInt {
		return nil, fmt.Errorf("%d bytes are more than this system can map", size)
	}
	file := &File{Path: f.Name()}
	if size > 0 {
		file.Data, file.unmap, err = mapped.File(f, int(size))
	}
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Close frees the bytes. It may be called again.
func (f *File) Close() error {
	unmap := f.unmap
	f.Data, f.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}

// Offset returns the offset of part in data, or -1 if part is not a view of data.
func Offset(data, part []byte) int64 {
	if len(data) == 0 || len(part) == 0 {
		return -1
	}
	first, at := uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(unsafe.Pointer(unsafe.SliceData(part)))
	if at < first || at-first > uintptr(len(data)-len(part)) {
		return -1
	}
	return int64(at - first)
}

func regular(info os.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", info.Name())
	}
	return err
}
