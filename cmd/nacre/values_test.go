package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestWriteOutputs(t *testing.T) {
	int4 := tensor.New(tensor.I4, 3)
	packed.Int4.Pack(int4.Bytes(), []int8{-8, 0, 7})
	bf16, err := nacre.NewTensor([]packed.BF16{packed.ToBF16(-1.5)}, 1)
	if err != nil {
		t.Fatal(err)
	}
	words, err := tensor.FromStrings([]string{"a", "bc"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, file, stored string
		t                  *tensor.Tensor
		first              float64
	}{
		{"plain", "plain.npy", "int64[2]", tensor.New(tensor.I64, 2), 0},
		{"a/b:c", "a_b_c.npy", "int8[3]", int4, -8},
		{"a_b_c", "a_b_c_.npy", "float32[1]", plainTensor(bf16), -1.5},
		{"..", "output...npy", "string[2]", words, 0},
	}
	dir := t.TempDir()
	out := map[string]*nacre.Tensor{}
	var values []nacre.Info
	for _, c := range cases {
		out[c.name] = wrapped(t, c.t)
		values = append(values, nacre.Info{Name: c.name})
	}
	var log bytes.Buffer
	if err := writeOutputs(t.Context(), &log, dir, values, asValues(out)); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		data, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		x := npyTensor(t, data)
		if x.String() != c.stored {
			t.Errorf("%s: stored %v, want %s", c.name, x, c.stored)
			continue
		}
		if at := tensor.Numbers(x); at != nil && at(0) != c.first {
			t.Errorf("%s: element 0 is %v, want %v", c.name, at(0), c.first)
		}
	}
}

func wrapped(t *testing.T, x *tensor.Tensor) *nacre.Tensor {
	t.Helper()
	w, err := tensorOf(x)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestSummary(t *testing.T) {
	scores, err := nacre.NewTensor([]float32{0.5, -1, 4, 2, 0, 1}, 1, 6)
	if err != nil {
		t.Fatal(err)
	}
	words, err := tensor.FromStrings([]string{"a", "bc"}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	_ = summary(t.Context(), &b, "scores", scores)
	_ = summary(t.Context(), &b, "words", wrapped(t, words))
	_ = summary(t.Context(), &b, "none", wrapped(t, tensor.New(tensor.F32, 0, 3)))
	golden(t, "summary.txt", b.String())
}
