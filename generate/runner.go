package generate

import (
	"context"
	"errors"
	"slices"

	"github.com/nacre-ml/nacre"
)

// runner computes scores of tokens that follow each other.
type runner struct {
	*decoder
	runs   *nacre.Session // gives the scores
	places string         // the output of runs for the tokens of the largest logits; empty if it gives all
	chunk  int
	first  int           // the first run takes at least as many tokens, if there are that many
	stream *nacre.Stream // nil for a network without states
	done   int           // tokens that the states hold
	width  int           // logits of a run; 0 before the first
	last   []int32       // tokens of the last run

	step    *nacre.Bound // for runs of one token; nil before the first
	stepIDs *nacre.Tensor
	noStep  bool // the network cannot be bound
}

// newRunner returns a runner. Room is the tokens that its states have room for; 0 for a stream's
// default. Top is how many of the largest logits it gives; 0 for all logits.
func (d *decoder) newRunner(ctx context.Context, chunk, room, original, top int) (*runner, error) {
	r := &runner{decoder: d, chunk: chunk, runs: d.session}
	if top > 0 {
		s, err := d.source.LastTop(ctx, d.logits.Name, top)
		if err != nil {
			return nil, err
		}
		outputs := s.Outputs()
		r.runs, r.places = s, outputs[len(outputs)-1].Name
	}
	if original > 0 && d.rows == 0 {
		r.first = original + 1
	}
	if !d.states {
		return r, nil
	}
	st, err := r.runs.NewStream(ctx, nacre.StreamOptions{Room: room})
	if err != nil {
		return nil, err
	}
	r.stream = st
	return r, nil
}

// chunkOf returns how many tokens of a prompt are computed at once.
func (d *decoder) chunkOf(o *Options) int {
	switch {
	case d.rows > 0:
		return d.rows
	case o.Chunk > 0:
		return o.Chunk
	}
	return 128
}

// compute returns the scores of the last token. Tokens[:done] are not computed again. The slices are
// valid until the next call.
func (r *runner) compute(ctx context.Context, tokens []int32) (x scores, err error) {
	if r.stream == nil {
		r.last = tokens
		out, err := r.runs.Run(ctx, r.inputs(tokens))
		if err != nil {
			return x, err
		}
		return r.scores(func(name string) *nacre.Tensor { return out[name] })
	}
	for r.done < len(tokens) {
		n := r.chunk
		if r.done == 0 && len(tokens) >= r.first {
			n = max(n, r.first)
		}
		next := tokens[r.done:min(r.done+n, len(tokens))]
		if x, err = r.rowsOf(ctx, next); err != nil {
			return x, err
		}
		r.done += len(next)
		r.last = next
	}
	return x, nil
}

// switches reports whether the states hold tokens that rotate differently once there are that many.
func (r *runner) switches(tokens int) bool {
	return r.done > 0 && r.done < r.first && tokens >= r.first
}

// rowsOf runs the stream.
func (r *runner) rowsOf(ctx context.Context, tokens []int32) (x scores, err error) {
	if len(tokens) == 1 && !r.noStep {
		return r.one(ctx, tokens[0])
	}
	out, err := r.stream.Run(ctx, r.inputs(tokens))
	if err != nil {
		return x, err
	}
	return r.scores(func(name string) *nacre.Tensor { return out[name] })
}

// one runs the stream on one token, in memory that it allocates only once.
func (r *runner) one(ctx context.Context, token int32) (x scores, err error) {
	if r.step == nil {
		b, err := r.stream.Bind(ctx, r.inputs([]int32{token}))
		if errors.Is(err, nacre.ErrUnsupported) {
			r.noStep = true
			return r.rowsOf(ctx, []int32{token})
		}
		if err != nil {
			return x, err
		}
		r.step, r.stepIDs = b, b.Input(r.ids.Name)
	}
	setToken(r.stepIDs, token)
	if err := r.step.Run(ctx); err != nil {
		return x, err
	}
	return r.scores(r.step.Output)
}

// setToken sets the only element of a tensor of tokens.
func setToken(t *nacre.Tensor, token int32) {
	if data, err := nacre.Data[int64](t); err == nil {
		data[0] = int64(token)
		return
	}
	data, err := nacre.Data[int32](t)
	if err != nil {
		panic(err) // findIDs looked at the type
	}
	data[0] = token
}

// inputs makes the inputs of a run on tokens.
func (r *runner) inputs(tokens []int32) map[string]*nacre.Tensor {
	ids, err := nacre.Zeros(r.ids.DType, 1, len(tokens))
	if err != nil {
		panic(err) // no more than the tokens, which are in memory
	}
	fill(ids, func(i int) int { return int(tokens[i]) })
	in := map[string]*nacre.Tensor{r.ids.Name: ids}
	for _, v := range r.extra {
		in[v.Name] = r.extraTensor(v, len(tokens))
	}
	return in
}

// scores returns the scores of a run's last token.
func (r *runner) scores(output func(name string) *nacre.Tensor) (x scores, err error) {
	t := output(r.logits.Name)
	if t == nil {
		return x, errorf(nacre.ErrUnsupported, "%s: a run gives no output %s", r.file, r.logits.Name)
	}
	data, err := nacre.Data[float32](t)
	if err != nil {
		if data, err = nacre.Float32s(t); err != nil {
			return x, err
		}
	}
	if r.width == 0 {
		shape := t.Shape()
		r.width = shape[len(shape)-1]
	}
	if len(data) == 0 || len(data) != r.width {
		return x, errorf(nacre.ErrShape, "%s: output %s is %v, which is not the logits of one token", r.file, r.logits.Name, t)
	}
	if x.logits = data; r.places != "" {
		x.ids, err = nacre.Data[int64](output(r.places))
	}
	return x, err
}

// clear empties the states.
func (r *runner) clear() {
	if r.stream == nil {
		return
	}
	r.unbind()
	r.stream.Reset()
	r.done = 0
}

// cut has the states hold less than the first n tokens, so that the next run computes the last of
// them at least. States that cannot be cut are emptied.
func (r *runner) cut(n int) {
	if r.done < n {
		return
	}
	r.unbind()
	rotated := r.first > 0 && r.done >= r.first && n < r.first
	if rotated || r.stream.Truncate(n-1) != nil {
		r.clear()
		return
	}
	r.done = n - 1
}

// fork returns a runner with a copy of the states.
func (r *runner) fork() (*runner, error) {
	f := &runner{decoder: r.decoder, runs: r.runs, places: r.places, chunk: r.chunk, first: r.first, done: r.done,
		noStep: r.noStep, last: slices.Clone(r.last)}
	if r.stream == nil {
		return f, nil
	}
	st, err := r.stream.Fork()
	if err != nil {
		return nil, err
	}
	f.stream = st
	return f, nil
}

func (r *runner) unbind() {
	if r.step != nil {
		r.step.Close()
		r.step = nil
	}
}

// close releases the memory of the states.
func (r *runner) close() {
	r.unbind()
	if r.stream != nil {
		r.stream.Close()
	}
}
