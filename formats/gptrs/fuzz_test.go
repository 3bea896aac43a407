package gptrs

import (
	"bytes"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// FuzzRead reads any bytes. Read returns an error or a model, and takes memory in proportion to the
// file's size. A model is equal after writing and reading.
func FuzzRead(f *testing.F) {
	f.Add(smallCheckpoint)
	f.Add(smallArchive)
	f.Add(build(`{"kind":"gpt","config":{"vocab_size":3,"context_length":2,"embed_dim":4,"num_layers":0,"num_heads":2,"mlp_ratio":1,"dropout":0}}`, index(), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, format := range []*Format{Checkpoint, Archive} {
			var err error
			if n := fixtures.Allocated(func() { _, err = format.Read(nil, "x", data) }); n > 1<<16+100*uint64(len(data)) {
				t.Errorf("%d bytes allocated for %d", n, len(data))
			}
			if problems := format.Verify(nil, "x", data); (err == nil) != (len(problems) == 0) {
				t.Errorf("read says %v and verify %v", err, problems)
			}
			m, err := format.Read(nil, "x", data)
			if err != nil {
				continue
			}
			if n, err := Lower(m, container.Lowering{}); err == nil && n != nil {
				if err := graph.Validate(n); err != nil {
					t.Errorf("a network that is none: %v", err)
				}
			}
			var b bytes.Buffer
			if err := format.Write(&b, m, container.Options{}); err != nil {
				t.Fatal(err)
			}
			again, err := format.Read(nil, "written", b.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			same(t, again, m)
			if canonical(m, len(data)) && b.Len() == len(data) && !bytes.Equal(b.Bytes(), data) {
				t.Error("written otherwise than it was")
			}
		}
	})
}
