package gguf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tolerance returns how far logits of an architecture may be from llama.cpp's.
func tolerance(architecture string) float64 {
	switch architecture {
	case "gemma", "gemma2", "gemma3", "gpt2", "phi2", "starcoder2", "falcon":
		return 2.1e-3 // a table of halves computes GELU there
	}
	return 1e-4
}

// folder writes the folder of a file, and returns its path.
func folder(t *testing.T, path string) string {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := formats.ToFolder(m, formats.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "folder")
	if err := formats.SaveFolder(out, f, nil, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// whole has a folder of gpt_oss round the bounds of yarn, as files mean, and returns its path.
func whole(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "config.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"truncate": false`), []byte(`"truncate": true`), 1)
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return folder
}

// file writes the file of a folder, and returns its path.
func file(t *testing.T, path string) string {
	t.Helper()
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := formats.ToGGUF(m)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "model.gguf")
	if err := formats.Save(out, f, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestExchange converts decoders to folders and back. Logits and greedy tokens of both stay.
func TestExchange(t *testing.T) {
	dir, list := answers(t)
	met := map[string]bool{}
	for name, a := range list {
		t.Run(name, func(t *testing.T) {
			met[a.Arch] = true
			want := floats(t, filepath.Join(dir, a.Logits))
			f := folder(t, filepath.Join(dir, name))
			a.check(t, whole(t, f), want, tolerance(a.Arch), nacre.Options{Threads: 1})
			a.check(t, file(t, f), want, tolerance(a.Arch), nacre.Options{Threads: 1})
		})
	}
	if len(met) < 8 {
		t.Errorf("decoders of %d architectures", len(met))
	}
}

// TestVectorsStay writes networks with another type of floats, and checkpoints without an
// architecture.
func TestVectorsStay(t *testing.T) {
	dir, _ := answers(t)
	for network, want := range map[bool]tensor.DType{true: tensor.F32, false: tensor.F16} {
		m, err := formats.Load(filepath.Join(dir, "qwen2.F32.gguf"))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if !network {
			m.Meta = nil
		}
		path := filepath.Join(t.TempDir(), "x.gguf")
		if err := formats.Save(path, m, formats.Options{DType: tensor.F16}); err != nil {
			t.Fatal(err)
		}
		n, err := formats.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		defer n.Close()
		for _, x := range n.Graph.Initializers {
			if d := x.Tensor.DType(); len(x.Tensor.Shape()) == 1 && d != want || len(x.Tensor.Shape()) == 2 && d != tensor.F16 {
				t.Errorf("network %v: %s is %v", network, x.Name, x.Tensor)
			}
		}
	}
}
