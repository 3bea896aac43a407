package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// fuseLayerNorm replaces (x - mean(x))/√(variance(x) + epsilon), with the scale and
// the bias that follow, by LayerNormalization.
func fuseLayerNorm() run {
	return fuseNorms("LayerNormalization", 17, true,
		affineNorm(),
		backToX(normalized(widened(centred(x)))),
		normalized(centred(x)))
}

// affineNorm matches x·gain + (bias - mean(x)·gain), where gain is the scale over
// the root of the variance, as TensorFlow writes a normalization.
func affineNorm() pattern {
	const gain variable = "gain"
	inverse := inverseRoot(variance(centred(x)))
	gains := as(gain, either(mul(inverse, scale), inverse))
	affine := add(mul(x, gains), sub(bias, mul(mean(x), gain)))
	return where(affine, func(m *match, _ *graph.Node) bool {
		s := m.norm()
		return m.isParameter(s.bias, &s) && (s.scale == "" || m.isParameter(s.scale, &s))
	})
}
