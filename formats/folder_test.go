package formats_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestFolders converts decoders in folders of Hugging Face to bundles. The bundles are as Loom's
// own import writes them.
func TestFolders(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, "loom"), "hf")
	folders, err := filepath.Glob(filepath.Join(dir, "*", "config.json"))
	if err != nil || len(folders) == 0 {
		testenv.SkipSamples(t, "no folders of Hugging Face among the samples")
	}
	for _, config := range folders {
		folder := filepath.Dir(config)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out.entity")
			if err := formats.Save(out, load(t, folder), formats.Options{DropMeta: true}); err != nil {
				t.Fatal(err)
			}
			want, err := filepath.Glob(filepath.Join(folder, "converted_float32.entity"))
			if err != nil {
				t.Fatal(err)
			}
			m := load(t, out)
			if len(want) == 0 {
				return // Loom writes the blobs of BitNet in any order
			}
			names := map[string][]byte{}
			for _, init := range load(t, want[0]).Graph.Initializers {
				names[init.Name] = init.Tensor.Bytes()
			}
			found := 0
			for _, init := range m.Graph.Initializers {
				if b, ok := names[init.Name]; ok {
					if found++; !bytes.Equal(b, init.Tensor.Bytes()) {
						t.Errorf("%s has other bytes", init.Name)
					}
				}
			}
			if found != len(names) {
				t.Errorf("%d tensors of %d", found, len(names))
			}
		})
	}
}
