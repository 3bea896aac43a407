package huggingface

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// ropeRule computes the frequencies of a rope.
type ropeRule struct {
	*scaling
	d      *design
	theta  float64
	factor float64
	max    float64 // max_position_embeddings
	freq   []float64
	rope   decoder.Rope
}

// rules maps names in configurations to changes of frequencies.
var rules = map[string]func(t *ropeRule) error{
	"default": func(*ropeRule) error { return nil }, "linear": (*ropeRule).linear, "dynamic": (*ropeRule).dynamic, "yarn": (*ropeRule).yarn,
	"longrope": (*ropeRule).long, "su": (*ropeRule).long, "llama3": (*ropeRule).llama3,
}

// rope returns the rotation with a base and changed frequencies. If s is nil, the frequencies stay.
func (d *design) rope(theta float64, s *scaling) (*decoder.Rope, error) {
	if err := finite("rope_theta", theta); err != nil {
		return nil, err
	}
	partial := 1.0
	if d.family.name == "stablelm" {
		partial = 0.25
	}
	width := float64(d.Config.HeadDim) * or(d.Partial, partial)
	n := int(min(width, float64(d.Config.HeadDim)))
	if !(width >= 2) || width > float64(d.Config.HeadDim) || n%2 != 0 {
		return nil, refused(graph.ErrFormat, "partial_rotary_factor %v of head_dim %d is no even number of columns", or(d.Partial, partial), d.Config.HeadDim)
	}
	t := &ropeRule{scaling: s, d: d, theta: theta, freq: make([]float64, n/2)}
	for i := range t.freq {
		t.freq[i] = math.Pow(theta, -2*float64(i)/float64(n))
	}
	kind := s.kind()
	if d.family.name == "phi3" && kind == "yarn" {
		kind = "longrope" // the name in older files
	}
	rule, ok := rules[kind]
	if !ok {
		return nil, refused(graph.ErrUnsupported, "rope_scaling is of type %q; it takes default, linear, dynamic, yarn, longrope, llama3", kind)
	}
	if err := rule(t); err != nil {
		return nil, err
	}
	t.rope.Frequencies = narrow(t.freq)
	return &t.rope, nil
}

func narrow(list []float64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}

// number returns a required setting of rope_scaling.
func (t *ropeRule) number(key string, v *float64) (float64, error) {
	if v == nil {
		return 0, refused(graph.ErrFormat, "rope_scaling of type %q lacks %s", t.kind(), key)
	}
	return *v, finite("rope_scaling."+key, *v)
}

// read sets the factor and, if needsMax is set, max_position_embeddings.
func (t *ropeRule) read(needsMax bool) (err error) {
	if t.factor, err = t.number("factor", t.Factor); err != nil || !needsMax {
		return err
	}
	return t.readMax()
}

func (t *ropeRule) readMax() error {
	n, err := size("max_position_embeddings", t.d.MaxPositions, 0)
	t.max = float64(n)
	return err
}

func (t *ropeRule) linear() error {
	err := t.read(false)
	for i := range t.freq {
		t.freq[i] /= t.factor
	}
	return err
}

func (t *ropeRule) dynamic() error {
	if err := t.read(true); err != nil {
		return err
	}
	if len(t.freq) < 2 {
		return refused(graph.ErrUnsupported, "rope_scaling of type dynamic takes more than 2 rotated columns")
	}
	t.rope.Beyond = &decoder.Beyond{Tokens: int(t.max), Base: t.theta, Factor: t.factor}
	return nil
}

// llama3 divides slow frequencies by the factor, keeps fast ones, and blends the ones between.
func (t *ropeRule) llama3() error {
	if err := t.read(false); err != nil {
		return err
	}
	var v [3]float64
	for i, x := range []struct {
		key string
		v   *float64
	}{{"low_freq_factor", t.Low}, {"high_freq_factor", t.High}, {"original_max_position_embeddings", t.Original}} {
		var err error
		if v[i], err = t.number(x.key, x.v); err != nil {
			return err
		}
	}
	low, high, original := v[0], v[1], v[2]
	if high <= low {
		return refused(graph.ErrFormat, "rope_scaling.high_freq_factor %v is not above low_freq_factor %v", high, low)
	}
	for i, f := range t.freq {
		length := 2 * math.Pi / f
		switch {
		case length > original/low:
			t.freq[i] = f / t.factor
		case length >= original/high:
			smooth := (original/length - low) / (high - low)
			t.freq[i] = (1-smooth)*f/t.factor + smooth*f
		}
	}
	return nil
}

// yarn blends divided frequencies with the frequencies of pairs that rotate often within the original length.
func (t *ropeRule) yarn() error {
	if err := t.read(t.Original == nil); err != nil {
		return err
	}
	original := or(t.Original, t.max)
	if err := finite("rope_scaling.original_max_position_embeddings", original); err != nil {
		return err
	}
	y := decoder.Yarn{Base: t.theta, Factor: t.factor, Original: original, Fast: nonzero(t.Fast, 32), Slow: nonzero(t.Slow, 1), Truncate: or(t.Truncate, true)}
	if y.Apply(t.freq); slices.ContainsFunc(t.freq, math.IsNaN) {
		return refused(graph.ErrFormat, "rope_scaling: beta_fast %v and beta_slow %v have no columns", y.Fast, y.Slow)
	}
	t.rope.Magnitude = y.Magnitude(or(t.MScale, 0), or(t.MScaleAllDim, 0))
	if t.Attention != nil {
		t.rope.Magnitude = *t.Attention
	}
	return nil
}

// nonzero is or, but 0 counts as missing too.
func nonzero(v *float64, otherwise float64) float64 {
	if v == nil || *v == 0 {
		return otherwise
	}
	return *v
}

// long divides each frequency by a factor of its own, and beyond the original length by another
// one.
func (t *ropeRule) long() error {
	if err := t.readMax(); err != nil {
		return err
	}
	original, factor := t.max, or(t.Factor, 0)
	if v := t.d.OriginalMax; v != nil || t.d.family.name == "phi3" {
		n, err := size("original_max_position_embeddings", v, 4096)
		if err != nil {
			return err
		}
		original = float64(n)
		factor = t.max / original
	}
	if len(t.Short) != len(t.freq) || len(t.Long) != len(t.freq) {
		return refused(graph.ErrFormat, "rope_scaling has %d short_factor and %d long_factor for %d pairs of columns", len(t.Short), len(t.Long), len(t.freq))
	}
	beyond := make([]float64, len(t.freq))
	for i, f := range t.freq {
		if !(t.Short[i] > 0) || !(t.Long[i] > 0) {
			return refused(graph.ErrFormat, "rope_scaling: factors %v and %v are not positive", t.Short[i], t.Long[i])
		}
		t.freq[i], beyond[i] = f/t.Short[i], f/t.Long[i]
	}
	t.rope.Beyond = &decoder.Beyond{Tokens: int(original), Frequencies: narrow(beyond)}
	t.rope.Magnitude = 1
	switch {
	case t.Attention != nil:
		t.rope.Magnitude = *t.Attention
	case factor == 0:
		return refused(graph.ErrFormat, "rope_scaling of type longrope has no factor, and there is no original_max_position_embeddings")
	case factor > 1 && original > 1:
		t.rope.Magnitude = math.Sqrt(1 + math.Log(factor)/math.Log(original))
	}
	return nil
}
