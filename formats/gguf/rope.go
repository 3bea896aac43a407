package gguf

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rope returns a rotation with a base. If scaled is false, frequencies are not scaled for more
// tokens.
func (d *design) rope(base float64, scaled bool) *decoder.Rope {
	const key = "rope.dimension_count"
	n := d.size(key, d.HeadDim)
	switch {
	case n > d.HeadDim || n%2 != 0:
		d.wrong(graph.ErrFormat, key, "is %d, no even number up to the head's %d", n, d.HeadDim)
		n = 0
	case n != d.HeadDim && (d.name == "llama" || d.name == "falcon"):
		d.wrong(graph.ErrFormat, key, "is %d, and a head has %d columns", n, d.HeadDim)
	}
	r := &decoder.Rope{Interleaved: d.interleaved, Magnitude: 1}
	freq := make([]float64, n/2)
	for i := range freq {
		freq[i] = math.Pow(base, -2*float64(i)/float64(n))
	}
	if scaled {
		d.scale(r, freq, base)
	}
	r.Frequencies = narrow(freq)
	return r
}

func narrow(list []float64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}

// scale changes frequencies for more tokens than the model was made for.
func (d *design) scale(r *decoder.Rope, freq []float64, base float64) {
	const prefix = "rope.scaling."
	factor := d.float(prefix+"factor", d.float("rope.scale_linear", 1))
	if factor == 0 {
		factor = 1
	}
	r.Magnitude = d.positive(prefix+"attn_factor", 1)
	if factor < 0 {
		d.wrong(graph.ErrFormat, prefix+"factor", "is %v", factor)
	}
	switch kind := d.text(prefix + "type"); kind {
	case "none":
	case "", "linear", "longrope":
		for i := range freq {
			freq[i] /= factor
		}
	case "yarn":
		d.yarn(r, freq, base, factor)
	default:
		d.wrong(graph.ErrUnsupported, prefix+"type", "is %q; it takes none, linear, yarn and longrope", kind)
	}
	d.divided(freq, "rope_freqs.weight")
	if long, short := "rope_factors_long.weight", "rope_factors_short.weight"; d.left[long] != nil || d.left[short] != nil {
		beyond := append([]float64(nil), freq...)
		d.divided(freq, short)
		d.divided(beyond, long)
		original := d.size(prefix+"original_context_length", d.size("context_length", 0))
		r.Beyond = &decoder.Beyond{Tokens: original, Frequencies: narrow(beyond)}
	}
}

// yarn changes frequencies by YaRN.
func (d *design) yarn(r *decoder.Rope, freq []float64, base, factor float64) {
	const prefix = "rope.scaling.yarn_"
	if v := d.float(prefix+"ext_factor", 1); v != 1 {
		d.wrong(graph.ErrUnsupported, prefix+"ext_factor", "is %v, and 1 is computed", v)
	}
	if v := d.float(prefix+"log_multiplier", 0); v != 0 {
		d.wrong(graph.ErrUnsupported, prefix+"log_multiplier", "is %v, and 0 is computed", v)
	}
	original := d.size("rope.scaling.original_context_length", d.size("context_length", 0))
	y := decoder.Yarn{Base: base, Factor: factor, Original: float64(original), Truncate: !d.unsaid.LooseYarn,
		Fast: d.positive(prefix+"beta_fast", 32), Slow: d.positive(prefix+"beta_slow", 1)}
	y.Apply(freq)
	for _, f := range freq {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			d.wrong(graph.ErrFormat, prefix+"beta_fast", "is %v, and beta_slow %v: there are no such columns", y.Fast,
				y.Slow)
			return
		}
	}
	r.Magnitude *= y.Magnitude(0, 0) * d.positive(prefix+"attn_factor", 1)
}

// divided divides frequencies by the numbers of a tensor, if there is one.
func (d *design) divided(freq []float64, name string) {
	x := d.left[name]
	if x == nil {
		return
	}
	d.used[name] = true
	if !x.Tensor.DType().IsFloat() || x.Tensor.Len() != len(freq) {
		d.misfits = append(d.misfits, fmt.Sprintf("%s is %v, where %d floating-point numbers are wanted", name,
			x.Tensor, len(freq)))
		return
	}
	at := tensor.Numbers(x.Tensor)
	for i := range freq {
		v := at(i)
		if !(v > 0) || math.IsInf(v, 0) {
			d.misfits = append(d.misfits, name+" has a factor that is not positive")
			return
		}
		freq[i] /= v
	}
}
