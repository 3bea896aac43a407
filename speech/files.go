package speech

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/beneath"
)

// files is the folder with the files of a voice.
type files struct {
	fsys fs.FS
	// name is the file that the caller has named in the folder; "" if the folder itself is the voice.
	name string
	// shown is the path of the folder in messages.
	shown string
	// disk is the folder's path on disk, so that models can be mapped; "" for other file systems.
	disk string
}

// onDisk returns the files of a voice on disk.
func onDisk(name string) (files, error) {
	info, err := os.Stat(name)
	if err != nil {
		return files{}, err
	}
	if info.IsDir() {
		return files{beneath.FS(name), "", name, name}, nil
	}
	folder := filepath.Dir(name)
	return files{beneath.FS(folder), filepath.Base(name), folder, folder}, nil
}

// within returns the files of a voice in a file system.
func within(fsys fs.FS, name string) (files, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return files{}, err
	}
	folder, file := name, ""
	if !info.IsDir() {
		folder, file = path.Dir(name), path.Base(name)
	}
	sub, err := fs.Sub(fsys, folder)
	if err != nil {
		return files{}, err
	}
	return files{sub, file, folder, ""}, nil
}

// path returns the path of a file for messages.
func (f files) path(name string) string { return filepath.Join(f.shown, filepath.FromSlash(name)) }

// has reports whether there is a file of that name.
func (f files) has(name string) bool {
	info, err := fs.Stat(f.fsys, name)
	return err == nil && !info.IsDir()
}

// glob returns the names that match a pattern, in order; nil if there are none.
func (f files) glob(pattern string) []string {
	names := f.fsys
	if f.disk != "" {
		names = os.DirFS(f.disk)
	}
	list, _ := fs.Glob(names, pattern)
	return list
}

// read returns the contents of a file of at most limit bytes.
func (f files) read(name string, limit int64) ([]byte, error) {
	file, err := f.fsys.Open(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path(name), cause(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path(name), cause(err))
	}
	if int64(len(data)) > limit {
		return nil, errorf(nacre.ErrFormat, "%s: the file has more than %d bytes", f.path(name), limit)
	}
	return data, nil
}

// model opens a model among the files.
func (f files) model(name string) (*nacre.Model, error) {
	if f.disk != "" {
		return nacre.Open(filepath.Join(f.disk, filepath.FromSlash(name)))
	}
	return nacre.OpenFS(f.fsys, name)
}
