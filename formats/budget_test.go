package formats_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/formats/openinfer"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// crowds calls f with a file of many parts in each format, and in the other forms that formats
// have.
func crowds(t *testing.T, f func(t *testing.T, path string)) {
	for i := range formats.Formats {
		row := &formats.Formats[i]
		t.Run(row.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model"+row.Extensions[0])
			m := crowded(t, row.Name)
			if err := formats.SaveAs(path, row.Name, m, formats.Options{}); err != nil {
				t.Fatal(err)
			}
			f(t, path)
		})
	}
	t.Run("program in JSON", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "model.json")
		if err := formats.SaveAs(path, openinfer.Name, crowded(t, openinfer.Name), formats.Options{}); err != nil {
			t.Fatal(err)
		}
		f(t, path)
	})
	t.Run("external data", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "model.onnx")
		if err := onnx.Save(path, crowded(t, ""), onnx.SaveOptions{External: 1}); err != nil {
			t.Fatal(err)
		}
		f(t, path)
	})
	shards := func(t *testing.T) string {
		dir := t.TempDir()
		var index bytes.Buffer
		index.WriteString(`{"metadata":{},"weight_map":{`)
		for i := range 2 {
			m := crowded(t, "")
			for k, x := range m.Graph.Initializers {
				x.Name = fmt.Sprint(i, ".", k)
				fmt.Fprintf(&index, `"%s":"%d.safetensors",`, x.Name, i)
			}
			if err := formats.Save(filepath.Join(dir, fmt.Sprint(i, ".safetensors")), m, formats.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		index.Truncate(index.Len() - 1)
		index.WriteString(`}}`)
		for name, text := range map[string]string{"model.safetensors.index.json": index.String(), "config.json": `{"model_type":"llama"}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	t.Run("folder", func(t *testing.T) { f(t, shards(t)) })
	t.Run("index", func(t *testing.T) { f(t, filepath.Join(shards(t), "model.safetensors.index.json")) })
}

// looks is a context that ends after a number of calls of Err.
type looks struct {
	context.Context
	n, most atomic.Int64
}

func (l *looks) Err() error {
	if l.n.Add(1) > l.most.Load() {
		return context.Canceled
	}
	return nil
}

// readings returns functions that read the files at path in all ways there are.
func readings(t *testing.T, path string) map[string]func(b *budget.Budget) error {
	loaded := func(load func(b *budget.Budget) (*graph.Model, error)) func(b *budget.Budget) error {
		return func(b *budget.Budget) error {
			m, err := load(b)
			if err == nil {
				err = m.Close()
			}
			return err
		}
	}
	dir, name := filepath.Split(path)
	ways := map[string]func(b *budget.Budget) error{
		"load":        loaded(func(b *budget.Budget) (*graph.Model, error) { return formats.LoadWithin(b, path) }),
		"verify":      func(b *budget.Budget) error { return errors.Join(formats.VerifyWithin(b, path)...) },
		"file system": loaded(func(b *budget.Budget) (*graph.Model, error) { return formats.LoadFSWithin(b, os.DirFS(dir), name) }),
		"memory": loaded(func(b *budget.Budget) (*graph.Model, error) {
			return formats.LoadFSWithin(b, unmapped{os.DirFS(dir)}, name)
		}),
	}
	if data, err := os.ReadFile(path); err == nil {
		beside := unmapped{os.DirFS(dir)}
		ways["decode"] = loaded(func(b *budget.Budget) (*graph.Model, error) { return formats.DecodeFilesWithin(b, path, data, beside) })
		ways["reader"] = loaded(func(b *budget.Budget) (*graph.Model, error) {
			return formats.LoadReaderAtWithin(b, path, bytes.NewReader(data), int64(len(data)), beside)
		})
	}
	if filepath.Ext(path) == ".hnw" {
		ways["replace"] = func(b *budget.Budget) error { return replacing(t, b, path) }
	}
	return ways
}

// unmapped is a file system whose files are read into memory.
type unmapped struct{ fs.FS }

func (u unmapped) Open(name string) (fs.File, error) {
	f, err := u.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// replacing replaces the weights of the model in an archive by the archive's. It checks that an
// error leaves the model as it was.
func replacing(t *testing.T, b *budget.Budget, path string) error {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	before := m.Graph.Initializers[0].Tensor
	err = formats.ReplaceWeightsWithin(b, m, path)
	if replaced := m.Graph.Initializers[0].Tensor != before; replaced != (err == nil) {
		t.Errorf("weights are replaced: %t, %v", replaced, err)
	}
	return errors.Join(err, m.Close())
}

// TestReadersEnd opens and verifies files in contexts that end at the first look, at the last, and
// at some between. Readers look often, and stop soon.
func TestReadersEnd(t *testing.T) {
	crowds(t, func(t *testing.T, path string) {
		for name, read := range readings(t, path) {
			within := func(most int64) (int64, error) {
				l := &looks{Context: context.Background()}
				l.most.Store(most)
				err := read(budget.New(l, budget.Limits{}))
				return l.n.Load(), err
			}
			all, err := within(math.MaxInt64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			// A reader looks at least once per MiB of a file, and once per some hundreds of parts.
			if all < manyParts/512 {
				t.Errorf("%s: the context is looked at %d times", name, all)
			}
			const after = 16
			for _, most := range []int64{0, 1, 2, all / 4, all / 2, all - 1} {
				n, err := within(most)
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s, done after %d looks of %d: %v", name, most, all, err)
				}
				if n > most+after {
					t.Errorf("%s, done after %d looks of %d: %d follow", name, most, all, n-most)
				}
			}
		}
	})
}

// TestReadersMemory opens files with a memory limit that doubles until it is enough. The bytes that
// readers count are of the order of the bytes that they allocate.
func TestReadersMemory(t *testing.T) {
	crowds(t, func(t *testing.T, path string) {
		open := func(bytes int64) (int64, error) {
			b := budget.New(context.Background(), budget.Limits{Bytes: bytes})
			m, err := formats.LoadWithin(b, path)
			if err == nil {
				err = m.Close()
			}
			return b.Held(), err
		}
		refused := 0
		for bytes := int64(1); ; bytes *= 2 {
			_, err := open(bytes)
			if err == nil {
				break
			}
			refused++
			if !errors.Is(err, graph.ErrMemory) {
				t.Fatalf("%d bytes: %v", bytes, err)
			}
			if problems := formats.VerifyWithin(budget.New(context.Background(), budget.Limits{Bytes: bytes}), path); !errors.Is(errors.Join(problems...), graph.ErrMemory) {
				t.Errorf("%d bytes: verifying finds %v", bytes, problems)
			}
		}
		if refused == 0 {
			t.Error("no memory is enough")
		}
		held, _ := open(0)
		const spare, most = 1 << 20, 8
		if took := int64(fixtures.Allocated(func() { _, _ = open(0) })); took > most*held+spare {
			t.Errorf("%d bytes are taken, and %d counted", took, held)
		}
	})
}
