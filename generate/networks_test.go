package generate_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestGenaiNetworks generates with decoders that the model builder of onnxruntime-genai wrote, with
// a cache, in chunks and without a cache.
func TestGenaiNetworks(t *testing.T) {
	testenv.Need(t, bindings.Available())
	folders, err := filepath.Glob(filepath.Join(testenv.Root(t), ".cache", "networks", "genai_*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(folders) == 0 {
		testenv.SkipSamples(t, "no genai_* networks: scripts/fetch-networks.sh makes some")
	}
	for _, dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			m, err := nacre.Open(filepath.Join(dir, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s, err := m.NewSession(nacre.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			prompt := []int32{3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 89, 79}
			ways := []generate.Options{{}, {Chunk: 5}, {NoCache: true}}
			if slices.ContainsFunc(m.States(), func(st nacre.State) bool { return st.Axis < 0 }) {
				ways = []generate.Options{{}, {Chunk: 1}}
			}
			var want []int32
			for _, o := range ways {
				got := one(t, generator(t, s, o).Tokens(context.Background(), prompt, generate.Sampling{MaxTokens: 12}))
				if want == nil {
					want = got
				}
				if len(got) != 12 || !slices.Equal(got, want) {
					t.Errorf("%+v: tokens %v, want %v", o, got, want)
				}
			}
		})
	}
}
