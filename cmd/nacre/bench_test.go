package main

import (
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
)

func TestOpenExtent(t *testing.T) {
	dims := map[string]int{"past": 7, "batch * 2": 6}
	for text, want := range map[string]int{"past": 7, "past + 1": 8, "past + seq": 8, "seq": 1, "batch * 2": 6, "seq - past": 1, "?": 1} {
		if got := openExtent(graph.ParseDim(text), dims); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	list := []nacre.Info{{Shape: []nacre.Dim{{Symbol: "past + 1", Size: -1}}}}
	for name, want := range map[string]bool{"past": true, "past + 1": true, "seq": false} {
		if hasSymbol(list, name) != want {
			t.Errorf("%s is a symbol: %v", name, !want)
		}
	}
}
