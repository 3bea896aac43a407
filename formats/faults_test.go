package formats_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var errBroken = errors.New("broken")

// TestSaveFaults saves models of every format, over an existing file and where there is none, and
// makes each call of the operating system fail in turn. The error names the file, an existing file
// stays as it is, and no other file is left.
func TestSaveFaults(t *testing.T) {
	defer func() { output.Fault = nil }()
	saves := map[string]func(t *testing.T, path string) error{
		"external data": func(t *testing.T, path string) error {
			return onnx.Save(path, large(t, 64), onnx.SaveOptions{External: 1})
		},
	}
	for i := range formats.Formats {
		f := &formats.Formats[i]
		saves[f.Name] = func(t *testing.T, path string) error {
			return formats.SaveAs(path, f.Name, sample(t, f.Name, 64), formats.Options{DropMeta: true})
		}
	}
	for name, save := range saves {
		t.Run(name, func(t *testing.T) {
			for at := 0; ; at++ {
				dir := t.TempDir()
				path := filepath.Join(dir, "model")
				if name != "external data" || at%2 == 0 {
					if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				calls, failed := 0, ""
				output.Fault = func(call string) error {
					if calls++; calls-1 == at {
						failed = call
						return errBroken
					}
					return nil
				}
				err := save(t, path)
				output.Fault = nil
				if failed == "" {
					if err != nil || at < 5 {
						t.Errorf("%d calls, %v", at, err)
					}
					return
				}
				if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), path) {
					t.Errorf("call %d, %s, fails: %v", at, failed, err)
				}
				files, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, file := range files {
					data, err := os.ReadFile(filepath.Join(dir, file.Name()))
					if err != nil || strings.HasPrefix(file.Name(), ".") {
						t.Errorf("call %d, %s, fails: %s is left, %v", at, failed, file.Name(), err)
					}
					if file.Name() == "model" && string(data) != "old" && failed != "close" {
						t.Errorf("call %d, %s, fails: the file has %d bytes", at, failed, len(data))
					}
				}
			}
		})
	}
}

// TestSaveDataFaults saves a model with external data over another, and makes each call of the
// operating system fail in turn. At each call, as after a crash there, the path has the old or the
// new model, with its own data. No other file is left in the end.
func TestSaveDataFaults(t *testing.T) {
	defer func() { output.Fault = nil }()
	model := func(first float32) *graph.Model {
		m := large(t, 64)
		for _, init := range m.Graph.Initializers {
			tensor.View[float32](init.Tensor)[0] = first
		}
		return m
	}
	for at := 0; ; at++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "model.onnx")
		if err := onnx.Save(path, model(1), onnx.SaveOptions{External: 1}); err != nil {
			t.Fatal(err)
		}
		first := func() float32 {
			m, err := formats.Load(path)
			if err != nil {
				t.Fatalf("call %d: %v", at, err)
			}
			defer m.Close()
			got := tensor.View[float32](m.Graph.Initializers[0].Tensor.Aligned())[0]
			for _, init := range m.Graph.Initializers {
				if v := tensor.View[float32](init.Tensor.Aligned())[0]; v != got || v != 1 && v != 2 {
					t.Fatalf("call %d: %q begins with %v beside %v", at, init.Name, v, got)
				}
			}
			return got
		}
		calls, failed := 0, ""
		output.Fault = func(call string) error {
			first()
			if calls++; calls-1 == at {
				failed = call
				return errBroken
			}
			return nil
		}
		err := onnx.Save(path, model(2), onnx.SaveOptions{External: 1})
		output.Fault = nil
		if got := first(); (failed == "" || err == nil) && got != 2 || failed != "" && failed != "close" && got != 1 {
			t.Errorf("call %d, %s, fails: the model is %v (%v)", at, failed, got, err)
		}
		if errors.Is(err, errBroken) != (failed != "") {
			t.Errorf("call %d, %s, fails: %v", at, failed, err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 2 && failed != "close" {
			t.Errorf("call %d, %s, fails: %v, %v", at, failed, files, err)
		}
		if failed == "" {
			if at < 10 {
				t.Errorf("%d calls", at)
			}
			return
		}
	}
}

// faultFS is a file system with one call that fails. Its files are not files of the operating
// system, so they are read and not mapped.
type faultFS struct {
	fs.FS
	at    int  // the call that fails
	short bool // the call behaves as at the end of the file
	calls *int
	name  *string // of the file at the failed call
}

func (f faultFS) fails(name string) bool {
	*f.calls++
	if *f.calls-1 != f.at {
		return false
	}
	*f.name = name
	return true
}

func (f faultFS) Open(name string) (fs.File, error) {
	if !f.short && f.fails(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errBroken}
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{file, f, name}, nil
}

type faultFile struct {
	file fs.File
	fs   faultFS
	name string
}

func (f *faultFile) Stat() (fs.FileInfo, error) {
	if !f.fs.short && f.fs.fails(f.name) {
		return nil, errBroken
	}
	return f.file.Stat()
}

func (f *faultFile) Read(b []byte) (int, error) {
	if f.fs.fails(f.name) {
		if f.fs.short {
			return 0, io.EOF
		}
		return 0, errBroken
	}
	return f.file.Read(b[:min(len(b), 1<<10)])
}

func (f *faultFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if !f.fs.short && f.fs.fails(f.name) {
		return nil, errBroken
	}
	return f.file.(fs.ReadDirFile).ReadDir(n)
}

func (f *faultFile) Close() error { return f.file.Close() }

// TestReadFaults reads models of every format, of one file and of several. Each call of the file
// system in turn fails, or meets the end of the file.
func TestReadFaults(t *testing.T) {
	saves := map[string]func(dir string) error{
		"external data": func(dir string) error {
			return onnx.Save(filepath.Join(dir, "model"), large(t, 64), onnx.SaveOptions{External: 1})
		},
		"shards": func(dir string) error {
			second := large(t, 64)
			for _, init := range second.Graph.Initializers {
				init.Name += "2"
			}
			return errors.Join(formats.Save(filepath.Join(dir, "1.safetensors"), large(t, 64), formats.Options{}),
				formats.Save(filepath.Join(dir, "2.safetensors"), second, formats.Options{}))
		},
	}
	for i := range formats.Formats {
		f := &formats.Formats[i]
		saves[f.Name] = func(dir string) error {
			return formats.SaveAs(filepath.Join(dir, "model"), f.Name, sample(t, f.Name, 64), formats.Options{DropMeta: true})
		}
	}
	for what, save := range saves {
		for _, short := range []bool{false, true} {
			t.Run(what, func(t *testing.T) {
				dir := t.TempDir()
				if err := save(dir); err != nil {
					t.Fatal(err)
				}
				name := "model"
				if what == "shards" {
					name = "."
				}
				for at := 0; ; at++ {
					calls, failed := 0, ""
					m, err := formats.LoadFS(faultFS{os.DirFS(dir), at, short, &calls, &failed}, name)
					if err == nil {
						if err := m.Close(); err != nil {
							t.Error(err)
						}
					}
					switch {
					case failed == "":
						if err != nil || at < 2 {
							t.Errorf("%d calls, %v", at, err)
						}
						return
					case short && err == nil: // the file did end there
					case err == nil || !short && !errors.Is(err, errBroken) || !strings.Contains(err.Error(), failed):
						t.Errorf("call %d, of %s, fails: %v", at, failed, err)
					}
				}
			})
		}
	}
}
