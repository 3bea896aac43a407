package speech

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
)

// Numbers of Chatterbox.
const (
	chatterboxRate    = 24_000
	chatterboxPenalty = 1.2  // of codes that came before
	chatterboxMost    = 1024 // codes of a sentence, 25 a second
	startCode         = 6561
	stopCode          = 6562
	silenceCode       = 4299
	silenceCodes      = 3 // at the end of a sentence
)

// chatterbox is a voice of Chatterbox turbo: a decoder that continues a person's voice and a text
// with codes of speech, and a network that turns codes into sound.
type chatterbox struct {
	path    string
	options nacre.Options
	tokens  *tokenizer.Tokenizer
	sound   Sound // the reference, at the rate of the voice

	encoder, embed, model, decoder *network

	voice  *conditions // nil before the first sentence
	stream *nacre.Stream
	prefix int // rows of the stream before a text
}

// openChatterbox opens a voice of Chatterbox.
func openChatterbox(f files, o *Options) (_ engine, err error) {
	set, err := chatterboxPrecision(f, o.Precision)
	if err != nil {
		return nil, err
	}
	c := &chatterbox{path: f.shown, options: o.Session}
	if c.sound, err = reference(o.Reference); err != nil {
		return nil, fmt.Errorf("%s: %w", f.shown, err)
	}
	data, err := f.read(chatterboxTokenizer, maxTokenizer)
	if err != nil {
		return nil, err
	}
	if c.tokens, err = tokenizer.Read(data); err != nil {
		return nil, errorf(nacre.ErrFormat, "%s: %w", f.path(chatterboxTokenizer), err)
	}
	defer func() {
		if err != nil {
			_ = c.close()
		}
	}()
	folder := chatterboxFolder(f)
	for _, g := range []struct {
		to              **network
		name            string
		inputs, outputs []port
	}{
		{&c.encoder, speechEncoder, []port{{"audio_values", false, 2}}, []port{{"audio_features", false, 3},
			{"audio_tokens", true, 2}, {"speaker_embeddings", false, 2}, {"speaker_features", false, 3}}},
		{&c.embed, embedTokens, []port{{"input_ids", true, 2}}, []port{{"inputs_embeds", false, 3}}},
		{&c.model, languageModel, []port{{"inputs_embeds", false, 3}}, []port{{"logits", false, 3}}},
		{&c.decoder, conditionalDecoder, []port{{"speech_tokens", true, 2}, {"speaker_embeddings", false, 2},
			{"speaker_features", false, 3}}, []port{{"waveform", false, 2}}},
	} {
		if *g.to, err = openNetwork(f, set.file(folder, g.name), g.inputs, g.outputs); err != nil {
			return nil, err
		}
	}
	return c, c.checkNetworks()
}

// checkNetworks checks what one graph alone does not show.
func (c *chatterbox) checkNetworks() error {
	for _, n := range []*network{c.encoder, c.decoder} {
		if len(n.extra) > 0 {
			return errorf(nacre.ErrUnsupported, "%s: input %v is none of a voice of Chatterbox", n.path, n.extra[0])
		}
	}
	for _, v := range c.embed.extra {
		if v.Name != embedPositions && v.Name != embedExaggeration {
			return errorf(nacre.ErrUnsupported, "%s: input %v is none of a voice of Chatterbox", c.embed.path, v)
		}
	}
	states := c.model.model.States()
	if !slices.ContainsFunc(states, func(s nacre.State) bool { return s.Axis >= 0 }) {
		const text = "%s: the graph has no caches, inputs past_key_values.N.key and outputs present.N.key; export it with them"
		return errorf(nacre.ErrUnsupported, text, c.model.path)
	}
	for _, p := range []struct {
		n        *network
		v        nacre.Info
		at, want int
	}{
		{c.model, c.model.inputs[0], 2, width(c.embed.outputs[0], 2)},
		{c.encoder, c.encoder.outputs[0], 2, width(c.embed.outputs[0], 2)},
		{c.decoder, c.decoder.inputs[1], 1, width(c.encoder.outputs[2], 1)},
		{c.decoder, c.decoder.inputs[2], 2, width(c.encoder.outputs[3], 2)},
	} {
		if got := width(p.v, p.at); got >= 0 && p.want >= 0 && got != p.want {
			const text = "%s: axis %d of %v must be %d, as in the other graphs; the files are of different voices"
			return errorf(nacre.ErrFormat, text, p.n.path, p.at, p.v, p.want)
		}
	}
	if logits := c.model.outputs[0]; width(logits, 2) >= 0 && width(logits, 2) <= stopCode {
		const text = "%s: output %v has no logits for the code %d, which ends a sentence"
		return errorf(nacre.ErrUnsupported, text, c.model.path, logits, stopCode)
	}
	return nil
}

// width returns an extent, or -1 if the model leaves it open.
func width(v nacre.Info, axis int) int {
	if axis >= len(v.Shape) {
		return -1
	}
	return v.Shape[axis].Size
}

func (c *chatterbox) rate() int          { return chatterboxRate }
func (c *chatterbox) language() string   { return "en-us" }
func (c *chatterbox) speakers() []string { return nil }

// check refuses options of other voices.
func (c *chatterbox) check(o *SpeakOptions) error {
	switch {
	case o.Speed != 0 && o.Speed != 1:
		return errorf(nacre.ErrOption, "option Speed is %v; a voice of Chatterbox speaks as fast as its reference", o.Speed)
	case o.Noise != nil || o.NoiseW != nil:
		return errorf(nacre.ErrOption,
			"options Noise and NoiseW are for voices of Piper; a voice of Chatterbox takes Sampling")
	case o.Sampling != nil:
		return o.Sampling.Validate()
	}
	return nil
}

// say computes the sound of a sentence.
func (c *chatterbox) say(ctx context.Context, q *request) (utterance, error) {
	ids, err := c.tokens.EncodeContext(ctx, spoken(q.text), true)
	if err != nil {
		return utterance{}, errorf(ErrText, "the sentence cannot be turned into tokens: %w", err)
	}
	if len(ids) == 0 {
		return utterance{}, nil
	}
	ctx = nacre.WithSeed(ctx, q.seed)
	if err := c.listen(ctx, q); err != nil {
		return utterance{}, err
	}
	codes, err := c.codes(ctx, ids, q)
	if err != nil {
		return utterance{}, err
	}
	q.progress(len(codes), len(codes)) // the sound is left
	samples, err := c.waveform(ctx, codes)
	return utterance{samples: samples}, err
}

// spoken returns a sentence as the voice learned texts: with single spaces, a capital at the
// beginning, and a mark at the end.
func spoken(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r, size := utf8.DecodeRuneInString(text); size > 0 {
		text = strings.ToUpper(string(r)) + text[size:]
	}
	if text != "" && !strings.ContainsAny(text[len(text)-1:], ".!?-,]\"')") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	return text
}

// waveform returns the sound of codes.
func (c *chatterbox) waveform(ctx context.Context, codes []int64) ([]float32, error) {
	if err := c.decoder.start(ctx, c.options); err != nil {
		return nil, err
	}
	all := append(slices.Clone(c.voice.codes), codes...)
	all = append(all, slices.Repeat([]int64{silenceCode}, silenceCodes)...)
	t, err := nacre.NewTensor(all, 1, len(all))
	if err != nil {
		return nil, err
	}
	out, err := c.decoder.run(ctx, nil, t, c.voice.embeddings, c.voice.features)
	if err != nil {
		return nil, err
	}
	samples, err := nacre.Float32s(out[0])
	for i, x := range samples {
		samples[i] = finite(float64(x))
	}
	return samples, err
}

// close frees the stream, the sessions and the models.
func (c *chatterbox) close() error {
	var errs []error
	if c.stream != nil {
		errs = append(errs, c.stream.Close())
		c.stream = nil
	}
	for _, n := range []*network{c.encoder, c.embed, c.model, c.decoder} {
		errs = append(errs, n.close())
	}
	return errors.Join(errs...)
}

// sampling returns how codes are chosen.
func (c *chatterbox) sampling(q *request) generate.Sampling {
	s := generate.Sampling{RepetitionPenalty: chatterboxPenalty}
	if q.options.Sampling != nil {
		s = *q.options.Sampling
	}
	if s.MaxTokens == 0 || s.MaxTokens > chatterboxMost {
		s.MaxTokens = chatterboxMost
	}
	s.Seed = q.seed
	return s
}
