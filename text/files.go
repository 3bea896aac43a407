package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/beneath"
)

// maxConfig bounds the bytes of a file of settings.
const maxConfig = 4 << 20

// A folder holds the files of a model.
type folder struct {
	path string
	fsys fs.FS
}

func openFolder(name string) (folder, error) {
	info, err := os.Stat(name)
	if err != nil {
		return folder{}, err
	}
	if !info.IsDir() {
		return folder{}, errorf(nacre.ErrUnsupported,
			"%s: a folder with config.json, tokenizer.json and a network is needed", name)
	}
	return folder{name, beneath.FS(name)}, nil
}

// file returns the path of a file for messages, and for packages that open files themselves.
func (f folder) file(name string) string { return filepath.Join(f.path, filepath.FromSlash(name)) }

// below returns a folder in the folder.
func (f folder) below(name string) (folder, error) {
	if name == "" || name == "." {
		return f, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return folder{}, errorf(nacre.ErrFormat, "the path %.80q leads out of the folder", name)
	}
	sub, err := fs.Sub(f.fsys, path.Clean(name))
	return folder{f.file(name), sub}, err
}

// has reports whether there is a file of that name.
func (f folder) has(name string) bool {
	info, err := fs.Stat(f.fsys, name)
	return err == nil && !info.IsDir()
}

// json reads a file into a value. If there is no such file, it returns false.
func (f folder) json(name string, to any) (bool, error) {
	file, err := f.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var data []byte
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, maxConfig+1))
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("%s: %w", f.file(name), cause(err))
	case len(data) > maxConfig:
		return false, errorf(nacre.ErrFormat, "%s: the file has more than %d bytes", f.file(name), maxConfig)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return false, errorf(nacre.ErrFormat, "%s: %w", f.file(name), err)
	}
	return true, nil
}

// networks are the files of networks in a folder, the best first.
var networks = []string{"model.onnx", "onnx/model.onnx"}

// The files of a folder of Hugging Face, of which config.json says what they are.
const (
	shard      = "model.safetensors"
	shardIndex = "model.safetensors.index.json"
)

// safetensors reports whether a file stands for such a folder.
func safetensors(name string) bool { return name == shard || name == shardIndex }

// network returns the path of the network: a file, or the folder itself with safetensors files.
func (f folder) network(asked string) (string, error) {
	if asked != "" {
		if !filepath.IsLocal(filepath.FromSlash(asked)) {
			return "", errorf(nacre.ErrOption, "%s: option File is %q, which leads out of the folder", f.path, asked)
		}
		if safetensors(asked) {
			return f.path, nil
		}
		return f.file(asked), nil
	}
	for _, name := range networks {
		if f.has(name) {
			return f.file(name), nil
		}
	}
	for _, name := range []string{shard, shardIndex} {
		if f.has(name) {
			return f.path, nil
		}
	}
	return "", errorf(fs.ErrNotExist,
		"%s: no network: model.onnx, onnx/model.onnx or model.safetensors is needed; option File names another",
		f.path)
}
