package gptrs

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ministral makes the nodes of a network with rotary positions and fewer heads of keys
// than of queries.
func (l *lowerer) ministral() {
	d := newDecoder(l, l.size("num_heads"), l.size("num_kv_heads"), l.size("head_dim"))
	if rotary := l.size("rotary_dim"); rotary > 0 && l.size("num_layers") > 0 {
		d.positions()
		d.rope = d.newRotation(int(rotary))
	}
	x := d.embed()
	for i := range l.size("num_layers") {
		x = d.block(i, x, d.rmsNorm, "", "", d.swiGLU, [2]string{"norm_1", "norm_2"})
	}
	d.finish(d.rmsNorm(x, "final_norm"))
}

func (d *decoder) rmsNorm(x, name string) string {
	return d.b.Op("RMSNormalization", []string{x, d.weight(name + ".gamma")}, graph.FloatAttr("epsilon", float32(d.number("rms_norm_eps"))))
}

// swiGLU is the feed-forward part of ministral.
func (d *decoder) swiGLU(x, prefix string) string {
	gate := d.linear(x, prefix+"w_gate", "")
	gate = d.b.Op("Mul", []string{gate, d.b.Op("Sigmoid", []string{gate})})
	return d.linear(d.b.Op("Mul", []string{gate, d.linear(x, prefix+"w_up", "")}), prefix+"w_down", "")
}

// rotation turns pairs of columns of heads by angles that grow with the position.
type rotation struct {
	b        *graph.Builder
	width    int64  // columns of a head that are turned
	cos, sin string // [batch,sequence,width/2]
}

// newRotation adds the cosines and sines of the tokens.
func (d *decoder) newRotation(width int) *rotation {
	frequencies, magnitude := angles(d.config, width, d.number("rope_theta"), d.size("context_length"))
	row := tensor.New(tensor.F32, 1, 1, width/2)
	for i, f := range frequencies {
		tensor.View[float32](row)[i] = float32(f)
	}
	at := d.b.Op("Cast", []string{d.index}, graph.IntAttr("to", onnxFloat))
	at = d.b.Op("Unsqueeze", []string{at, d.b.Ints(0, 2)})
	angle := d.b.Op("Mul", []string{at, d.b.Constant(row)})
	shape := d.b.Op("Concat", []string{d.b.Op("Shape", []string{d.ids}), d.b.Ints(int64(width / 2))}, graph.IntAttr("axis", 0))
	table := func(op string) string {
		y := d.b.Op(op, []string{angle})
		if magnitude != 1 {
			y = d.b.Op("Mul", []string{y, d.b.Float(float32(magnitude))})
		}
		return d.b.Op("Expand", []string{y, shape})
	}
	return &rotation{d.b, int64(width), table("Cos"), table("Sin")}
}

// apply turns x, [batch,sequence,heads*size].
func (r *rotation) apply(x string, heads int64) string {
	return r.b.Op("RotaryEmbedding", []string{x, r.cos, r.sin}, graph.IntAttr("num_heads", heads), graph.IntAttr("rotary_embedding_dim", r.width))
}

// angles returns the angle that each pair of so many columns turns by from a position to
// the next, and the factor of cosines and sines.
func angles(f fields, width int, theta float64, context int64) (list []float64, magnitude float64) {
	list = make([]float64, width/2)
	for j := range list {
		list[j] = math.Pow(theta, -2*float64(j)/float64(width))
	}
	s, err := object(f["rope_scaling"])
	if err != nil {
		return list, 1
	}
	kind, _ := text(s["kind"])
	factor, _ := s.number("factor")
	switch kind {
	case "linear":
		for j := range list {
			list[j] /= factor
		}
	case "yarn":
		return yarn(s, list, theta, factor, math.RoundToEven(float64(context)/factor)), yarnMagnitude(s, factor)
	}
	return list, 1
}

// yarn slows down the pairs that turn seldom within the context that the network was
// made for.
func yarn(s fields, list []float64, theta, factor, original float64) []float64 {
	if v, err := s.count("original_max_position_embeddings"); err == nil {
		original = float64(v)
	}
	n := float64(2 * len(list))
	pair := func(turns float64) float64 {
		return n * math.Log(original/(turns*2*math.Pi)) / (2 * math.Log(theta))
	}
	low, high := pair(s.numberOr("beta_fast", 32)), pair(s.numberOr("beta_slow", 1))
	if s.flagOr("truncate", true) {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, n-1)
	if low == high {
		high += 0.001
	}
	for j, base := range list {
		ramp := min(max((float64(j)-low)/(high-low), 0), 1)
		list[j] = base/factor*ramp + base*(1-ramp)
	}
	return list
}

// yarnMagnitude is the factor of cosines and sines.
func yarnMagnitude(s fields, factor float64) float64 {
	m := func(scale float64) float64 {
		if factor <= 1 {
			return 1
		}
		return 0.1*scale*math.Log(factor) + 1
	}
	scale := s.numberOr("mscale", 0)
	all := s.numberOr("mscale_all_dim", scale)
	if scale != 0 && all != 0 {
		return m(scale) / m(all)
	}
	return m(1)
}
