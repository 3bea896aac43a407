package formats

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Probe returns the format of a file. The content tells it; if no format knows the content, the
// extension does.
func Probe(path string) (row Format, err error) {
	defer guard.At(path).End(&err)
	if row, ok := folder(path); ok {
		return row, nil
	}
	f, err := binio.Open(path)
	if err != nil {
		return Format{}, opening(path, err)
	}
	defer f.Close()
	format, _, err := detect(f)
	return format, err
}

// folder returns the format of models in folders, if path is a folder.
func folder(path string) (Format, bool) {
	info, err := os.Stat(path)
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.openFolder != nil })
	if err != nil || !info.IsDir() || i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

// detect returns the format of a file. known is true if the content shows it, and false if only the
// extension does.
func detect(f *binio.File) (format Format, known bool, err error) {
	for _, row := range Formats {
		if row.Probe(f.Data) {
			return row, true, nil
		}
	}
	if row, ok := byExtension(f.Path); ok && len(f.Data) > 0 {
		return row, false, nil
	}
	return Format{}, false, unknown(f.Path, f.Data)
}

// unknown returns the error for content of no known format.
func unknown(path string, data []byte) error {
	if len(data) == 0 {
		return &graph.Error{Stage: "load", File: path, Offset: -1, Kind: graph.ErrFormat, Err: errors.New("the file is empty")}
	}
	return &graph.Error{Stage: "load", File: path, Offset: -1, Kind: graph.ErrUnsupported,
		Err: fmt.Errorf("content is of no format that is known%s (%s)", resembles(data), beginnings())}
}

// misnamed returns the error for a file with content of no known format and the extension of the
// format promised. err is the error of reading it in that format.
func misnamed(f *binio.File, promised Format, err error) error {
	e := graph.Error{Stage: "load", File: f.Path, Offset: -1, Kind: graph.ErrFormat, Err: err}
	var inner *graph.Error
	if errors.As(err, &inner) {
		e = *inner
	}
	e.Err = fmt.Errorf("content is of no format that is known%s; read as %s by its extension: %w", resembles(f.Data),
		promised.Name, e.Err)
	return &e
}

// beginnings lists how files of each format begin.
func beginnings() string {
	list := make([]string, len(Formats))
	for i, f := range Formats {
		list[i] = f.Name + ": " + f.Begins
	}
	return strings.Join(list, "; ")
}

func byExtension(path string) (Format, bool) {
	ext := extension(path)
	i := slices.IndexFunc(Formats, func(f Format) bool { return slices.Contains(f.Extensions, ext) })
	if i < 0 {
		return Format{}, false
	}
	return Formats[i], true
}

func names() string {
	list := make([]string, len(Formats))
	for i, f := range Formats {
		list[i] = f.Name
	}
	return strings.Join(list, ", ")
}

func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }
