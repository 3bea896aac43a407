package oinf

import (
	"context"
	"os"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// FuzzRead reads data. Nothing panics, Read and Verify agree except on booleans, memory stays in
// proportion, the summary can be written, and a model that was read can be written and read again.
func FuzzRead(f *testing.F) {
	for _, m := range []*graph.Model{sample(), quantized(), {Graph: &graph.Graph{}}} {
		f.Add(encode(f, m, container.Options{}))
	}
	f.Fuzz(func(t *testing.T, data []byte) { hostile(t, data) })
}

func hostile(t *testing.T, data []byte) {
	var m *graph.Model
	var err error
	if used, limit := fixtures.Allocated(func() { m, err = Read(nil, "", data) }), uint64(1<<16+100*len(data)); used > limit {
		t.Fatalf("%d bytes for a file of %d", used, len(data))
	}
	problems := Verify(nil, "", data)
	if err != nil {
		if len(problems) == 0 || problems[0].Error() != err.Error() {
			t.Fatalf("%v is not the first of %v", err, problems)
		}
		return
	}
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	if err := Summary(context.Background(), discard{}, m); err != nil {
		t.Fatal(err)
	}
	again(t, m)
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestHostile changes every byte of samples.
func TestHostile(t *testing.T) {
	for _, path := range testenv.Files(t, fixtures.Loose(t, Name, "generated", "layout"), "*.oinf") {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		hostile(t, data)
		for i := range data {
			old := data[i]
			data[i] = byte(i*151 + 7)
			hostile(t, data)
			data[i] = old
		}
	}
}
