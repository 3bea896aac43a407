package speech

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/speech/phonemes"
)

// kokoro is a voice of Kokoro: a network that turns phonemes and the style of a speaker into sound.
type kokoro struct {
	path       string // of the model, for messages
	symbols    map[string]int64
	styles     []kokoroStyle
	given      phonemes.Converter            // Options.Phonemes
	converters map[string]phonemes.Converter // by language, made when a speaker of it speaks
	model      *nacre.Model
	session    *nacre.Session
	tokens     string // the input of phonemes
	speed      nacre.Info
	output     string
}

const (
	kokoroRate   = 24000
	kokoroTokens = 510 // phonemes that the network takes at once
	// kokoroQuiet is the loudness of silence at the ends of a sentence, of which kokoroEdge samples
	// are kept.
	kokoroQuiet = 0.01
	kokoroEdge  = kokoroRate * 3 / 100
)

// kokoroLanguages are the languages of speakers by the first letter of their names, such as jf_alpha.
var kokoroLanguages = map[byte]string{
	'a': "en-us", 'b': "en-gb", 'e': "es", 'f': "fr-fr", 'h': "hi", 'i': "it", 'j': "ja", 'p': "pt-br", 'z': "cmn",
}

// kokoroFiles are the names of a voice's files; "" for none.
type kokoroFiles struct{ model, symbols, styles string }

// kokoroFound reports whether a folder has a voice of Kokoro: a model, its symbols, and styles.
func kokoroFound(f files) bool {
	list := kokoroIn(f)
	return f.name == "" && list.symbols != "" && list.styles != ""
}

// kokoroIn finds the files of a voice in a folder, and in its folder onnx. Of several models it
// takes the first by name.
func kokoroIn(f files) (list kokoroFiles) {
	for _, pattern := range []string{"*.onnx", "onnx/*.onnx"} {
		if found := f.glob(pattern); len(found) > 0 && list.model == "" {
			list.model = found[0]
		}
	}
	for _, name := range []string{"vocab.json", "config.json"} {
		if f.has(name) && list.symbols == "" {
			list.symbols = name
		}
	}
	for _, pattern := range []string{"voices*.npz", "voices*.bin", "voices/*.bin"} {
		if found := f.glob(pattern); len(found) > 0 && list.styles == "" {
			list.styles = found[0]
		}
	}
	return list
}

// openKokoro opens a voice of Kokoro.
func openKokoro(f files, o *Options) (_ engine, err error) {
	list := kokoroIn(f)
	if o.Precision != "" || len(o.Reference.Samples) > 0 {
		return nil, errorf(nacre.ErrOption, "%s: options Precision and Reference are for voices of Chatterbox; this is one of Kokoro", f.shown)
	}
	if list.model == "" {
		return nil, &kindError{fs.ErrNotExist, fmt.Errorf("%s: the folder has symbols (%s) and styles (%s) of Kokoro, and no model: a file that ends in .onnx",
			f.shown, list.symbols, list.styles)}
	}
	k := &kokoro{path: f.path(list.model), given: o.Phonemes, converters: map[string]phonemes.Converter{}}
	if k.symbols, err = kokoroSymbols(f, list.symbols); err != nil {
		return nil, err
	}
	if path.Dir(list.styles) == "." {
		k.styles, err = readStyles(f, list.styles)
	} else {
		k.styles, err = readStyleFiles(f, path.Dir(list.styles))
	}
	if err != nil {
		return nil, err
	}
	if k.model, err = f.model(list.model); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = k.close()
		}
	}()
	if err := k.checkModel(); err != nil {
		return nil, fmt.Errorf("%s: %w", k.path, err)
	}
	k.session, err = k.model.NewSession(o.Session)
	return k, err
}

// kokoroSymbols reads the numbers of phonemes: the object vocab of a JSON file.
func kokoroSymbols(f files, name string) (map[string]int64, error) {
	const most = 1 << 20
	data, err := f.read(name, most)
	if err != nil {
		return nil, err
	}
	var file struct {
		Vocab map[string]int64 `json:"vocab"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, errorf(nacre.ErrFormat, "%s: %w", f.path(name), err)
	}
	for symbol, n := range file.Vocab {
		if n < 0 || n > math.MaxInt32 {
			return nil, errorf(nacre.ErrFormat, "%s: %q has number %d", f.path(name), symbol, n)
		}
	}
	if len(file.Vocab) == 0 {
		return nil, errorf(nacre.ErrFormat, "%s: there is no object \"vocab\" with the numbers of phonemes", f.path(name))
	}
	return file.Vocab, nil
}

// checkModel checks the inputs and outputs of the network.
func (k *kokoro) checkModel() error {
	const takes = "it takes tokens or input_ids, style and speed"
	style := false
	for _, in := range k.model.Inputs() {
		switch {
		case (in.Name == "tokens" || in.Name == "input_ids") && in.DType == nacre.Int64:
			k.tokens = in.Name
		case in.Name == "style" && in.DType == nacre.Float32:
			style = true
		case in.Name == "speed" && (in.DType == nacre.Float32 || in.DType == nacre.Int32):
			k.speed = in
		case in.Required:
			return errorf(nacre.ErrUnsupported, "input %v is none of a voice of Kokoro: %s", in, takes)
		}
	}
	outputs := k.model.Outputs()
	switch {
	case k.tokens == "" || !style || k.speed.Name == "":
		return errorf(nacre.ErrUnsupported, "the network is no voice of Kokoro: %s", takes)
	case len(outputs) == 0 || outputs[0].DType != nacre.Float32:
		return errorf(nacre.ErrUnsupported, "the network has no output of float32, so it is no voice of Kokoro")
	}
	k.output = outputs[0].Name
	return nil
}

func (k *kokoro) rate() int { return kokoroRate }

// language returns the language of the first speaker.
func (k *kokoro) language() string { return kokoroLanguages[k.styles[0].name[0]] }

func (k *kokoro) speakers() []string {
	var list []string
	for _, s := range k.styles {
		list = append(list, s.name)
	}
	return list
}

// check refuses the options of other voices.
func (k *kokoro) check(o *SpeakOptions) error {
	if o.Noise != nil || o.NoiseW != nil || o.Sampling != nil {
		return errorf(nacre.ErrOption, "options Noise and NoiseW are for voices of Piper, and Sampling for Chatterbox; this is one of Kokoro")
	}
	if k.speed.DType == nacre.Int32 && o.Speed != math.Trunc(o.Speed) {
		return errorf(nacre.ErrOption, "option Speed is %v; this export of Kokoro takes whole numbers", o.Speed)
	}
	return nil
}

// converter returns the converter for a speaker.
func (k *kokoro) converter(speaker string) (phonemes.Converter, error) {
	if k.given != nil {
		return k.given, nil
	}
	language := kokoroLanguages[speaker[0]]
	c, ok := k.converters[language]
	switch {
	case ok:
		return c, nil
	case language == "":
		return nil, errorf(nacre.ErrUnsupported, "%s: the name of speaker %s begins with no letter of a language; give Options.Phonemes", k.path, speaker)
	case language == "ja":
		c = phonemes.Japanese()
	default:
		espeak, err := phonemes.For(language)
		if err != nil {
			return nil, err
		}
		c = kokoroPhonemes{espeak, language}
	}
	k.converters[language] = c
	return c, nil
}

// say computes the sound of a sentence.
func (k *kokoro) say(ctx context.Context, q *request) (u utterance, err error) {
	style := &k.styles[q.speaker]
	converter, err := k.converter(style.name)
	if err != nil {
		return u, err
	}
	text, err := converter.Phonemes(ctx, q.text)
	if err != nil {
		return u, err
	}
	ids, unspoken := k.ids(text)
	u.unspoken = unspoken
	parts := slices.Collect(slices.Chunk(ids, kokoroTokens))
	for i, part := range parts {
		q.progress(i, len(parts))
		sound, err := k.run(ctx, part, style, q)
		if err != nil {
			return u, err
		}
		u.samples = append(u.samples, trimmed(sound)...)
	}
	q.progress(len(parts), len(parts))
	return u, nil
}

// ids returns the numbers of phonemes, and the phonemes without one. It returns none if only spaces
// and marks are known.
func (k *kokoro) ids(text string) (ids []int64, unspoken []string) {
	heard := false
	for _, r := range text {
		symbol := string(r)
		n, ok := k.symbols[symbol]
		if ok {
			ids = append(ids, n)
			heard = heard || !strings.Contains(` ;:,.!?—…"()“”ˈˌː`, symbol)
		} else if !slices.Contains(unspoken, symbol) {
			unspoken = append(unspoken, symbol)
		}
	}
	if !heard {
		ids = nil
	}
	return ids, unspoken
}

// run runs the network.
func (k *kokoro) run(ctx context.Context, ids []int64, style *kokoroStyle, q *request) ([]float32, error) {
	tokens, err := nacre.NewTensor(slices.Concat([]int64{0}, ids, []int64{0}), 1, len(ids)+2)
	if err != nil {
		return nil, err
	}
	row, err := nacre.NewTensor(style.row(len(ids)), 1, kokoroWidth)
	if err != nil {
		return nil, err
	}
	speed, err := nacre.NewTensor([]float32{float32(q.speed)}, 1)
	if k.speed.DType == nacre.Int32 {
		speed, err = nacre.NewTensor([]int32{int32(q.speed)}, 1)
	}
	if err != nil {
		return nil, err
	}
	results, err := k.session.Run(nacre.WithSeed(ctx, q.seed),
		map[string]*nacre.Tensor{k.tokens: tokens, "style": row, "speed": speed})
	if err != nil {
		return nil, err
	}
	samples, err := nacre.Data[float32](results[k.output])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.path, err)
	}
	for i, x := range samples {
		samples[i] = finite(float64(x))
	}
	return samples, nil
}

// trimmed returns a sound without most of the silence at its ends.
func trimmed(sound []float32) []float32 {
	loud := func(x float32) bool { return x > kokoroQuiet || x < -kokoroQuiet }
	first := slices.IndexFunc(sound, loud)
	if first < 0 {
		return sound
	}
	last := len(sound)
	for !loud(sound[last-1]) {
		last--
	}
	return sound[max(0, first-kokoroEdge):min(len(sound), last+kokoroEdge)]
}

// close frees the session and the model.
func (k *kokoro) close() error {
	if k.session != nil {
		if err := k.session.Close(); err != nil {
			return err
		}
	}
	return k.model.Close()
}

// kokoroPhonemes converts to the symbols of Kokoro, which has one for each diphthong and affricate.
type kokoroPhonemes struct {
	phonemes.Converter
	language string
}

var (
	kokoroCommon = []string{
		"eɪ", "A", "aɪ", "I", "aʊ", "W", "ɔɪ", "Y", "dʒ", "ʤ", "tʃ", "ʧ", "ɬ", "l", "ʔ", "t", "r", "ɹ", "x", "k",
		"ç", "k", "\u0303", "", "\u0329", "", "\u200d", "", "͡", "",
	}
	kokoroAmerican = []string{"oʊ", "O", "ɜː", "ɜɹ", "ɚ", "əɹ", "ɪə", "iə", "oː", "ɔ", "ɐ", "ə", "ː", ""}
	kokoroBritish  = []string{"əʊ", "Q", "eə", "ɛː", "iə", "ɪə", "ɐ", "ə"}

	kokoroReplacers = map[string]*strings.Replacer{
		"en-us": strings.NewReplacer(slices.Concat(kokoroCommon, kokoroAmerican)...),
		"en-gb": strings.NewReplacer(slices.Concat(kokoroCommon, kokoroBritish)...),
	}
)

// Phonemes converts a sentence.
func (k kokoroPhonemes) Phonemes(ctx context.Context, text string) (string, error) {
	p, err := k.Converter.Phonemes(ctx, text)
	if r := kokoroReplacers[k.language]; r != nil {
		p = r.Replace(p)
	}
	return p, err
}
