package binio

import (
	"os"
	"path/filepath"

	"github.com/nacre-ml/nacre/internal/beneath"
)

// Beneath returns the bytes of a regular file below the folder root. It opens the file with
// beneath.Open.
func Beneath(root *os.Root, path string) (*File, error) {
	f, err := beneath.Open(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := Map(f)
	if err == nil {
		file.Path = filepath.Join(root.Name(), filepath.FromSlash(path))
	}
	return file, err
}
