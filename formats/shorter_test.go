package formats_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// needMaps skips a test on systems where files are read and not mapped.
func needMaps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files are read into memory here, and cannot get shorter under a reader")
	}
}

// isShorter checks that err says that the file at path lost bytes.
func isShorter(t *testing.T, path string, err error) {
	t.Helper()
	var e *graph.Error
	if !errors.Is(err, graph.ErrFormat) || !errors.As(err, &e) || e.File != path || !strings.Contains(err.Error(), "lost bytes") {
		t.Errorf("want that %s lost bytes: %v", path, err)
	}
}

// TestShorterWhileSaved shortens the files of open models: to a page, so that bytes are gone, and
// by a byte, so that the byte reads as zero.
func TestShorterWhileSaved(t *testing.T) {
	needMaps(t)
	for _, f := range formats.Formats {
		for _, cut := range []int64{-1, 4096} {
			t.Run(f.Name, func(t *testing.T) {
				dir := t.TempDir()
				in := filepath.Join(dir, "in"+f.Extensions[0])
				m, o := sample(t, f.Name, 1<<16), formats.Options{DropMeta: true}
				if err := formats.SaveAs(in, f.Name, m, o); err != nil {
					t.Fatal(err)
				}
				m, err := formats.Load(in)
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				if err := formats.Intact(m); err != nil {
					t.Fatal(err)
				}
				size := cut
				if info, err := os.Stat(in); err == nil && cut < 0 {
					size = info.Size() + cut
				}
				if err := os.Truncate(in, size); err != nil {
					t.Fatal(err)
				}
				isShorter(t, in, formats.Intact(m))
				for _, to := range []string{f.Name, "safetensors", "onnx"} {
					out := filepath.Join(dir, "out."+to)
					isShorter(t, in, formats.SaveAs(out, to, m, formats.Options{DropMeta: true, DropGraph: true}))
					if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
						t.Errorf("%s is there: %v", to, err)
					}
				}
			})
		}
	}
}

// hooked is a folder that calls hook when the file name is opened.
type hooked struct {
	dir  string
	name string
	hook func()
}

func (h hooked) Open(name string) (fs.File, error) {
	if name == h.name {
		h.hook()
	}
	return os.Open(filepath.Join(h.dir, name))
}

// TestShorterWhileLoaded shortens a model's first file after the reader has mapped it, when the
// reader opens the second file.
func TestShorterWhileLoaded(t *testing.T) {
	needMaps(t)
	t.Run("onnx", func(t *testing.T) {
		dir := t.TempDir()
		in := filepath.Join(dir, "in.onnx")
		m := large(t, 1<<16)
		for i, init := range m.Graph.Initializers {
			if i > 0 {
				init.Tensor = tensor.New(tensor.F32, 16)
			}
		}
		m.Graph.Doc = strings.Repeat("text ", 1<<16)
		if err := onnx.Save(in, m, onnx.SaveOptions{External: 1 << 12}); err != nil {
			t.Fatal(err)
		}
		data, err := fs.Glob(os.DirFS(dir), "*.data")
		if err != nil || len(data) != 1 {
			t.Fatal(data, err)
		}
		fsys := hooked{dir, data[0], func() {
			if err := os.Truncate(in, 0); err != nil {
				t.Error(err)
			}
		}}
		_, err = formats.LoadFS(fsys, "in.onnx")
		isShorter(t, in, err)
	})
	t.Run("shards", func(t *testing.T) {
		dir := t.TempDir()
		first, second := large(t, 1<<16), large(t, 1<<10)
		for _, init := range second.Graph.Initializers {
			init.Name += "2"
		}
		for name, m := range map[string]*graph.Model{"1.safetensors": first, "2.safetensors": second} {
			if err := formats.Save(filepath.Join(dir, name), m, formats.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		fsys := hooked{dir, "2.safetensors", func() {
			if err := os.Truncate(filepath.Join(dir, "1.safetensors"), 4096); err != nil {
				t.Error(err)
			}
		}}
		_, err := formats.LoadFS(fsys, ".")
		isShorter(t, filepath.Join(dir, "1.safetensors"), err)
	})
}

// TestShorterWhileVerified shortens archives while their checksums are computed.
func TestShorterWhileVerified(t *testing.T) {
	needMaps(t)
	in := filepath.Join(t.TempDir(), "in.hnw")
	m := large(t, 4<<20)
	lost := false
	for range 10 {
		if err := formats.Save(in, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		shortened := make(chan error)
		go func() {
			time.Sleep(10 * time.Millisecond)
			shortened <- os.Truncate(in, 1<<20)
		}()
		problems := formats.Verify(in)
		if err := <-shortened; err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			continue // verification ended before
		}
		for _, err := range problems {
			if !errors.Is(err, graph.ErrFormat) {
				t.Error(err)
			}
			lost = lost || strings.Contains(err.Error(), "lost bytes")
		}
	}
	if !lost {
		t.Error("no checksum met an archive that had become shorter")
	}
}
