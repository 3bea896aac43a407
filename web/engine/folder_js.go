package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// folder is the files of a message as a file system. A file is read when its bytes are asked for, so
// that files of a folder that nobody needs stay where they are.
type folder struct {
	r     *request
	files map[string]*file
}

// folder returns files as a file system.
func (r *request) folder(files []*file) folder {
	f := folder{r, map[string]*file{}}
	for _, one := range files {
		f.files[one.name] = one
	}
	return f
}

// total returns how many bytes were read, whether all came from the browser's cache, and why the
// browser did not keep one of them; "" if it did.
func (f folder) total() (n int, cached bool, lost string) {
	cached = true
	for _, one := range f.files {
		if one.data == nil {
			continue
		}
		n += len(one.data)
		cached = cached && one.loaded.cached
		if lost == "" {
			lost = one.loaded.lost
		}
	}
	return n, cached, lost
}

// Open opens a file.
func (f folder) Open(name string) (fs.File, error) {
	one := f.files[name]
	if one == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{entry{name, false}, f.r, one, nil}, nil
}

// ReadDir lists the files of a folder.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) {
	var list []fs.DirEntry
	for file := range f.files {
		if path.Dir(file) == name {
			list = append(list, fs.FileInfoToDirEntry(entry{file, false}))
		}
	}
	if list == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat describes a file or a folder.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	if f.files[name] != nil {
		return entry{name, false}, nil
	}
	for file := range f.files {
		if name == "." || strings.HasPrefix(file, name+"/") {
			return entry{name, true}, nil
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// folders returns the paths of all folders that are not hidden, the nearest to the top first.
func (f folder) folders() []string {
	known := map[string]bool{}
	for file := range f.files {
		for name := path.Dir(file); name != "." && !known[name]; name = path.Dir(name) {
			known[name] = true
		}
	}
	list := slices.Collect(maps.Keys(known))
	list = slices.DeleteFunc(list, func(name string) bool { return strings.Contains("/"+name, "/.") })
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), strings.Compare(a, b))
	})
	return list
}

// entry describes a file or a folder.
type entry struct {
	name   string
	folder bool
}

func (e entry) Name() string     { return path.Base(e.name) }
func (entry) Size() int64        { return 0 }
func (entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool      { return e.folder }
func (entry) Sys() any           { return nil }
func (e entry) Mode() fs.FileMode {
	if e.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// openFile is an open file of a folder.
type openFile struct {
	entry
	r    *request
	file *file
	rest *bytes.Reader // nil before the first read
}

// Stat describes the file. Its size is not known before it is read.
func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }

// Contents returns the bytes of the file. Models keep them.
func (f *openFile) Contents() ([]byte, error) {
	if f.file.data != nil {
		return f.file.data, nil
	}
	data, err := f.file.read(f.r)
	if err != nil {
		return nil, err
	}
	f.r.event(map[string]any{"stage": "prepare"})
	f.file.data = data
	return data, nil
}

// Read reads bytes of the file.
func (f *openFile) Read(b []byte) (int, error) {
	if f.rest == nil {
		data, err := f.Contents()
		if err != nil {
			return 0, err
		}
		f.rest = bytes.NewReader(data)
	}
	return f.rest.Read(b)
}

// Close does nothing.
func (f *openFile) Close() error { return nil }
