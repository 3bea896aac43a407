// Package output writes files and folders that are complete or absent. An output is written under
// another name next to its own, and takes its place once it is complete.
package output

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/nacre-ml/nacre/internal/mapped"
)

// ErrInterrupted is the error of Create and Commit after Abandon.
var ErrInterrupted = errors.New("interrupted")

// Fault, unless nil, is called before each system call that writes: open, chmod, write, sync,
// rename or close. If it returns an error, the call fails with it. Tests set it.
var Fault func(call string) error

// try makes a system call.
func try(call string, f func() error) error {
	if Fault != nil {
		if err := Fault(call); err != nil {
			return err
		}
	}
	return f()
}

// File is an output that is being written.
type File struct {
	path  string
	file  *os.File // nil after Commit or Discard
	whole bool     // written under another name; else a device or a pipe, written directly
	there bool     // in its place
}

// pending holds the files and folders that still have another name.
var pending struct {
	sync.Mutex
	files     map[*File]bool
	folders   map[*Folder]bool
	abandoned bool
}

// Create starts an output. A symbolic link at path stands for its target, which need not exist. A
// regular file there stays unchanged until Commit. Character devices and pipes are written
// directly. Folders, block devices and sockets are errors. Create removes unfinished outputs of the
// same name that killed processes left.
func Create(path string) (*File, error) {
	target, mode, err := resolve(path)
	if err != nil {
		return nil, err
	}
	switch {
	case mode.IsRegular():
		return begin(target, mode.Perm())
	case mode&fs.ModeCharDevice != 0 || mode&fs.ModeNamedPipe != 0:
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &File{path: target, file: f}, nil
	case mode.IsDir():
		return nil, aFolder(path)
	}
	return nil, &fs.PathError{Op: "write", Path: path,
		Err: fmt.Errorf("neither a regular file nor a pipe or character device, but %v", mode.Type())}
}

func aFolder(path string) error {
	return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a folder; give the name of a file in it")}
}

// resolve follows symbolic links. For a file that does not exist, it returns the mode of a regular
// file without permissions.
func resolve(path string) (target string, mode fs.FileMode, err error) {
	const most = 40 // links, like the kernel's limit
	at := path
	for range most {
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return at, 0, nil
		case err != nil:
			return "", 0, err
		case info.Mode()&fs.ModeSymlink == 0:
			return at, info.Mode(), nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", 0, err
		}
		if !filepath.IsAbs(to) {
			// Not Join, which would remove ".." after a link to a folder.
			to = filepath.Dir(at) + string(filepath.Separator) + to
		}
		at = to
	}
	return "", 0, &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// begin creates a file of another name in the folder of path. It takes over the permissions of an
// existing file.
func begin(path string, mode fs.FileMode) (*File, error) {
	pending.Lock()
	defer pending.Unlock()
	if pending.abandoned {
		return nil, ErrInterrupted
	}
	folder, name := filepath.Split(path)
	if name == "" {
		return nil, aFolder(path)
	}
	removeStale(folder, name, func(e fs.DirEntry) bool { return e.Type().IsRegular() })
	for {
		var f *os.File
		err := try("open", func() (err error) {
			f, err = os.OpenFile(filepath.Join(folder, temporary(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
			return err
		})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !hold(f) {
			f.Close()
			continue
		}
		p := &File{path: path, file: f, whole: true}
		if mode != 0 {
			err = try("chmod", func() error { return f.Chmod(mode) })
		}
		if err != nil {
			p.remove()
			return nil, err
		}
		if pending.files == nil {
			pending.files = map[*File]bool{}
		}
		pending.files[p] = true
		return p, nil
	}
}

// Names of files being written are a dot, the name, a dot, 8 hexadecimal digits and suffix.
const suffix = ".nacre-tmp"

func temporary(name string) string { return fmt.Sprintf(".%s.%08x%s", name, rand.Uint32(), suffix) }

// removeStale removes unfinished outputs for that name that no process holds.
func removeStale(folder, name string, kind func(fs.DirEntry) bool) {
	if folder == "" {
		folder = "."
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "."+name+".")
		if digits, ok2 := strings.CutSuffix(digits, suffix); !ok || !ok2 || len(digits) != 8 || !kind(e) {
			continue
		}
		if path := filepath.Join(folder, e.Name()); stale(path) {
			os.RemoveAll(path)
		}
	}
}

// Write appends to the file. If b is in a mapped file that has lost those bytes, the error is a
// *mapped.Lost.
func (p *File) Write(b []byte) (int, error) {
	if p.file == nil {
		return 0, fs.ErrClosed
	}
	n := 0
	err := try("write", func() (err error) {
		n, err = p.file.Write(b)
		return err
	})
	if errors.Is(err, syscall.EFAULT) {
		if lost := mapped.Source(b); lost != nil {
			err = lost
		}
	}
	return n, err
}

// WriteAt writes over bytes that were written. For a device or a pipe, the error is
// errors.ErrUnsupported.
func (p *File) WriteAt(b []byte, offset int64) (int, error) {
	switch {
	case p.file == nil:
		return 0, fs.ErrClosed
	case !p.whole:
		return 0, errors.ErrUnsupported
	}
	n := 0
	err := try("write", func() (err error) {
		n, err = p.file.WriteAt(b, offset)
		return err
	})
	return n, err
}

// Commit moves the file to its place.
func (p *File) Commit() error {
	if p.file == nil {
		return fs.ErrClosed
	}
	if !p.whole {
		f := p.file
		p.file = nil
		return f.Close()
	}
	pending.Lock()
	defer pending.Unlock()
	if !pending.files[p] {
		p.remove()
		return ErrInterrupted
	}
	delete(pending.files, p)
	f := p.file
	p.file = nil
	err := try("sync", f.Sync)
	if !renameOpen {
		err = errors.Join(err, try("close", f.Close))
	}
	if err == nil {
		err = try("rename", func() error { return os.Rename(f.Name(), p.path) })
	}
	p.there = err == nil
	if err != nil {
		os.Remove(f.Name())
	}
	if renameOpen {
		err = errors.Join(err, try("close", f.Close))
	}
	return err
}

// InPlace reports whether the file has replaced an earlier one. After an error of Commit it may
// have.
func (p *File) InPlace() bool { return p.there }

// Discard removes the file unless it was committed.
func (p *File) Discard() {
	if p.file == nil {
		return
	}
	if !p.whole {
		p.file.Close()
		p.file = nil
		return
	}
	pending.Lock()
	defer pending.Unlock()
	p.remove()
}

// remove removes an unfinished file. The caller holds pending.
func (p *File) remove() {
	p.drop()
	p.file.Close()
	p.file = nil
}

// drop removes an unfinished file from its folder and from the list. The caller holds pending.
func (p *File) drop() {
	if !renameOpen {
		p.file.Close()
	}
	os.Remove(p.file.Name())
	delete(pending.files, p)
}

// Abandon removes every file and folder being written, and makes later calls of Create and Commit fail. It is
// for a process that is about to end.
func Abandon() {
	pending.Lock()
	defer pending.Unlock()
	pending.abandoned = true
	for p := range pending.files {
		p.drop()
	}
	for p := range pending.folders {
		p.drop()
	}
}
