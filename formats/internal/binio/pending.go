package binio

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Pending is a new file that takes its place, and that of what was there, only
// when all of it is written.
type Pending struct {
	path string
	file *os.File // nil when committed or discarded
}

// Create starts a file in the folder of path.
func Create(path string) (*Pending, error) {
	folder, name := filepath.Split(path)
	for {
		temp := filepath.Join(folder, fmt.Sprintf(".%s.%08x.tmp", name, rand.Uint32()))
		f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &Pending{path: path, file: f}, nil
	}
}

// Write appends to the file.
func (p *Pending) Write(b []byte) (int, error) { return p.file.Write(b) }

// Commit puts the file in its place.
func (p *Pending) Commit() error {
	f := p.file
	p.file = nil
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), p.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Discard removes the file, unless it was committed.
func (p *Pending) Discard() {
	if p.file != nil {
		p.file.Close()
		os.Remove(p.file.Name())
		p.file = nil
	}
}
