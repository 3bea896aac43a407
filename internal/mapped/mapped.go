// Package mapped maps files into memory, and gives pages that nobody needs for now
// back to the system.
package mapped

import (
	"os"
	"slices"
	"sync"
	"unsafe"
)

// files is the memory of the files that are mapped, by address.
var files struct {
	sync.RWMutex
	list [][]byte
}

// File maps the first size bytes of a file for reading, or reads them where the system
// cannot map. The memory may not be written. Unmap ends it.
func File(f *os.File, size int) (data []byte, unmap func() error, err error) {
	data, end, err := mapFile(f, size)
	if err != nil || end == nil {
		return data, func() error { return nil }, err
	}
	files.Lock()
	defer files.Unlock()
	at, _ := slices.BinarySearchFunc(files.list, address(data), above)
	files.list = slices.Insert(files.list, at, data)
	return data, func() error { return remove(data, end) }, nil
}

// remove unmaps data.
func remove(data []byte, end func() error) error {
	files.Lock()
	defer files.Unlock()
	if at, ok := slices.BinarySearchFunc(files.list, address(data), above); ok {
		files.list = slices.Delete(files.list, at, at+1)
	}
	return end()
}

// Release gives the whole pages of part back to the system if part lies in a mapped
// file; they are read from the file again when they are next touched. Other memory
// stays as it is.
func Release(part []byte) {
	if len(part) == 0 {
		return
	}
	files.RLock()
	defer files.RUnlock()
	at, ok := slices.BinarySearchFunc(files.list, address(part), above)
	if !ok {
		at--
	}
	if at < 0 || address(part)+uintptr(len(part)) > address(files.list[at])+uintptr(len(files.list[at])) {
		return
	}
	page := uintptr(os.Getpagesize())
	skip := int(-address(part) & (page - 1))
	if whole := (len(part) - skip) &^ int(page-1); whole > 0 {
		release(part[skip : skip+whole])
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// above orders mapped memory against an address.
func above(b []byte, at uintptr) int {
	switch a := address(b); {
	case a < at:
		return -1
	case a > at:
		return 1
	}
	return 0
}
