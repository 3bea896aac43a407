package formats_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestSaveEnds saves models of every format in contexts that end at each look of the writer in
// turn. The error is the context's, and no file is left. Writers look between the pieces of long
// tensors.
func TestSaveEnds(t *testing.T) {
	const elements = pieces.Bytes/4 + 1 // of each of three tensors, of 4 bytes
	for i := range formats.Formats {
		f := &formats.Formats[i]
		for _, o := range []formats.Options{{DropMeta: true}, {DropMeta: true, DType: tensor.F16}, {DropMeta: true, DType: tensor.F64}} {
			t.Run(f.Name+o.DType.String(), func(t *testing.T) {
				m := sample(t, f.Name, elements)
				pieces := 3 * 2
				if _, ok := networks[f.Name]; ok {
					pieces = 1
				}
				for at := 0; ; at++ {
					dir := t.TempDir()
					ctx := testenv.EndingAfter(at)
					err := formats.SaveAs(filepath.Join(dir, "model"), f.Name, m, o.Within(ctx))
					if errors.Is(err, graph.ErrUnsupported) && o.DType != tensor.Invalid {
						return // the format does not have the type
					}
					if !ctx.Over() {
						if err != nil || ctx.Asked() < pieces {
							t.Errorf("the context is asked %d times: %v", ctx.Asked(), err)
						}
						return
					}
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("the context ends when it was asked %d times: %v", at, err)
					}
					if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
						t.Fatalf("the context ends when it was asked %d times: %v is left, %v", at, files, err)
					}
				}
			})
		}
	}
}
