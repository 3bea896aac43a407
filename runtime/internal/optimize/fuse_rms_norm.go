package optimize

// fuseRMSNorm replaces x/√(mean(x²) + epsilon), with the scale that follows, by RMSNormalization.
// Between casts from and to a narrower type, the operator takes the narrow value, computes in
// float32 and rounds once.
func fuseRMSNorm() run {
	return fuseNorms("RMSNormalization", 23, false,
		backToX(normalized(widened(x))),
		normalized(x))
}
