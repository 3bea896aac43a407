package huggingface_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestFixtures runs folders with answers of another program. Folders of other families must be
// refused.
func TestFixtures(t *testing.T) {
	root, compared := filepath.Join(fixtures.Dir(t, "loom"), "hf"), 0
	for _, file := range testenv.Files(t, root, "*", "expected.json") {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Answer struct {
					Tokens []int64
					Logits struct{ Data []float32 }
					Next   int64     `json:"decode_token"`
					Step   []float32 `json:"decode_logits"`
				} `json:"direct_import_rmsnorm_eps_from_config"`
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			m, err := nacre.Open(filepath.Dir(file))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if _, err := m.Network(); errors.Is(err, nacre.ErrUnsupported) || len(want.Answer.Tokens) == 0 {
				return
			}
			_, st := session(t, filepath.Dir(file), nacre.Options{Threads: 1})
			same(t, "logits", run(t, st, want.Answer.Tokens), want.Answer.Logits.Data)
			same(t, "the next logits", run(t, st, []int64{want.Answer.Next}), want.Answer.Step)
			compared++
		})
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
