package control

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// beamSearch is BeamSearch: it follows the most likely continuations of each text together.
type beamSearch struct {
	*search
	early bool // a text ends once it has as many finished continuations as beams
}

func newBeamSearch(n *op.Node) (op.Op, error) {
	s, err := readSearch(n)
	if err != nil {
		return nil, err
	}
	s.beams = 3
	if s.pair, err = readPair(n, n.Int("model_type", textAlone)); err != nil {
		return nil, err
	}
	for i, what := range map[int]string{10: "decoder_input_ids", 11: "logits_processor"} {
		if n.HasIn(i) && (s.pair == nil || s.pair.masked) {
			return nil, graph.Errorf(graph.ErrUnsupported, "input %s, which only models of model_type %d take", what,
				speechToText)
		}
	}
	return &beamSearch{s, n.Bool("early_stopping", false)}, nil
}

// Infer sets [batch,sequences,max_length] and the scores.
func (o *beamSearch) Infer(c *op.Infer) error {
	if err := inferTexts(c, 3); err != nil {
		return err
	}
	c.Set(1, tensor.F32, graph.UnknownDims(2))
	c.Set(2, tensor.F32, graph.UnknownDims(4))
	return nil
}

// beamWish adds the inputs of beamSearch.
type beamWish struct {
	*wish
	beams, results int
	length         float32 // scores are divided by the text's length to this power
}

// maxBeams bounds the continuations of a text.
const maxBeams = 1 << 12

func (o *beamSearch) beamWishes(c *op.Run) (*beamWish, error) {
	w, err := o.wishes(c, 6, 7)
	if err != nil {
		return nil, err
	}
	b := &beamWish{wish: w}
	if b.beams, err = op.ScalarInt(c.In[3], "num_beams"); err != nil {
		return nil, err
	}
	if b.results, err = op.ScalarInt(c.In[4], "num_return_sequences"); err != nil {
		return nil, err
	}
	if b.beams < 1 || b.beams > maxBeams || b.results < 1 || b.results > b.beams {
		return nil, graph.Errorf(graph.ErrShape, "num_beams %d and num_return_sequences %d cannot be", b.beams, b.results)
	}
	if b.length, err = number(c, 5, "length_penalty", 1); err != nil || o.pair == nil {
		return b, err
	}
	return b, o.pair.speech(c, w)
}

// finished holds the best continuations of one text that have ended, the best first.
type finished struct {
	list []continuation
	most int
	done bool
}

type continuation struct {
	text  []int32
	score float32
}

// add inserts a continuation if it is among the best.
func (f *finished) add(text []int32, sum, length float32) {
	score := sum / float32(math.Pow(float64(len(text)), float64(length)))
	if len(f.list) == f.most && score <= f.list[f.most-1].score {
		return
	}
	at := len(f.list)
	for at > 0 && f.list[at-1].score < score {
		at--
	}
	f.list = slices.Insert(f.list, at, continuation{slices.Clone(text), score})
	if len(f.list) > f.most {
		f.list = f.list[:f.most]
	}
}

// end sets done if no open continuation can beat the ended ones.
func (f *finished) end(best float32, tokens int, length float32, early bool) {
	if len(f.list) < f.most {
		return
	}
	f.done = early || f.list[f.most-1].score >= best/float32(math.Pow(float64(tokens), float64(length)))
}

// beams holds the open continuations of all texts.
type beams struct {
	o       *beamSearch
	w       *beamWish
	written texts
	before  texts     // memory of the previous step's texts
	sums    []float32 // sums of log probabilities
	ended   []finished
	scores  []float32 // of every step, if they are wanted
	keep    bool
}

// Run runs the decoder until no continuation can become better.
func (o *beamSearch) Run(c *op.Run) error {
	w, err := o.beamWishes(c)
	if err != nil {
		return err
	}
	s, err := newBeams(o, c, w)
	if err != nil {
		return err
	}
	var d decoder = o.begin(c, w.wish, w.beams)
	if o.pair != nil {
		t := o.translate(c, w.wish, w.beams)
		defer t.end()
		d = t
	}
	n := 0
	for step := 1; len(s.written[0]) < w.most; step++ {
		var scores []float32
		if scores, n, err = d.run(); err != nil {
			return err
		}
		if err := s.score(c, scores, n, step); err != nil {
			return err
		}
		tokens, from, err := s.choose(scores, n)
		if err != nil {
			return err
		}
		if s.over() {
			break
		}
		if err := d.advance(tokens, from); err != nil {
			return err
		}
	}
	return s.store(c, n)
}

// newBeams returns the prompts, each in one row per beam.
func newBeams(o *beamSearch, c *op.Run, w *beamWish) (s *beams, err error) {
	s = &beams{o: o, w: w, ended: make([]finished, w.batch), keep: c.Wants(2)}
	if s.written, err = newTexts(c, w.wish, w.beams); err != nil {
		return nil, err
	}
	for i := range w.batch {
		s.ended[i].most = w.beams
		s.sums = append(s.sums, 0)
		for range w.beams - 1 {
			s.sums = append(s.sums, -1e9) // copies of the first, too unlikely to be chosen in step 1
		}
	}
	return s, nil
}

func (s *beams) over() bool {
	return !slices.ContainsFunc(s.ended, func(f finished) bool { return !f.done })
}

// score turns logits into the sums that the continuations would have.
func (s *beams) score(c *op.Run, scores []float32, n, step int) error {
	for r := range s.sums {
		s.w.pace.Work(16 * n)
		logSoftmax(scores[r*n:][:n])
	}
	if s.o.pair != nil && step == 1 {
		if err := s.o.pair.silence(c, scores, n, s.w.batch); err != nil {
			return err
		}
	}
	if err := s.o.adjust(s.w.wish, s.written, scores, n, step); err != nil {
		return err
	}
	for r, sum := range s.sums {
		s.w.pace.Work(n)
		for i := range scores[r*n:][:n] {
			scores[r*n+i] += sum
		}
	}
	if s.keep {
		if err := c.Mem.Reserve(4 * len(scores)); err != nil {
			return err
		}
		s.scores = append(s.scores, scores...)
	}
	return nil
}

// logSoftmax replaces logits by log probabilities.
func logSoftmax(row []float32) {
	most := slices.Max(row)
	sum := 0.0
	for _, v := range row {
		sum += math.Exp(float64(v - most))
	}
	log := float32(math.Log(sum))
	for i := range row {
		row[i] = row[i] - most - log
	}
}

// candidate is a token that may extend a continuation.
type candidate struct {
	score float32
	at    int // beam and token
}

// choose takes the best tokens of each text. from is the row that each token extends.
func (s *beams) choose(scores []float32, n int) (tokens []int32, from []int, err error) {
	m := s.w.beams
	for b := range s.w.batch {
		f := &s.ended[b]
		if f.done {
			for range m {
				tokens, from = append(tokens, s.o.pad), append(from, b*m)
			}
			continue
		}
		best := bestOf(s.w.pace, scores[b*m*n:][:m*n], 2*m)
		taken := 0
		for j, k := range best {
			row, id := b*m+k.at/n, int32(k.at%n)
			if s.o.eos >= 0 && id == s.o.eos {
				if j < m {
					f.add(s.written[row], k.score, s.w.length)
				}
				continue
			}
			tokens, from = append(tokens, id), append(from, row)
			s.sums[b*m+taken] = k.score
			if taken++; taken == m {
				break
			}
		}
		if taken < m {
			return nil, nil, graph.Errorf(graph.ErrShape, "a vocabulary of %d has too few tokens for %d beams", n, m)
		}
		f.end(best[0].score, len(s.written[0]), s.w.length, s.o.early)
	}
	if s.before == nil {
		s.before = make(texts, len(from))
	}
	for r, source := range from {
		s.before[r] = append(append(s.before[r][:0], s.written[source]...), tokens[r])
	}
	s.written, s.before = s.before, s.written
	return tokens, from, nil
}

// bestOf returns the k largest scores in descending order, and the first of equals.
func bestOf(pace *op.Pace, scores []float32, k int) []candidate {
	var list []candidate // those that may be among the k; the first k are once it has been cut
	cut := func() {
		pace.Work(len(list) * bits.Len(uint(len(list))))
		slices.SortFunc(list, func(a, b candidate) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.at, b.at))
		})
		list = list[:min(k, len(list))]
	}
	full := false
	for from, to := range pace.Stretches(len(scores), 1) {
		for i, v := range scores[from:to] {
			if full && !(v > list[k-1].score) {
				continue
			}
			if list = append(list, candidate{v, from + i}); len(list) == 2*k {
				cut()
				full = true
			}
		}
	}
	cut()
	return list
}

// store ends open continuations and stores the best.
func (s *beams) store(c *op.Run, n int) error {
	w, m := s.w, s.w.beams
	out, err := output(c, 0, tensor.I32, w.batch, w.results, w.most)
	if err != nil {
		return err
	}
	sums, err := output(c, 1, tensor.F32, w.batch, w.results)
	if err != nil {
		return err
	}
	var list texts
	for b := range s.ended {
		f := &s.ended[b]
		if !f.done {
			for r := b * m; r < (b+1)*m; r++ {
				f.add(s.written[r], s.sums[r], w.length)
			}
		}
		if len(f.list) < w.results {
			return graph.Errorf(graph.ErrShape, "text %d has %d continuations of the %d to return", b, len(f.list), w.results)
		}
		for i, k := range f.list[:w.results] {
			list = append(list, k.text)
			tensor.View[float32](sums)[b*w.results+i] = k.score
		}
	}
	s.o.search.store(tensor.View[int32](out), list, w.most)
	if !s.keep {
		return nil
	}
	all, err := output(c, 2, tensor.F32, w.most-w.prompt, w.batch, m, n)
	if err != nil {
		return err
	}
	copy(tensor.View[float32](all), s.scores)
	return nil
}
