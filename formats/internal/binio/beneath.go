package binio

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Beneath opens a regular file by a slash-separated path below the folder root. It follows
// links that stay in the folder, and those of a cache of Hugging Face to its blobs, which
// stay in the repository; it refuses others. The file that it judges is the one that it
// opened, so that nothing can be exchanged in between. A file may have other names elsewhere.
func Beneath(root *os.Root, path string) (*File, error) {
	name := filepath.FromSlash(path)
	f, err := openRegular(root, name)
	if err != nil {
		if repository, blob, ok := blobOf(root, name); ok {
			f, err = openIn(repository, blob)
		}
		if escapes(err) {
			err = errors.New("it is, or lies behind, a link that leaves the model's folder; " +
				"such links are refused, put the file itself into the folder")
		}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := Map(f)
	if err == nil {
		file.Path = filepath.Join(root.Name(), name)
	}
	return file, err
}

// escapes reports whether a folder refused a path because it leaves the folder. Package os
// exports no such error.
func escapes(err error) bool {
	var e *fs.PathError
	return errors.As(err, &e) && strings.Contains(e.Err.Error(), "escapes")
}

var errIrregular = errors.New("it is no regular file")

// openRegular opens a regular file below a folder. It does not wait for the writer of a pipe.
func openRegular(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errIrregular
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
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
