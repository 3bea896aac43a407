// Package mapped maps files into memory, and releases pages that are not needed for now to the
// system.
package mapped

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// files holds the mapped files, sorted by address.
var files struct {
	sync.RWMutex
	list     []*region
	removed  []*region // the files unmapped last, for watches in progress
	removals atomic.Uint64
}

// mostRemoved bounds the length of removed.
const mostRemoved = 1 << 12

// region is the memory of a mapped file.
type region struct {
	data []byte
	name string
	path string // absolute if possible
	info os.FileInfo
}

// File maps the first size bytes of a file for reading, or reads them if the system cannot map. The
// memory must not be written. unmap unmaps it.
func File(f *os.File, size int) (data []byte, unmap func() error, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, end, err := mapFile(f, size)
	if err != nil || end == nil {
		return data, func() error { return nil }, err
	}
	r := &region{data: data, name: f.Name(), path: f.Name(), info: info}
	if path, err := filepath.Abs(r.path); err == nil {
		r.path = path
	}
	files.Lock()
	defer files.Unlock()
	at, _ := slices.BinarySearchFunc(files.list, address(data), above)
	files.list = slices.Insert(files.list, at, r)
	return data, func() error { return remove(r, end) }, nil
}

// remove unmaps a file.
func remove(r *region, end func() error) error {
	files.Lock()
	defer files.Unlock()
	if at, ok := slices.BinarySearchFunc(files.list, address(r.data), above); ok {
		files.list = slices.Delete(files.list, at, at+1)
	}
	if len(files.removed) == mostRemoved {
		files.removed = slices.Clone(files.removed[mostRemoved/2:])
	}
	files.removed = append(files.removed, r)
	files.removals.Add(1)
	return end()
}

// find returns the mapped file that contains part, or nil.
func find(part []byte) *region {
	if len(part) == 0 {
		return nil
	}
	files.RLock()
	defer files.RUnlock()
	return at(address(part), uintptr(len(part)))
}

// at returns the mapped file that contains n bytes at address begin, or nil. The caller holds the
// lock.
func at(begin, n uintptr) *region {
	i, ok := slices.BinarySearchFunc(files.list, begin, above)
	if !ok {
		i--
	}
	if i < 0 || !files.list[i].has(begin, n) {
		return nil
	}
	return files.list[i]
}

// has reports whether n bytes at address begin are in the file.
func (r *region) has(begin, n uintptr) bool {
	first := address(r.data)
	return begin >= first && begin-first <= uintptr(len(r.data)) && n <= uintptr(len(r.data))-(begin-first)
}

// Contains reports whether part is in a mapped file.
func Contains(part []byte) bool { return find(part) != nil }

// Release releases the whole pages of part to the system if part is in a mapped file. They are read
// from the file again on next use. Other memory is unchanged.
func Release(part []byte) {
	if len(part) == 0 {
		return
	}
	files.RLock()
	defer files.RUnlock()
	if at(address(part), uintptr(len(part))) == nil {
		return
	}
	page := uintptr(os.Getpagesize())
	skip := int(-address(part) & (page - 1))
	if whole := (len(part) - skip) &^ int(page-1); whole > 0 {
		release(part[skip : skip+whole])
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// above compares the address of a mapped file to an address.
func above(r *region, at uintptr) int {
	switch a := address(r.data); {
	case a < at:
		return -1
	case a > at:
		return 1
	}
	return 0
}
