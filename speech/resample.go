package speech

import "math"

// Resample returns the sound with rate samples a second. Frequencies that the lower of the two
// rates cannot hold are filtered out. Equal rates return the sound itself. The result is the zero
// Sound unless both rates are from 1 to 192,000.
//
// Sample i of the result is the sum of the samples around i·s.Rate/rate, weighted by a sinc in a
// Kaiser window. Positions repeat with the smallest fraction of the rates, so their weights are
// computed once.
func (s Sound) Resample(rate int) Sound {
	if rate < 1 || rate > maxRate || s.Rate < 1 || s.Rate > maxRate {
		return Sound{}
	}
	if rate == s.Rate {
		return s
	}
	g := gcd(rate, s.Rate)
	f := newPolyphase(rate/g, s.Rate/g)
	n := (len(s.Samples)*f.up + f.down - 1) / f.down
	out := make([]float32, n)
	phase, at := 0, 0 // sample i is at + phase/up samples of the source
	for i := range out {
		out[i] = f.at(phase, s.Samples, at)
		phase += f.down
		at += phase / f.up
		phase %= f.up
	}
	return Sound{rate, out}
}

const (
	// resampleZeros is how many zeros the sinc has on each side.
	resampleZeros = 24
	// resampleBeta shapes the window: frequencies beyond the stop band are 90 dB lower.
	resampleBeta = 9
	// resamplePass is the part of the band that is left as it is.
	resamplePass = 0.945
)

// polyphase resamples by the factor up/down.
type polyphase struct {
	up, down int
	half     int         // samples on each side of a position
	cutoff   float64     // in units of half the rate of the source
	weights  [][]float32 // by phase; nil until it is needed
}

func newPolyphase(up, down int) *polyphase {
	cutoff := resamplePass * min(1, float64(up)/float64(down))
	return &polyphase{up, down, int(math.Ceil(resampleZeros / cutoff)), cutoff, make([][]float32, up)}
}

// at returns the sample at position i + phase/up.
func (f *polyphase) at(phase int, x []float32, i int) float32 {
	w := f.phase(phase)
	first := i - f.half + 1
	lo, hi := max(0, -first), min(len(w), len(x)-first)
	sum := 0.0
	for k := lo; k < hi; k++ {
		sum += float64(w[k]) * float64(x[first+k])
	}
	return float32(sum)
}

// phase returns the weights of the 2·half samples around a position.
func (f *polyphase) phase(p int) []float32 {
	if f.weights[p] == nil {
		f.weights[p] = f.weigh(p)
	}
	return f.weights[p]
}

// weigh computes the weights of a phase. They add up to 1.
func (f *polyphase) weigh(p int) []float32 {
	list := make([]float64, 2*f.half)
	sum := 0.0
	for k := range list {
		d := float64(k-f.half+1) - float64(p)/float64(f.up)
		list[k] = sinc(f.cutoff*d) * kaiser(d/float64(f.half))
		sum += list[k]
	}
	w := make([]float32, len(list))
	for k, v := range list {
		w[k] = float32(v / sum)
	}
	return w
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser returns the Kaiser window at x, from -1 to 1.
func kaiser(x float64) float64 {
	if x < -1 || x > 1 {
		return 0
	}
	return bessel(resampleBeta*math.Sqrt(1-x*x)) / bessel(resampleBeta)
}

// bessel returns the modified Bessel function of order 0.
func bessel(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-18*sum; k++ {
		term *= (x / (2 * k)) * (x / (2 * k))
		sum += term
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
