package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/topologies"
)

// decoders have about a billion weights, or few if quick.
var decoders = map[bool]topologies.LlamaSize{
	false: {Layers: 22, Width: 2048, Heads: 32, KVHeads: 4, Hidden: 5632, Words: 32000, FourBits: true},
	true:  {Layers: 2, Width: 256, Heads: 4, KVHeads: 2, Hidden: 512, Words: 1024, FourBits: true},
}

// goalTokens is the tokens a second to reach on an H200.
const goalTokens = 900

// decoder measures the tokens of a decoder: their rate, the bytes of weights that they read, and
// the time of a token that the host takes.
func (b *bench) decoder() ([]row, error) {
	const giga, micro = 1e9, 1e-6
	size := decoders[b.quick]
	built := topologies.Llama(size)
	bytes := 0
	for _, w := range built.Graph.Initializers {
		bytes += len(w.Tensor.Bytes())
	}
	bytes -= 4 * size.Words * size.Width // of the table of words: a token reads one row of it
	m, s, err := sessionOf(built, b.device)
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(s.Close(), m.Close()) }()
	times, host, err := b.tokens(s)
	if err != nil {
		return nil, err
	}
	seconds := times[len(times)/2].Seconds()
	rate := row{what: "tokens of 4-bit weights", rate: 1 / seconds, unit: "1/s"}
	if !b.quick {
		rate.ceiling, rate.of, rate.goal = goalTokens, fmt.Sprintf("%d", goalTokens), 1
	}
	return []row{rate,
		{"weights read for these", float64(bytes) / seconds / giga, b.memory / giga, "GB/s", "copy", 0.6, nil},
		{what: "host's time of a token", rate: host.Seconds() / micro, unit: "us"},
	}, nil
}

// tokens returns the time of each token after a prompt and a few others, in ascending order, and
// the part of the mean that is not a wait for the device.
func (b *bench) tokens(s *nacre.Session) (times []time.Duration, host time.Duration, err error) {
	const prompt = 16
	before, timed := 8, 32
	if !b.quick {
		before, timed = 64, 128 // the clock needs a part of a second
	}
	if err := b.device.Warm(b.warm); err != nil {
		return nil, 0, err
	}
	g, err := generate.New(context.Background(), s, generate.Options{})
	if err != nil {
		return nil, 0, err
	}
	ctx := context.Background()
	q, err := g.Start(ctx, side.Ascending(prompt), generate.Sampling{MaxTokens: before + timed})
	if err != nil {
		return nil, 0, err
	}
	defer q.Close()
	var waited, all time.Duration
	for i := range before + timed {
		if i == before {
			waited = b.device.Waited()
		}
		start := time.Now()
		if _, ok, err := q.Next(ctx); err != nil || !ok {
			return nil, 0, errors.Join(fmt.Errorf("token %d is missing: %v", i, q.Reason()), err)
		}
		if i >= before {
			times = append(times, time.Since(start))
			all += times[len(times)-1]
		}
	}
	host = (all - (b.device.Waited() - waited)) / time.Duration(timed)
	slices.Sort(times)
	return times, host, nil
}
