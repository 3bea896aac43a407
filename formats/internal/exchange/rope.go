package exchange

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The tensors of factors in files.
const (
	ropeFactors  = "rope_freqs.weight"
	shortFactors = "rope_factors_short.weight"
	longFactors  = "rope_factors_long.weight"
)

// rope translates the rotation of positions.
func (o *outward) rope() {
	if o.family.still {
		return
	}
	if n := o.number("rope.dimension_count", float64(o.headDim)); (n != float64(o.headDim) || o.family.partial != 0) && o.headDim > 0 {
		o.config["partial_rotary_factor"] = n / float64(o.headDim)
	}
	const prefix = "rope.scaling."
	name := o.text(prefix + "type")
	factor := o.number(prefix+"factor", o.number("rope.scale_linear", 1))
	if factor == 0 {
		factor = 1
	}
	magnitude := o.number(prefix+"attn_factor", 1)
	original := o.number(prefix+"original_context_length", o.number("context_length", 0))
	list := map[string]any{"factor": factor}
	long, short := o.taken(longFactors), o.taken(shortFactors)
	divisors := o.taken(ropeFactors)
	switch {
	case (long == nil) != (short == nil):
		o.fail(graph.Errorf(graph.ErrFormat, "only one of the tensors %s and %s is there", longFactors, shortFactors))
	case long != nil && (factor != 1 && name != "longrope" || divisors != nil):
		o.fail(graph.Errorf(graph.ErrUnsupported, "long and short factors stand beside other changes of the rope, which a folder cannot say"))
	case long != nil:
		list = map[string]any{"type": "longrope", "short_factor": numbersOf(short), "long_factor": numbersOf(long)}
		window := o.number("context_length", 0)
		usual := 1.0
		if s := window / original; s > 1 && original > 1 {
			usual = math.Sqrt(1 + math.Log(s)/math.Log(original))
		}
		if math.Abs(magnitude-usual) > 1e-6*usual {
			list["attention_factor"] = magnitude
		}
		o.config["original_max_position_embeddings"] = int64(original)
		o.config["rope_scaling"] = list
	case divisors != nil:
		o.divided(numbersOf(divisors), factor, name)
	case name == "yarn":
		list["rope_type"] = name
		list["original_max_position_embeddings"] = int64(original)
		list["beta_fast"], list["beta_slow"] = o.number(prefix+"yarn_beta_fast", 32), o.number(prefix+"yarn_beta_slow", 1)
		if m := magnitude * o.number(prefix+"yarn_attn_factor", 1); m != 1 {
			list["attention_factor"] = m * (1 + 0.1*math.Log(max(factor, 1)))
		}
		if o.family.model == "gpt_oss" {
			list["truncate"] = false
		}
		o.config["rope_scaling"] = list
	case magnitude != 1:
		o.fail(graph.Errorf(graph.ErrUnsupported, "metadata %s.%sattn_factor is %v, which a folder cannot say for a rope of type %q", o.architecture, prefix, magnitude, name))
	case factor != 1 && name != "none":
		list["rope_type"] = "linear"
		o.config["rope_scaling"] = list
	}
}

func numbersOf(x *graph.Initializer) []float64 {
	list := make([]float64, x.Tensor.Len())
	at := tensor.Numbers(x.Tensor)
	for i := range list {
		list[i] = shortest(at(i))
	}
	return list
}

// llama3 is the change of frequencies of Llama 3.
type llama3 struct{ factor, low, high, original float64 }

// divisors returns the numbers by which frequencies of a base are divided.
func (r llama3) divisors(base float64, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		length := 2 * math.Pi * math.Pow(base, float64(i)/float64(n))
		switch {
		case length < r.original/r.high:
			list[i] = 1
		case length > r.original/r.low:
			list[i] = r.factor
		default:
			smooth := (r.original/length - r.low) / (r.high - r.low)
			list[i] = 1 / ((1-smooth)/r.factor + smooth)
		}
	}
	return list
}

// divided finds the settings of Llama 3 with these divisors of frequencies, or gives short and long
// factors these values.
func (o *outward) divided(list []float64, factor float64, name string) {
	base := o.number("rope.freq_base", 10000)
	if factor != 1 && name != "none" {
		o.fail(graph.Errorf(graph.ErrUnsupported, "%s stands beside another change of the rope, which a folder cannot say", ropeFactors))
		return
	}
	r, ok := settingsOf(list, base)
	if !ok { // the same numbers for any number of tokens
		o.config["original_max_position_embeddings"] = int64(o.number("context_length", 0))
		o.config["rope_scaling"] = map[string]any{"rope_type": "longrope", "short_factor": list, "long_factor": list, "factor": 1.0,
			"attention_factor": 1.0, "original_max_position_embeddings": int64(o.number("context_length", 0))}
		return
	}
	o.config["rope_scaling"] = map[string]any{"rope_type": "llama3", "factor": r.factor, "low_freq_factor": r.low, "high_freq_factor": r.high,
		"original_max_position_embeddings": int64(r.original)}
}

// settingsOf returns settings of Llama 3 that give these divisors. The share of a blended frequency
// is linear in the frequency, so two of them tell both bounds; low and original may be multiplied
// by one number, and low is 1.
func settingsOf(list []float64, base float64) (r llama3, ok bool) {
	if len(list) == 0 {
		return r, false
	}
	r = llama3{factor: slices.Max(list), low: 1, high: 4, original: 8192}
	var at, share []float64
	for i, v := range list {
		if v > 1+1e-6 && v < r.factor*(1-1e-6) {
			at = append(at, math.Pow(base, -float64(i)/float64(len(list)))/(2*math.Pi))
			share = append(share, (1/v-1/r.factor)/(1-1/r.factor))
		}
	}
	tries := []llama3{r}
	if n := len(at); n > 1 { // share = (original·at - 1)/(high - 1)
		slope := (share[0] - share[n-1]) / (at[0] - at[n-1])
		width := 1 / (slope*at[0] - share[0])
		tries = append(tries, llama3{r.factor, 1, 1 + width, slope * width})
	}
	if len(at) > 0 {
		tries = append(tries, llama3{r.factor, 1, 4, (1 + 3*share[0]) / at[0]})
	}
	for n := 16.0; n <= 1<<20; n *= 2 {
		tries = append(tries, llama3{r.factor, 1, 4, n})
	}
	for _, try := range tries {
		try.original = math.Round(try.original)
		if nice := math.Round(try.high); math.Abs(nice-try.high) < 1e-3 {
			try.high = nice
		}
		if !(try.original >= 1 && try.original <= maxSize && try.high > 1) {
			continue
		}
		got := try.divisors(base, len(list))
		if !slices.ContainsFunc(got, func(v float64) bool { return math.IsNaN(v) }) && near(got, list) {
			return try, true
		}
	}
	return r, false
}

// near reports whether numbers are equal but for the rounding of float32.
func near(a, b []float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 2e-6*math.Abs(b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// rope translates the rotation of positions.
func (i *inward) rope() {
	if i.family.still {
		return
	}
	partial := i.number("partial_rotary_factor", 1)
	if i.family.partial != 0 {
		partial = i.number("partial_rotary_factor", i.family.partial)
	}
	n := int(float64(i.headDim) * partial)
	if n < 2 || n%2 != 0 || n > i.headDim {
		i.wrong(graph.ErrFormat, "partial_rotary_factor", "is %v of the %d columns of a head, no even number of columns", partial, i.headDim)
		return
	}
	i.sized("rope.dimension_count", n)
	s := i.below("rope_scaling")
	if s == nil {
		return
	}
	name := s.text("rope_type")
	if old := s.text("type"); old != "" {
		name = old
	}
	if i.family.model == "phi3" && name == "yarn" {
		name = "longrope" // the name in older files
	}
	const prefix = "rope.scaling."
	need := func(key string) float64 {
		v := s.number(key, math.NaN())
		if !(v > 0) || math.IsInf(v, 0) {
			i.wrong(graph.ErrFormat, "rope_scaling."+key, "is missing or not positive")
			return 1
		}
		return v
	}
	original := s.number("original_max_position_embeddings", i.number("original_max_position_embeddings", i.number("max_position_embeddings", 2048)))
	switch name {
	case "", "default":
	case "linear":
		i.worded(prefix+"type", name)
		i.floating(prefix+"factor", need("factor"))
	case "yarn":
		factor := need("factor")
		i.worded(prefix+"type", name)
		i.floating(prefix+"factor", factor)
		i.sized(prefix+"original_context_length", int(original))
		i.floating(prefix+"yarn_beta_fast", s.number("beta_fast", 32))
		i.floating(prefix+"yarn_beta_slow", s.number("beta_slow", 1))
		usual := 1 + 0.1*math.Log(max(factor, 1))
		if scale, all := s.number("mscale", 0), s.number("mscale_all_dim", 0); scale != 0 && all != 0 && factor > 1 {
			i.floating(prefix+"attn_factor", (1+0.1*scale*math.Log(factor))/(1+0.1*all*math.Log(factor))/usual)
		}
		if m := s.number("attention_factor", 0); m != 0 {
			i.floating(prefix+"attn_factor", m/usual)
		}
		if !s.truth("truncate", true) && i.family.model != "gpt_oss" {
			i.wrong(graph.ErrUnsupported, "rope_scaling.truncate", "is false, and files of GGUF have whole bounds only")
		}
	case "longrope", "su":
		i.longrope(s, n, original)
	case "llama3":
		r := llama3{need("factor"), need("low_freq_factor"), need("high_freq_factor"), need("original_max_position_embeddings")}
		i.vector(ropeFactors, r.divisors(i.number("rope_theta", 10000), n/2))
	default:
		i.wrong(graph.ErrUnsupported, "rope_scaling", "is of type %q; files of GGUF have linear, yarn, longrope and llama3", name)
	}
	if s.err != nil && i.config.err == nil {
		i.config.err = s.err
	}
}

// longrope translates long and short factors.
func (i *inward) longrope(s *config, n int, original float64) {
	short, long := s.numbers("short_factor"), s.numbers("long_factor")
	if len(short) != n/2 || len(long) != n/2 {
		i.wrong(graph.ErrFormat, "rope_scaling", "has %d short_factor and %d long_factor for %d pairs of columns", len(short), len(long), n/2)
		return
	}
	original = i.number("original_max_position_embeddings", original)
	window := i.number("max_position_embeddings", original)
	factor := window / original
	if i.family.model != "phi3" && !i.has("original_max_position_embeddings") {
		factor = s.number("factor", factor)
	}
	magnitude := s.number("attention_factor", 0)
	if magnitude == 0 {
		magnitude = 1
		if factor > 1 && original > 1 {
			magnitude = math.Sqrt(1 + math.Log(factor)/math.Log(original))
		}
	}
	if i.family.architecture != "phi3" {
		if slices.Equal(short, long) && magnitude == 1 {
			i.vector(ropeFactors, long)
			return
		}
		i.worded("rope.scaling.type", "longrope")
	}
	i.sized("rope.scaling.original_context_length", int(original))
	i.floating("rope.scaling.attn_factor", magnitude)
	i.vector(longFactors, long)
	i.vector(shortFactors, short)
}
