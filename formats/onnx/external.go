package onnx

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// external holds the files of external data of one model. Each is mapped once.
type external struct {
	find  func(parts []string) (*binio.File, error)
	limit int
	files map[string]*binio.File

	// sums holds the checksums of files that were computed so far. If it is nil, checksums in the
	// model are not compared with the files.
	sums map[*binio.File]string
}

func newExternal(find func(parts []string) (*binio.File, error), limit int) *external {
	return &external{find: find, limit: limit, files: map[string]*binio.File{}}
}

// beside returns a function that opens files below the folder of a model.
func beside(model string) func(parts []string) (*binio.File, error) {
	folder := filepath.Dir(model)
	return func(parts []string) (*binio.File, error) {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return nil, err
		}
		defer root.Close()
		return binio.Beneath(root, strings.Join(parts, "/"))
	}
}

// within returns a function that opens files of a file system, until the context of b ends.
func within(b *budget.Budget, fsys fs.FS) func(parts []string) (*binio.File, error) {
	return func(parts []string) (*binio.File, error) { return binio.OpenFS(b, fsys, strings.Join(parts, "/")) }
}

// Close unmaps the files.
func (e *external) Close() error {
	var err error
	for _, f := range e.files {
		err = errors.Join(err, f.Close())
	}
	return err
}

// bytes yields the bytes of every file.
func (e *external) bytes(yield func([]byte) bool) {
	for _, f := range e.files {
		if !yield(f.Data) {
			return
		}
	}
}

// place says where the elements of a tensor are stored.
type place struct {
	location string
	offset   int64
	length   int64 // negative if not given
	checksum string
}

func (d *decoder) externalTensor(p *tensorProto) (*tensor.Tensor, error) {
	if d.ext == nil {
		return nil, graph.Errorf(graph.ErrUnsupported, "the model has external data and comes without files; open the model as a file")
	}
	at, err := parsePlace(p.entries)
	if err != nil {
		return nil, err
	}
	need := int64(p.dtype.Bytes(p.shape.Len()))
	if at.length >= 0 && at.length != need {
		return nil, fmt.Errorf("external data of %d bytes where %v%v takes %d", at.length, p.dtype, p.shape, need)
	}
	f, err := d.ext.open(at.location)
	if err != nil {
		return nil, fmt.Errorf("external data %q: %w", at.location, err)
	}
	if size := int64(len(f.Data)); at.offset > size || need > size-at.offset {
		return nil, fmt.Errorf("external data %q has %d bytes, too few for %d from byte %d on", at.location, size, need, at.offset)
	}
	data := f.Data[at.offset : at.offset+need : at.offset+need]
	if d.ext.sums != nil && at.checksum != "" && !strings.EqualFold(at.checksum, d.sum(f)) {
		return nil, fmt.Errorf("external data %q does not have the checksum %s", at.location, at.checksum)
	}
	return d.view(p.dtype, p.shape, data)
}

// sum returns the SHA-1 checksum of a whole file of external data.
func (d *decoder) sum(f *binio.File) string {
	s, ok := d.ext.sums[f]
	if !ok {
		h := sha1.New()
		_, err := pieces.Writer(d.budget, h).Write(f.Data)
		d.spends(-1, err)
		s = hex.EncodeToString(h.Sum(nil))
		d.ext.sums[f] = s
	}
	return s
}

// parsePlace reads the entries of external_data. It ignores basepath, which is for writers.
func parsePlace(entries []graph.Pair) (place, error) {
	at := place{length: -1}
	met := map[string]bool{}
	for _, e := range entries {
		if met[e.Key] {
			return at, fmt.Errorf("external_data gives %q twice", e.Key)
		}
		met[e.Key] = true
		var err error
		switch e.Key {
		case "location":
			at.location = e.Value
		case "offset":
			at.offset, err = count(e)
		case "length":
			at.length, err = count(e)
		case "checksum":
			at.checksum = e.Value
		case "basepath":
		default:
			err = fmt.Errorf("external_data has the unknown key %q", e.Key)
		}
		if err != nil {
			return at, err
		}
	}
	if at.location == "" {
		return at, errors.New("external_data has no location")
	}
	return at, nil
}

func count(e graph.Pair) (int64, error) {
	n, err := strconv.ParseInt(e.Value, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt {
		return 0, fmt.Errorf("external_data has %s %q, which is no number from 0", e.Key, e.Value)
	}
	return n, nil
}

// open returns the file at a location. The file must be below the model's folder.
func (e *external) open(location string) (*binio.File, error) {
	parts, err := split(location)
	if err != nil {
		return nil, err
	}
	key := strings.Join(parts, "/")
	if f, ok := e.files[key]; ok {
		return f, nil
	}
	if len(e.files) == e.limit {
		return nil, fmt.Errorf("more than %d files", e.limit)
	}
	f, err := e.find(parts)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, err
	}
	e.files[key] = f
	return f, nil
}

// split returns the components of a relative path. It fails if the path may leave the folder where
// it starts.
func split(location string) ([]string, error) {
	if location[0] == '/' || !filepath.IsLocal(filepath.FromSlash(location)) || strings.ContainsRune(location, 0) {
		return nil, errors.New("location is no path beneath the model's folder")
	}
	var parts []string
	for _, s := range strings.Split(filepath.ToSlash(location), "/") {
		switch s {
		case "", ".":
		case "..":
			return nil, errors.New(`location has a ".."`)
		default:
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("location names no file")
	}
	return parts, nil
}
