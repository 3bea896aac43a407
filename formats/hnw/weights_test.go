package hnw

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestMatch(t *testing.T) {
	archive, err := Read(nil, "", rewritten(t, small(t)))
	if err != nil {
		t.Fatal(err)
	}
	w := func(name string, d tensor.DType, shape ...int) *graph.Initializer {
		return &graph.Initializer{Name: name, Tensor: tensor.New(d, shape...)}
	}
	within := func(list ...*graph.Initializer) *graph.Node {
		return &graph.Node{Attrs: []*graph.Attr{{Kind: graph.AttrGraph, Graph: &graph.Graph{Initializers: list}}}}
	}
	cases := []struct {
		name string
		g    graph.Graph
		kind error
		want []string
	}{
		{"fits", graph.Graph{Initializers: []*graph.Initializer{w("mask", tensor.Bool, 3)}, Nodes: []*graph.Node{within(w("axes", tensor.I32, 1, 2))}}, nil, nil},
		{"missing", graph.Graph{Nodes: []*graph.Node{within(w("nix", tensor.F32))}}, ErrTensorMissing, []string{"Hydronnx.TinyNetV2", `"nix"`}},
		{"type", graph.Graph{Initializers: []*graph.Initializer{w("mask", tensor.U8, 3)}}, ErrTensorMetadata, []string{"bool[3]", "uint8[3]"}},
		{"rank", graph.Graph{Initializers: []*graph.Initializer{w("mask", tensor.Bool, 3, 1), w("x", tensor.F32)}}, ErrTensorMetadata, []string{`"mask"`, `"x"`}},
		{"shared", graph.Graph{Nodes: []*graph.Node{within(w("mask", tensor.Bool, 3)), within(w("mask", tensor.Bool, 3))}}, ErrTensorMetadata, []string{"share"}},
		{"sparse", graph.Graph{Sparse: []*graph.SparseInitializer{{Name: "thin"}}}, ErrTensorMissing, []string{`"thin"`, "sparse"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := Match(archive, &graph.Model{Graph: &c.g})
			if !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %v", err, c.kind)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
		})
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.hnw")
	source := small(t)
	if err := os.WriteFile(path, rewritten(t, source), 0o666); err != nil {
		t.Fatal(err)
	}
	model := small(t)
	for _, init := range model.Graph.Initializers {
		init.Tensor = tensor.New(init.Tensor.DType(), init.Tensor.Shape()...)
	}
	own := &closed{}
	model.Closer = own
	if err := Replace(nil, model, path+"x"); !errors.Is(err, ErrArchiveMissing) {
		t.Errorf("got %v", err)
	}
	if err := Replace(nil, model, path); err != nil {
		t.Fatal(err)
	}
	for i, init := range model.Graph.Initializers {
		if !bytes.Equal(init.Tensor.Bytes(), source.Graph.Initializers[i].Tensor.Bytes()) {
			t.Errorf("%q has other bytes", init.Name)
		}
	}
	if err := model.Close(); err != nil || own.n != 1 {
		t.Errorf("closed %d times, %v", own.n, err)
	}
}

type closed struct{ n int }

func (c *closed) Close() error { c.n++; return nil }
