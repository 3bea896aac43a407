// Package binio gives the readers of formats the bytes of a file: mapped where
// the system can, read into memory elsewhere.
package binio

import (
	"fmt"
	"math"
	"os"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/mapped"
)

// File is the bytes of a file. They must not be written, and are gone after
// Close. A mapped file that another process shortens takes its bytes away:
// touching them is a fault, of which Guard makes an error.
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

// Map returns the bytes of an open regular file, which the caller may close.
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

// Close gives the bytes back. It may be called again.
func (f *File) Close() error {
	unmap := f.unmap
	f.Data, f.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}

// Offset returns where a view of data begins in it; -1 when part is no view of it.
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
