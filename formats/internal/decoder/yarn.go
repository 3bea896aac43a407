package decoder

import "math"

// Yarn changes the frequencies of a rope for Factor times as many tokens as the rope was made for.
// Pairs that turn often stay as they are. Pairs that turn seldom turn slower. Pairs between these
// are blended.
type Yarn struct {
	Base       float64 // of the frequencies
	Factor     float64
	Original   float64 // tokens that the rope was made for
	Fast, Slow float64 // turns within Original tokens at the bounds of the blended pairs
	Truncate   bool    // the bounds are whole pairs
}

// Apply changes frequencies in place. If the settings give no bounds, the frequencies become NaN.
func (y Yarn) Apply(frequencies []float64) {
	n := float64(2 * len(frequencies))
	pair := func(turns float64) float64 {
		return n * math.Log(y.Original/(turns*2*math.Pi)) / (2 * math.Log(y.Base))
	}
	low, high := pair(y.Fast), pair(y.Slow)
	if y.Truncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, n-1)
	if low == high {
		high += 0.001
	}
	for i, f := range frequencies {
		ramp := min(max((float64(i)-low)/(high-low), 0), 1)
		frequencies[i] = f/y.Factor*ramp + f*(1-ramp)
	}
}

// Magnitude returns the factor of cosines and sines. scale and allDims are 0 if they are not given;
// they count only together.
func (y Yarn) Magnitude(scale, allDims float64) float64 {
	of := func(scale float64) float64 {
		if y.Factor <= 1 {
			return 1
		}
		return 0.1*scale*math.Log(y.Factor) + 1
	}
	if scale != 0 && allDims != 0 {
		return of(scale) / of(allDims)
	}
	return of(1)
}
