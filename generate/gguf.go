package generate

import (
	"fmt"
	"strconv"

	"github.com/nacre-ml/nacre"
)

// ggufFormat is the format of files with settings in their metadata.
const ggufFormat = "gguf"

// longFactors is a tensor of decoders of the type longrope.
const longFactors = "rope_factors_long.weight"

// gguf returns what the metadata of a GGUF file says: the tokens that end a text by their ids, the
// window, and how to choose tokens.
func gguf(m *nacre.Model) (o Options, s Sampling, err error) {
	single := map[string]string{}
	for _, p := range m.Source().Meta {
		switch {
		case p.Data == nil:
			single[p.Key] = p.Value
		case p.Data.Len() == 1:
			single[p.Key] = p.Data.Text(0)
		}
	}
	number := func(key string) (x float64, ok bool) {
		text, ok := single[key]
		if !ok || err != nil {
			return 0, false
		}
		if x, err = strconv.ParseFloat(text, 64); err != nil {
			err = errorf(nacre.ErrFormat, "%s: %s is %.40q, which is no number", m.Source().File, key, text)
			return 0, false
		}
		return x, true
	}
	count := func(key string) int {
		x, _ := number(key)
		if err == nil && (x != float64(int32(x))) {
			err = errorf(nacre.ErrFormat, "%s: %s is %g, which is no count", m.Source().File, key, x)
		}
		return int(x)
	}
	for _, role := range []string{"eos", "eot", "eom"} {
		if id, ok := number("tokenizer.ggml." + role + "_token_id"); ok && id >= 0 && id == float64(int32(id)) {
			o.StopIDs = append(o.StopIDs, int32(id))
		}
	}
	architecture := single["general.architecture"]
	o.Window = max(0, count(architecture+".context_length"))
	for _, w := range m.Source().Graph.Initializers {
		if w.Name == longFactors {
			o.Original = first(max(0, count(architecture+".rope.scaling.original_context_length")), o.Window)
		}
	}
	const sampling = "general.sampling."
	temperature, warm := number(sampling + "temp")
	topP, byP := number(sampling + "top_p")
	minP, byMinP := number(sampling + "min_p")
	_, byK := single[sampling+"top_k"]
	s.RepetitionPenalty, _ = number(sampling + "penalty_repeat")
	if warm || byP || byMinP || byK {
		s.Temperature, s.TopK, s.TopP, s.MinP = 1, max(0, count(sampling+"top_k")), topP, minP
	}
	if warm {
		s.Temperature = temperature
	}
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return Options{}, Sampling{}, fmt.Errorf("the settings in the metadata: %w", err)
	}
	return o, s, nil
}
