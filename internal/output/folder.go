package output

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is a folder that is being written under another name. Its files are of the folder alone.
type Folder struct {
	path string
	temp *os.File // the folder under its other name; nil after Commit or Discard
}

// CreateFolder starts a folder, which takes its place on Commit. Until then nothing is there. If
// path is anything but an empty folder, CreateFolder fails. It removes unfinished folders of the
// same name that killed processes left.
func CreateFolder(path string) (*Folder, error) {
	path = filepath.Clean(path)
	if err := vacant(path); err != nil {
		return nil, err
	}
	pending.Lock()
	defer pending.Unlock()
	if pending.abandoned {
		return nil, ErrInterrupted
	}
	parent, name := filepath.Split(path)
	removeStale(parent, name, func(e fs.DirEntry) bool { return e.IsDir() })
	for {
		temp := filepath.Join(parent, temporary(name))
		err := try("mkdir", func() error { return os.Mkdir(temp, 0o777) })
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := os.Open(temp)
		if err != nil {
			os.Remove(temp)
			return nil, err
		}
		if !hold(f) {
			f.Close()
			continue
		}
		p := &Folder{path: path, temp: f}
		if pending.folders == nil {
			pending.folders = map[*Folder]bool{}
		}
		pending.folders[p] = true
		return p, nil
	}
}

// vacant returns an error unless path is free or an empty folder.
func vacant(path string) error {
	entries, err := os.ReadDir(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(entries) > 0:
		err = errors.New("the folder is not empty; give a new one")
	case err == nil:
		return nil
	default:
		if info, err2 := os.Lstat(path); err2 == nil && !info.IsDir() {
			err = errors.New("there is a file of that name; give a new folder")
		}
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}

// Create starts a file of the folder, which Commit of the file completes. Its name may have
// folders, with slashes between.
func (p *Folder) Create(name string) (*File, error) {
	if p.temp == nil {
		return nil, fs.ErrClosed
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, &fs.PathError{Op: "write", Path: name, Err: errors.New("the name leaves the folder")}
	}
	path := filepath.Join(p.temp.Name(), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return Create(path)
}

// Commit moves the folder to its place.
func (p *Folder) Commit() error {
	if p.temp == nil {
		return fs.ErrClosed
	}
	pending.Lock()
	defer pending.Unlock()
	f := p.temp
	p.temp = nil
	if !pending.folders[p] {
		f.Close()
		return ErrInterrupted
	}
	delete(pending.folders, p)
	if !renameOpen {
		f.Close()
	}
	err := try("rename", func() error {
		os.Remove(p.path) // an empty folder; some systems do not rename over one
		return os.Rename(f.Name(), p.path)
	})
	if err != nil {
		os.RemoveAll(f.Name())
	}
	if renameOpen {
		f.Close()
	}
	return err
}

// Discard removes the folder unless it was committed.
func (p *Folder) Discard() {
	if p.temp == nil {
		return
	}
	pending.Lock()
	defer pending.Unlock()
	p.drop()
	p.temp = nil
}

// drop removes an unfinished folder. The caller holds pending.
func (p *Folder) drop() {
	p.temp.Close()
	os.RemoveAll(p.temp.Name())
	delete(pending.folders, p)
}
