package bench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// BenchmarkVoice times one frame of voice activity by Silero VAD, 32 ms of sound at 16 kHz after 64
// samples of the frame before, on one thread, in blocks of ten. A bound stream keeps the state, and
// the peer's inputs and outputs are bound. NACRE_VOICE names the model. Without it, the copies that
// the tests know are looked for.
func BenchmarkVoice(b *testing.B) {
	path := voice(b)
	s := session(b, path, nacre.Options{Threads: 1})
	inputs, err := side.Ramps(s, map[string]int{"batch": 1, "sequence": 576})
	if err != nil {
		b.Fatal(err)
	}
	if inputs["sr"], err = nacre.NewTensor([]int64{16000}); err != nil {
		b.Fatal(err)
	}
	delete(inputs, "state")
	st, err := s.NewStream(context.Background(), nacre.StreamOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	bound, err := st.Bind(context.Background(), inputs)
	if err != nil {
		b.Fatal(err)
	}
	defer bound.Close()
	peer, err := startPeer(b, path, 1, "batch=1", "sequence=576", "sr:=16000")
	alone(b, err)
	versus(b, 10, func() error { return bound.Run(context.Background()) }, peer, "bound")
}

// voice returns the path of a Silero VAD with inputs input, state and sr.
func voice(b *testing.B) string {
	places := []string{
		os.Getenv("NACRE_VOICE"),
		testenv.Beside(b, "models", "silero_vad_op18_ifless", "model.onnx"),
		filepath.Join("..", ".cache", "networks", "silero_vad", "model.onnx"),
	}
	for _, path := range places {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	testenv.Skip(b, "no model of Silero VAD: scripts/fetch-networks.sh trained fetches one")
	return ""
}
