package generate

import (
	"context"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
)

// decoder is a session with the inputs and outputs of a decoder.
type decoder struct {
	session *nacre.Session // computes the logits of the last token
	source  *nacre.Session // computes all logits
	file    string
	ids     nacre.Info
	logits  nacre.Info
	states  bool         // the network has states
	partial bool         // runs may give the largest logits alone
	extra   []nacre.Info // inputs that this package makes
	rows    int          // tokens that a run takes; 0 for any number
	vocab   int          // logits of a token; 0 if the model does not say
}

// idNames are names of the input for tokens, the usual first.
var idNames = []string{"input_ids", "token_ids", "tokens", "ids", "token", "input"}

// find finds the inputs and outputs of a session. Without states, each run takes all tokens.
func find(ctx context.Context, s *nacre.Session, o *Options) (*decoder, error) {
	m := s.Model()
	d := &decoder{session: s, source: s, file: m.Metadata().File}
	states := m.States()
	if o.NoCache && !slices.ContainsFunc(states, func(st nacre.State) bool { return st.Axis >= 0 }) && len(states) > 0 {
		return nil, errorf(nacre.ErrOption, "%s: option NoCache: the states of the network do not grow, so it cannot do without", d.file)
	}
	d.states = len(states) > 0
	outputs := slices.DeleteFunc(s.Outputs(), func(v nacre.Info) bool {
		return slices.ContainsFunc(states, func(st nacre.State) bool { return st.Output == v.Name })
	})
	inputs, err := d.inputs(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.findIDs(inputs, o.IDs); err != nil {
		return nil, err
	}
	if err := d.findLogits(outputs, o.Logits); err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if in.Name == d.ids.Name || !in.Required {
			continue
		}
		if d.extraTensor(in, 1) == nil {
			return nil, errorf(nacre.ErrUnsupported, "%s: input %v is none that a decoder of text is known to have; run the session with it", d.file, in)
		}
		d.extra = append(d.extra, in)
	}
	return d, nil
}

// inputs returns the inputs that are not states and that a stream does not make.
func (d *decoder) inputs(ctx context.Context) ([]nacre.Info, error) {
	if !d.states {
		return d.session.Inputs(), nil
	}
	st, err := d.session.NewStream(ctx, nacre.StreamOptions{Room: 1})
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Inputs(), nil
}

// integers reports whether a value can hold tokens: a tensor of integers with two axes.
func integers(v nacre.Info) bool {
	return (v.DType == nacre.Int64 || v.DType == nacre.Int32) && v.Kind == nacre.TensorKind && len(v.Shape) == 2
}

// findIDs finds the input for tokens.
func (d *decoder) findIDs(inputs []nacre.Info, name string) error {
	names := idNames
	if name != "" {
		names = []string{name}
	}
	i := -1
	for _, n := range names {
		if i < 0 {
			i = slices.IndexFunc(inputs, func(v nacre.Info) bool { return v.Name == n && integers(v) })
		}
	}
	if i < 0 {
		return errorf(nacre.ErrUnsupported, "%s: no input %s is int64 [batch,sequence], so this is no decoder of tokens; it takes %s",
			d.file, strings.Join(names, " or "), list(inputs))
	}
	d.ids = inputs[i]
	if batch := d.ids.Shape[0]; !batch.Open() && batch.Size != 1 {
		return errorf(nacre.ErrUnsupported, "%s: input %v has a batch of %d; export the decoder with an open batch, or with one of 1", d.file, d.ids, batch.Size)
	}
	if rows := d.ids.Shape[1]; !rows.Open() {
		if !d.states || rows.Size != 1 {
			return errorf(nacre.ErrUnsupported, "%s: input %v takes %d tokens, no more and no less; export the decoder with an open sequence", d.file, d.ids, rows.Size)
		}
		d.rows = 1
	}
	return nil
}

// findLogits finds the output for logits.
func (d *decoder) findLogits(outputs []nacre.Info, name string) error {
	scores := slices.DeleteFunc(slices.Clone(outputs), func(v nacre.Info) bool {
		return v.Kind != nacre.TensorKind || !v.DType.IsFloat() || len(v.Shape) != 2 && len(v.Shape) != 3
	})
	find := func(name string) int {
		return slices.IndexFunc(scores, func(v nacre.Info) bool { return v.Name == name })
	}
	i := find(name)
	if name == "" {
		if i = find("logits"); i < 0 && len(scores) == 1 && !slices.Contains(vectors, scores[0].Name) {
			i = 0
		}
	}
	if i < 0 {
		return errorf(nacre.ErrUnsupported, "%s: no output is %s of floating-point numbers [batch,sequence,vocabulary]; it gives %s",
			d.file, orWord(name, "logits"), list(outputs))
	}
	d.logits = scores[i]
	if last := d.logits.Shape[len(d.logits.Shape)-1]; !last.Open() {
		d.vocab = last.Size
	}
	return nil
}

// vectors are names of outputs of encoders, which are no logits.
var vectors = []string{"last_hidden_state", "token_embeddings", "sentence_embedding", "pooler_output"}

func orWord(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// list formats names.
func list(infos []nacre.Info) string {
	if len(infos) == 0 {
		return "nothing else"
	}
	words := make([]string, len(infos))
	for i, v := range infos {
		words[i] = v.String()
	}
	return strings.Join(words, ", ")
}

// extraInputs are the inputs of decoders that this package makes. Inputs marked whole are only for
// runs on all tokens; for other runs streams make them.
var extraInputs = map[string]struct {
	whole bool
	at    func(i int) int
}{
	"attention_mask":     {true, func(int) int { return 1 }},
	"position_ids":       {true, func(i int) int { return i }},
	"token_type_ids":     {false, func(int) int { return 0 }},
	"num_logits_to_keep": {false, func(int) int { return 1 }},
	"logits_to_keep":     {false, func(int) int { return 1 }},
}

// isKept reports whether an input is the number of tokens that a run gives logits of.
func isKept(name string) bool { return strings.HasSuffix(name, "_to_keep") }

// extraTensor returns the tensor for an input that this package makes, for a run of rows tokens.
// For other inputs it returns nil.
func (d *decoder) extraTensor(in nacre.Info, rows int) *nacre.Tensor {
	rule, ok := extraInputs[in.Name]
	if !ok || in.Kind != nacre.TensorKind || rule.whole && d.states {
		return nil
	}
	shape := []int{1, rows}
	if isKept(in.Name) {
		shape = []int{1}
	}
	shape = shape[max(0, len(shape)-len(in.Shape)):]
	if len(shape) != len(in.Shape) {
		return nil
	}
	t, err := nacre.Zeros(in.DType, shape...)
	if err != nil || !fill(t, rule.at) {
		return nil
	}
	return t
}

// fill sets the elements of a tensor. It reports false for a type other than integers, float32 and
// bool.
func fill(t *nacre.Tensor, at func(i int) int) bool {
	switch t.DType() {
	case nacre.Int64:
		set[int64](t, func(i int) int64 { return int64(at(i)) })
	case nacre.Int32:
		set[int32](t, func(i int) int32 { return int32(at(i)) })
	case nacre.Float32:
		set[float32](t, func(i int) float32 { return float32(at(i)) })
	case nacre.Bool:
		set[bool](t, func(i int) bool { return at(i) != 0 })
	default:
		return false
	}
	return true
}

// set sets the elements of a tensor of type T.
func set[T nacre.Element](t *nacre.Tensor, at func(i int) T) {
	data, err := nacre.Data[T](t)
	if err != nil {
		panic(err) // the caller looked at the type
	}
	for i := range data {
		data[i] = at(i)
	}
}
