package speech

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/speech/phonemes"
)

// piper is a voice of Piper, a network that turns phonemes into sound.
type piper struct {
	path      string // of the model, for messages
	config    *piperConfig
	converter phonemes.Converter // nil if the phonemes are the characters of the text
	model     *nacre.Model
	session   *nacre.Session
	output    string
	sid       bool // the network takes the number of a speaker
}

// piperConfigEnding is the ending of the file beside a voice.
const piperConfigEnding = ".json"

// piperFound reports whether files are a voice of Piper.
func piperFound(f files) bool { return strings.HasSuffix(f.name, ".onnx") }

// openPiper opens a voice of Piper.
func openPiper(f files, o *Options) (_ engine, err error) {
	if o.Precision != "" || len(o.Reference.Samples) > 0 {
		return nil, errorf(nacre.ErrOption, "%s: options Precision and Reference are for voices of Chatterbox; this is one of Piper", f.path(f.name))
	}
	name := f.name + piperConfigEnding
	if !f.has(name) {
		return nil, &kindError{fs.ErrNotExist, fmt.Errorf("%s: the file is missing; a voice of Piper has it beside %s and is useless without it",
			f.path(name), f.name)}
	}
	data, err := f.read(name, maxPiperConfig)
	if err != nil {
		return nil, err
	}
	p := &piper{path: f.path(f.name)}
	if p.config, err = parsePiper(data); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path(name), err)
	}
	if err := p.convert(o); err != nil {
		return nil, fmt.Errorf("%s: %w", f.path(name), err)
	}
	if p.model, err = f.model(f.name); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = p.close()
		}
	}()
	if err := p.checkModel(); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	p.session, err = p.model.NewSession(o.Session)
	return p, err
}

// convert chooses the converter to phonemes.
func (p *piper) convert(o *Options) (err error) {
	if p.converter = o.Phonemes; p.converter != nil || p.config.PhonemeType == "text" {
		return nil
	}
	p.converter, err = phonemes.For(p.config.language())
	return err
}

// checkModel checks that the network is one of a voice, and that it fits the file beside it.
func (p *piper) checkModel() error {
	inputs, outputs := p.model.Inputs(), p.model.Outputs()
	for _, in := range inputs {
		switch want, ok := piperInputs[in.Name]; {
		case !ok && in.Required:
			return errorf(nacre.ErrUnsupported, "input %v is none of a voice of Piper: %s", in, piperInputNames)
		case ok && in.DType != want:
			return errorf(nacre.ErrUnsupported, "input %v must be %v in a voice of Piper", in, want)
		}
		p.sid = p.sid || in.Name == "sid"
	}
	for _, name := range []string{"input", "input_lengths", "scales"} {
		if !slices.ContainsFunc(inputs, func(in nacre.Info) bool { return in.Name == name }) {
			return errorf(nacre.ErrUnsupported, "the network has no input %s, so it is no voice of Piper: %s", name,
				piperInputNames)
		}
	}
	if len(outputs) == 0 || outputs[0].DType != nacre.Float32 {
		return errorf(nacre.ErrUnsupported, "the network has no output of float32, so it is no voice of Piper")
	}
	p.output = outputs[0].Name
	if p.config.Speakers > 1 && !p.sid {
		return errorf(nacre.ErrFormat, "the network has no input sid, but the file beside it has %d speakers",
			p.config.Speakers)
	}
	return p.checkSymbols()
}

// piperInputs are the inputs of the network.
var piperInputs = map[string]nacre.DType{
	"input": nacre.Int64, "input_lengths": nacre.Int64, "scales": nacre.Float32, "sid": nacre.Int64,
}

// piperInputNames names the inputs in messages.
const piperInputNames = "it takes input, input_lengths, scales and, for several speakers, sid"

// checkSymbols checks that the network has a row of its first table for every phoneme.
func (p *piper) checkSymbols() error {
	network, err := p.model.Network()
	if err != nil {
		return err
	}
	rows := tableRows(network.Graph, "input")
	for phoneme, ids := range p.config.PhonemeIDs {
		for _, id := range ids {
			if rows > 0 && id >= int64(rows) {
				return errorf(nacre.ErrFormat, "the network knows %d phonemes, and %q has number %d in the file beside it; "+
					"they are of different voices", rows, phoneme, id)
			}
		}
	}
	return nil
}

// tableRows returns the rows of the constant table that an input is the index of, 0 if there is
// none.
func tableRows(g *graph.Graph, input string) int {
	for _, n := range g.Nodes {
		if n.Op != "Gather" || len(n.Inputs) != 2 || n.Inputs[1] != input {
			continue
		}
		for _, init := range g.Initializers {
			if shape := init.Tensor.Shape(); init.Name == n.Inputs[0] && len(shape) == 2 {
				return shape[0]
			}
		}
	}
	return 0
}

func (p *piper) rate() int          { return p.config.Audio.SampleRate }
func (p *piper) language() string   { return p.config.language() }
func (p *piper) speakers() []string { return p.config.speakers() }

// check refuses options of other voices.
func (p *piper) check(o *SpeakOptions) error {
	if o.Sampling != nil {
		return errorf(nacre.ErrOption, "option Sampling is for voices of Chatterbox; a voice of Piper takes Noise and NoiseW")
	}
	return nil
}

// say computes the sound of a sentence.
func (p *piper) say(ctx context.Context, q *request) (utterance, error) {
	text := q.text
	if p.converter != nil {
		var err error
		if text, err = p.converter.Phonemes(ctx, text); err != nil {
			return utterance{}, fmt.Errorf("%s: %w", p.path, err)
		}
	}
	ids, unspoken, spoken := p.config.ids(decomposed(text))
	if !spoken {
		return utterance{nil, unspoken}, nil
	}
	q.progress(0, 1)
	samples, err := p.run(ctx, ids, q)
	q.progress(1, 1)
	return utterance{samples, unspoken}, err
}

// decomposed returns the phonemes of a text, one a character: letters and their marks are apart.
func decomposed(text string) []rune { return []rune(norm.NFD.String(strings.TrimSpace(text))) }

// run runs the network.
func (p *piper) run(ctx context.Context, ids []int64, q *request) ([]float32, error) {
	inference := &p.config.Inference
	noise, noiseW := inference.NoiseScale, inference.NoiseW
	if q.options.Noise != nil {
		noise = q.options.Noise
	}
	if q.options.NoiseW != nil {
		noiseW = q.options.NoiseW
	}
	scales := []float32{float32(*noise), float32(*inference.LengthScale / q.speed), float32(*noiseW)}
	inputs := map[string]*nacre.Tensor{}
	for _, x := range []struct {
		name string
		make func() (*nacre.Tensor, error)
	}{
		{"input", func() (*nacre.Tensor, error) { return nacre.NewTensor(ids, 1, len(ids)) }},
		{"input_lengths", func() (*nacre.Tensor, error) { return nacre.NewTensor([]int64{int64(len(ids))}, 1) }},
		{"scales", func() (*nacre.Tensor, error) { return nacre.NewTensor(scales, 3) }},
		{"sid", func() (*nacre.Tensor, error) { return nacre.NewTensor([]int64{int64(q.speaker)}, 1) }},
	} {
		t, err := x.make()
		if err != nil {
			return nil, err
		}
		if x.name != "sid" || p.sid {
			inputs[x.name] = t
		}
	}
	results, err := p.session.Run(nacre.WithSeed(ctx, q.seed), inputs)
	if err != nil {
		return nil, err
	}
	samples, err := nacre.Data[float32](results[p.output])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	for i, x := range samples {
		samples[i] = finite(float64(x))
	}
	return samples, nil
}

// close frees the session and the model.
func (p *piper) close() error {
	if p.session != nil {
		if err := p.session.Close(); err != nil {
			return err
		}
	}
	return p.model.Close()
}
