package speech

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Limits of a reference.
const (
	minReference = 1.0   // seconds
	maxReference = 120.0 // seconds
	silentPeak   = 1e-3
)

// reference checks the sound of a person to speak like, and returns it at the rate of the voice.
func reference(s Sound) (Sound, error) {
	const wanted = "; a voice of Chatterbox speaks like the person in a recording of 5 to 20 seconds"
	if len(s.Samples) == 0 {
		return Sound{}, errorf(ErrSound, "there is no reference%s", wanted)
	}
	if s.Rate < 1 || s.Rate > maxRate {
		return Sound{}, errorf(ErrSound, "the reference has %d samples a second; sounds have 1 to %d", s.Rate, maxRate)
	}
	peak := 0.0
	for i, x := range s.Samples {
		if y := math.Abs(float64(x)); !(y <= math.MaxFloat32) {
			return Sound{}, errorf(ErrSound, "sample %d of the reference is %v, which is no sound", i, x)
		} else if y > peak {
			peak = y
		}
	}
	switch n := s.Seconds(); {
	case n < minReference:
		return Sound{}, errorf(ErrSound, "the reference is %.2g seconds long, too short to know a voice by%s", n, wanted)
	case n > maxReference:
		const text = "the reference is %.0f seconds long; cut out at most %.0f seconds of clear speech%s"
		return Sound{}, errorf(ErrSound, text, n, maxReference, wanted)
	case peak < silentPeak:
		return Sound{}, errorf(ErrSound, "the reference is silent%s", wanted)
	}
	return s.Resample(chatterboxRate), nil
}

// conditions are what the speech encoder hears in a reference.
type conditions struct {
	rows       *nacre.Tensor // embeddings before those of a text
	codes      []int64       // of the reference
	embeddings *nacre.Tensor // of the speaker
	features   *nacre.Tensor // bands of the reference
}

// listen runs the speech encoder, once, and the language model on the voice.
func (c *chatterbox) listen(ctx context.Context, q *request) error {
	if c.voice != nil {
		return nil
	}
	q.progress(0, chatterboxMost)
	if err := c.encoder.start(ctx, c.options); err != nil {
		return err
	}
	t, err := nacre.NewTensor(c.sound.Samples, 1, len(c.sound.Samples))
	if err != nil {
		return err
	}
	out, err := c.encoder.run(ctx, nil, t)
	if err != nil {
		return fmt.Errorf("the reference: %w", err)
	}
	v := &conditions{out[0], nil, out[2], out[3]}
	codes, err := converted(out[1], nacre.Int64)
	if err != nil {
		return fmt.Errorf("%s: %w", c.encoder.path, err)
	}
	if v.codes, err = nacre.Data[int64](codes); err != nil {
		return err
	}
	if err := c.prepare(ctx, v); err != nil {
		return err
	}
	c.voice, c.sound = v, Sound{}
	return c.encoder.close()
}

// prepare makes the stream of the language model, and runs it on the voice.
func (c *chatterbox) prepare(ctx context.Context, v *conditions) (err error) {
	for _, n := range []*network{c.embed, c.model} {
		if err := n.start(ctx, c.options); err != nil {
			return err
		}
	}
	last, err := c.model.session.LastRows(ctx, c.model.outputs[0].Name)
	if err != nil {
		return err
	}
	if c.stream == nil {
		room := v.rows.Shape()[1] + chatterboxMost/2
		if c.stream, err = last.NewStream(ctx, nacre.StreamOptions{Room: room}); err != nil {
			return err
		}
	}
	if err := c.checkInputs(); err != nil {
		return err
	}
	c.stream.Reset()
	if c.prefix = 0; c.together() {
		return nil
	}
	if _, err = c.logits(ctx, v.rows); err == nil {
		c.prefix = c.stream.Len()
	}
	return err
}

// checkInputs checks that the stream makes the inputs of the language model that are no port.
func (c *chatterbox) checkInputs() error {
	for _, in := range c.stream.Inputs() {
		if in.Required && in.Name != c.model.inputs[0].Name && !keeps(in) {
			return errorf(nacre.ErrUnsupported, "%s: input %v is none of a voice of Chatterbox", c.model.path, in)
		}
	}
	return nil
}

// keeps reports whether an input says how many last rows of logits a run computes.
func keeps(in nacre.Info) bool {
	return (in.Name == "num_logits_to_keep" || in.Name == "logits_to_keep") && in.DType == nacre.Int64
}

// together reports whether the rows of a voice and of a text must be in one run, because the codes
// of activations depend on all rows of it.
func (c *chatterbox) together() bool {
	network, err := c.model.model.Network()
	return err != nil || slices.ContainsFunc(network.Graph.Nodes, func(n *graph.Node) bool {
		return n.Op == "DynamicQuantizeLinear"
	})
}

// logits runs the language model on more rows, and returns the logits of the last.
func (c *chatterbox) logits(ctx context.Context, rows *nacre.Tensor) ([]float32, error) {
	others := map[string]*nacre.Tensor{}
	for _, in := range c.stream.Inputs() {
		if keeps(in) {
			t, err := nacre.NewTensor([]int64{1}, slices.Repeat([]int{1}, len(in.Shape))...)
			if err != nil {
				return nil, err
			}
			others[in.Name] = t
		}
	}
	inputs, err := c.model.given(others, []*nacre.Tensor{rows})
	if err != nil {
		return nil, err
	}
	byName, err := c.stream.Run(ctx, inputs)
	if err != nil {
		return nil, err
	}
	out, err := c.model.results(byName)
	if err != nil {
		return nil, err
	}
	data, err := nacre.Float32s(out[0])
	if err == nil && len(data) <= stopCode {
		const text = "%s: the logits %v have none for the code %d, which ends a sentence"
		err = errorf(nacre.ErrUnsupported, text, c.model.path, out[0], stopCode)
	}
	return data, err
}

// Inputs of embed_tokens that some voices have.
const (
	embedPositions    = "position_ids"
	embedExaggeration = "exaggeration"
)

// embedded returns the embeddings of ids. Step is 0 for a text, and else the number of the code.
func (c *chatterbox) embedded(ctx context.Context, ids []int64, step int) (*nacre.Tensor, error) {
	t, err := nacre.NewTensor(ids, 1, len(ids))
	if err != nil {
		return nil, err
	}
	others := map[string]*nacre.Tensor{}
	for _, v := range c.embed.extra {
		var t *nacre.Tensor
		if v.Name == embedPositions {
			t, err = nacre.NewTensor(positions(ids, step), 1, len(ids))
		} else {
			t, err = nacre.NewTensor([]float32{0.5}, slices.Repeat([]int{1}, len(v.Shape))...)
		}
		if err == nil {
			t, err = converted(t, v.DType)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: input %v: %w", c.embed.path, v, err)
		}
		others[v.Name] = t
	}
	out, err := c.embed.run(ctx, others, t)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// positions returns the places of tokens in a text, or the number of a code. The codes at the end
// of a text are at place 0.
func positions(ids []int64, step int) []int64 {
	list := make([]int64, len(ids))
	next := int64(0)
	for i, id := range ids {
		switch {
		case step > 0:
			list[i] = int64(step)
		case id < startCode:
			list[i] = next
			next++
		}
	}
	return list
}

// codes returns the codes of speech that follow a text.
func (c *chatterbox) codes(ctx context.Context, text []int32, q *request) ([]int64, error) {
	how := c.sampling(q)
	sampler, err := generate.NewSampler(how)
	if err != nil {
		return nil, err
	}
	sampler.See(startCode, false)
	ids := make([]int64, len(text))
	for i, id := range text {
		ids[i] = int64(id)
	}
	if err := c.stream.Truncate(c.prefix); err != nil {
		return nil, err
	}
	rows, err := c.embedded(ctx, ids, 0)
	if err == nil && c.prefix == 0 {
		rows, err = c.joined(c.voice.rows, rows)
	}
	var codes []int64
	for err == nil && len(codes) < how.MaxTokens {
		var logits []float32
		if logits, err = c.logits(ctx, rows); err != nil {
			break
		}
		var code int32
		if code, err = sampler.Choose(logits); err != nil || code == stopCode {
			break
		}
		sampler.See(code, true)
		codes = append(codes, int64(code))
		q.progress(len(codes), how.MaxTokens)
		rows, err = c.embedded(ctx, codes[len(codes)-1:], len(codes))
	}
	return codes, err
}

// joined returns the rows of two tensors [1,rows,width].
func (c *chatterbox) joined(a, b *nacre.Tensor) (*nacre.Tensor, error) {
	first, err := nacre.Float32s(a)
	if err != nil {
		return nil, err
	}
	second, err := nacre.Float32s(b)
	if err != nil {
		return nil, err
	}
	x, y := a.Shape(), b.Shape()
	if len(x) != 3 || len(y) != 3 || x[2] != y[2] {
		return nil, errorf(nacre.ErrShape, "%s: %v does not fit %v of %s", c.encoder.path, a, b, c.embed.path)
	}
	return nacre.NewTensor(append(first, second...), 1, x[1]+y[1], x[2])
}
