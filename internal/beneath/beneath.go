// Package beneath opens files named by a model's folder. It opens only files within the folder, and
// only regular ones, so that no file makes a reader wait.
package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Open opens a regular file by a slash-separated path below folder root. It follows links that stay
// in the folder, and links of a Hugging Face cache to blobs in the same repository. It refuses
// other links. It checks the file that it has opened, so that nothing can be exchanged in between.
// The file may have other names elsewhere.
func Open(root *os.Root, path string) (*os.File, error) {
	name := filepath.FromSlash(path)
	f, err := openRegular(root, name)
	if err == nil {
		return f, nil
	}
	if repository, blob, ok := blobOf(root, name); ok {
		f, err = openIn(repository, blob)
	}
	if escapes(err) {
		err = errors.New("its path has a link that leaves the model's folder; " +
			"such links are refused, put the file itself into the folder")
	}
	return f, err
}

// Named opens a regular file named by the caller. It follows all links.
func Named(path string) (*os.File, error) {
	return regular(os.Stat, os.OpenFile, path)
}

// escapes reports whether a folder refused a path that leaves it. Package os exports no such error.
func escapes(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e) && strings.Contains(e.Err.Error(), "escapes")
}

var errIrregular = errors.New("it is no regular file")

// openRegular opens a regular file below a folder.
func openRegular(root *os.Root, name string) (*os.File, error) {
	return regular(root.Stat, root.OpenFile, name)
}

// regular opens a regular file. It does not wait for the writer of a pipe.
func regular(
	stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error), name string,
) (*os.File, error) {
	info, err := stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := open(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func openIn(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openRegular(root, name)
}

// FS returns a folder as a file system that opens files with Open.
func FS(folder string) fs.FS { return folderFS(folder) }

type folderFS string

// Open opens a file of the folder.
func (f folderFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(f))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := Open(root, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return file, nil
}
