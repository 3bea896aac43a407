package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// wide is the decoder of the benchmarks: two layers as wide as a model of a billion parameters.
var wide = topologies.LlamaSize{Layers: 2, Width: 2048, Heads: 16, KVHeads: 16, Hidden: 5504, Words: 8192}

func generator(t testing.TB, s *nacre.Session) *generate.Generator {
	t.Helper()
	g, err := generate.New(context.Background(), s, generate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// begin computes a prompt of the given length.
func begin(t testing.TB, g *generate.Generator, prompt, tokens int) *generate.Sequence {
	t.Helper()
	q, err := g.Start(context.Background(), side.Ascending(prompt), generate.Sampling{MaxTokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// next generates a token.
func next(q *generate.Sequence) error {
	if _, ok, err := q.Next(context.Background()); err != nil || !ok {
		return fmt.Errorf("no token: %v, %w", q.Reason(), err)
	}
	return nil
}

// BenchmarkGenerate times prompts of 128 tokens, and tokens after 512 others. The peer runs the
// network once, with the cache in bound memory, and samples nothing.
func BenchmarkGenerate(b *testing.B) {
	path := save(b, topologies.Topology{Name: "llama", Build: func() *graph.Model { return topologies.Llama(wide) }})
	const prompt, past = 128, 512
	for _, threads := range []int{1, 2} {
		s := session(b, path, nacre.Options{Threads: threads})
		g := generator(b, s)
		b.Run(fmt.Sprintf("prompt=%d/threads=%d", prompt, threads), func(b *testing.B) {
			peer, err := startPeer(b, path, threads, "batch=1", fmt.Sprint("sequence=", prompt), "past_sequence=0")
			alone(b, err)
			versus(b, 1, func() error { return begin(b, g, prompt, 1).Close() }, peer, "bound")
		})
		b.Run(fmt.Sprintf("past=%d/threads=%d", past, threads), func(b *testing.B) {
			peer, err := startPeer(b, path, threads, "batch=1", "sequence=1", fmt.Sprint("past_sequence=", past))
			alone(b, err)
			q := begin(b, g, past, 2048)
			defer q.Close()
			versus(b, 1, func() error { return next(q) }, peer, "bound")
		})
	}
}

// BenchmarkGenerated generates 2,048 tokens on one thread. It reports the time of a token at
// several positions: the median of the 64 before.
func BenchmarkGenerated(b *testing.B) {
	size := topologies.LlamaSize{Layers: 4, Width: 512, Heads: 8, KVHeads: 2, Hidden: 1408, Words: 4096}
	g := generator(b, session(b, save(b, topologies.Topology{Name: "llama",
		Build: func() *graph.Model { return topologies.Llama(size) }}), nacre.Options{Threads: 1}))
	const last, window = 2048, 64
	var times [last][]float64
	for b.Loop() {
		q := begin(b, g, 1, last)
		for i := range times {
			start := time.Now()
			if err := next(q); err != nil {
				b.Fatal(err)
			}
			times[i] = append(times[i], 1e6*time.Since(start).Seconds())
		}
		q.Close()
	}
	b.ReportMetric(0, "ns/op")
	for at := window; at <= last; at *= 2 {
		b.ReportMetric(median(slices.Concat(times[at-window:at]...)), fmt.Sprintf("us@%d", at))
	}
}

// TestGenerateMemory bounds the memory of generation: weights, states and 64 MB.
func TestGenerateMemory(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if testing.Short() {
		t.Skip("builds a network of a hundred megabytes: not in short runs")
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		testenv.Skip(t, "the system does not tell what a process holds")
	}
	size := topologies.LlamaSize{Layers: 2, Width: 1024, Heads: 8, KVHeads: 8, Hidden: 2048, Words: 8192}
	path := save(t, topologies.Topology{Name: "llama", Build: func() *graph.Model { return topologies.Llama(size) }})
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	const prompt, tokens = 1500, 30
	self := startSelf(t, path)
	self.seconds(t, fmt.Sprintf("generate %d %d", prompt, tokens))
	_, most := self.memory(t)
	states := 4 * 2 * size.Layers * size.Width * (prompt + tokens)
	limit := float64(file.Size()) + float64(states) + 64e6
	t.Logf("at most %.0f MB; weights %.0f MB, states %.0f MB", most/1e6, float64(file.Size())/1e6, float64(states)/1e6)
	if most > limit {
		t.Errorf("generation holds %.0f MB at most, more than %.0f MB", most/1e6, limit/1e6)
	}
}

// TestLlama compares the answers of the decoder with the network as built, run by scalar kernels
// alone, and with ONNX Runtime.
func TestLlama(t *testing.T) {
	testenv.Need(t, bindings.Available())
	size := topologies.LlamaSize{Layers: 2, Width: 64, Heads: 4, KVHeads: 2, Hidden: 96, Words: 100}
	path := save(t, topologies.Topology{Name: "llama", Build: func() *graph.Model { return topologies.Llama(size) }})
	sizes := map[string]int{"batch": 1, "sequence": 6, "past_sequence": 5}
	answers := func(o nacre.Options) []float32 {
		s := session(t, path, o)
		inputs, err := side.Ramps(s, sizes)
		if err != nil {
			t.Fatal(err)
		}
		return outputs(t, s, inputs)
	}
	want := answers(nacre.Options{NoOptimize: true, ISA: "scalar"})
	checkAnswers(t, answers(nacre.Options{}), want, answerShare)
	peer, err := startPeer(t, path, 1, "batch=1", "sequence=6", "past_sequence=5")
	if err == nil {
		checkAnswers(t, peer.answers(t), want, answerShare)
	} else if testenv.Complete() {
		t.Fatal(err)
	}
}
