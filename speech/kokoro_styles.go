package speech

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/npy"
)

// kokoroStyle is the style of a speaker: a row of kokoroWidth numbers for each number of phonemes.
type kokoroStyle struct {
	name string
	rows []float32
}

const (
	kokoroWidth = 256
	// maxStyles and maxStyle are the most bytes of all styles and of one: four times as many as the
	// published files have.
	maxStyles = 128 << 20
	maxStyle  = 4 * kokoroTokens * kokoroWidth * 4
)

// row returns the style of n phonemes, n at least 1.
func (s *kokoroStyle) row(n int) []float32 {
	i := min(n, len(s.rows)/kokoroWidth) - 1
	return s.rows[i*kokoroWidth:][:kokoroWidth]
}

// readStyles reads an archive of .npy files, one for each speaker.
func readStyles(f files, name string) ([]kokoroStyle, error) {
	data, err := f.read(name, maxStyles)
	if err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, errorf(nacre.ErrFormat, "%s: %w; styles are an archive of .npy files", f.path(name), err)
	}
	var list []kokoroStyle
	for _, entry := range archive.File {
		speaker, isArray := strings.CutSuffix(entry.Name, ".npy")
		if !isArray {
			continue
		}
		rows, err := readArray(entry)
		if err != nil {
			return nil, errorf(nacre.ErrFormat, "%s: %s: %w", f.path(name), entry.Name, err)
		}
		list = append(list, kokoroStyle{speaker, rows})
	}
	return checkStyles(list, f.path(name))
}

// readArray reads an entry that holds rows of float32.
func readArray(entry *zip.File) ([]float32, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxStyle+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxStyle {
		return nil, fmt.Errorf("it has more than %d bytes", maxStyle)
	}
	t, err := npy.Decode(nil, data)
	if err != nil {
		return nil, err
	}
	if t.DType() != nacre.Float32 {
		return nil, fmt.Errorf("its elements are %v; styles are float32", t.DType())
	}
	return nacre.Data[float32](t)
}

// readStyleFiles reads a folder of files SPEAKER.bin, which hold the numbers alone.
func readStyleFiles(f files, folder string) ([]kokoroStyle, error) {
	var list []kokoroStyle
	for _, name := range f.glob(path.Join(folder, "*.bin")) {
		data, err := f.read(name, maxStyle)
		if err != nil {
			return nil, err
		}
		rows := make([]float32, len(data)/4)
		for i := range rows {
			rows[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
		if len(data)%4 != 0 {
			rows = nil
		}
		list = append(list, kokoroStyle{strings.TrimSuffix(path.Base(name), ".bin"), rows})
	}
	return checkStyles(list, f.path(folder))
}

// checkStyles returns the styles in the order of their names.
func checkStyles(list []kokoroStyle, name string) ([]kokoroStyle, error) {
	if len(list) == 0 {
		return nil, errorf(nacre.ErrFormat, "%s: there are no styles of speakers", name)
	}
	for _, s := range list {
		switch {
		case s.name == "":
			return nil, errorf(nacre.ErrFormat, "%s: a style has no name", name)
		case len(s.rows) == 0 || len(s.rows)%kokoroWidth != 0:
			return nil, errorf(nacre.ErrFormat, "%s: the style of %s is no rows of %d numbers", name, s.name, kokoroWidth)
		case slices.ContainsFunc(s.rows, func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }):
			return nil, errorf(nacre.ErrFormat, "%s: the style of %s has a value that is no number", name, s.name)
		}
	}
	slices.SortFunc(list, func(a, b kokoroStyle) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}
