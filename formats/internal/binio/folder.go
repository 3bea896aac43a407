package binio

import (
	"errors"
	"io/fs"
	"os"

	"github.com/nacre-ml/nacre/internal/pieces"
)

// Folder is the files of a model that are in one folder.
type Folder struct {
	FS    fs.FS   // nil unless the folder is open
	Files []*File // opened so far
	root  *os.Root
}

// Enter opens a folder of the operating system.
func (f *Folder) Enter(name string) error {
	root, err := os.OpenRoot(name)
	if err != nil {
		return err
	}
	f.root, f.FS = root, root.FS()
	return nil
}

// Open opens a regular file of the folder. Of a folder of the operating system, the file is opened
// as Beneath does.
func (f *Folder) Open(ctx pieces.Context, name string) (file *File, err error) {
	if f.root == nil {
		file, err = OpenFS(ctx, f.FS, name)
	} else {
		file, err = Beneath(f.root, name)
	}
	if err != nil {
		return nil, err
	}
	f.Files = append(f.Files, file)
	return file, nil
}

// Leave closes the folder. Its files stay open.
func (f *Folder) Leave() error {
	var err error
	if f.root != nil {
		err = f.root.Close()
	}
	f.root, f.FS = nil, nil
	return err
}

// Close closes the files and the folder.
func (f *Folder) Close() error {
	var err error
	for _, file := range f.Files {
		err = errors.Join(err, file.Close())
	}
	f.Files = nil
	return errors.Join(err, f.Leave())
}

// Cause returns err without the file name of a file system's error.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
