package generate_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// lastLogits runs a decoder on tokens, first on three and then on one at a time, and returns the
// logits of the runs.
func lastLogits(t *testing.T, m *nacre.Model, d nacre.DType, tokens []int64) (logits []float32) {
	t.Helper()
	s, err := m.NewSession(nacre.Options{Threads: 1, CacheType: d})
	if errors.Is(err, nacre.ErrUnsupported) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.NewStream(t.Context(), nacre.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for first, end := 0, 3; first < len(tokens); first, end = end, end+1 {
		logits = append(logits, logitsOf(t, st, tokens[first:end])...)
	}
	return logits
}

// TestCacheFixtures bounds the error that narrow caches add to the logits of every GGUF decoder,
// relative to their root mean square.
func TestCacheFixtures(t *testing.T) {
	testenv.Need(t, bindings.Available())
	folder := testenv.Samples(t, "fixtures", "gguf")
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	tokens, compared := []int64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}, 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".gguf") {
			continue
		}
		m, err := nacre.Open(filepath.Join(folder, f.Name()))
		if err != nil {
			continue
		}
		if len(m.States()) > 0 {
			wide := lastLogits(t, m, nacre.Invalid, tokens)
			for d, bound := range map[nacre.DType]float64{nacre.Float16: 0.002, nacre.Int8: 0.015} {
				squares, errors := 0.0, 0.0
				for i, x := range lastLogits(t, m, d, tokens) {
					squares += float64(wide[i]) * float64(wide[i])
					errors += math.Pow(float64(x-wide[i]), 2)
				}
				if !(errors <= squares*bound*bound) {
					t.Errorf("%s, %v: logits have an error of %.3g, at most %g is allowed", f.Name(), d, math.Sqrt(errors/squares),
						bound)
				}
				compared++
			}
		}
		m.Close()
	}
	if compared < 50 {
		t.Errorf("%d comparisons", compared)
	}
}
