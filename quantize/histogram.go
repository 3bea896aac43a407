package quantize

import "math"

// histogram counts numbers in bins of equal width on both sides of 0. When a number lies beyond the
// last bin, the width doubles and neighbours become one bin, so that numbers need not be kept.
type histogram struct {
	low, high float32 // the least and the greatest number
	width     float64 // of a bin
	counts    [2 * halfBins]int64
	zeros     int64 // in bin halfBins
	total     int64
}

// halfBins is the number of bins on each side of 0.
const halfBins = 2048

// add counts numbers. It reports false if one is none, or infinite.
func (h *histogram) add(list []float32) bool {
	for _, v := range list {
		if v-v != 0 {
			return false
		}
		if h.total == 0 {
			h.low, h.high = v, v
		}
		h.low, h.high = min(h.low, v), max(h.high, v)
		h.total++
		size := math.Abs(float64(v))
		if size == 0 {
			h.zeros++
		}
		switch {
		case h.width == 0 && size > 0:
			h.width = size / (halfBins / 2)
			h.counts[halfBins] = h.zeros
		case h.width == 0:
			continue
		}
		for size >= h.width*halfBins {
			h.widen()
		}
		at := halfBins + int(size/h.width)
		if v < 0 {
			at = halfBins - 1 - int(size/h.width)
		}
		h.counts[at]++
	}
	return true
}

// widen doubles the width of bins.
func (h *histogram) widen() {
	var counts [2 * halfBins]int64
	for i, n := range h.counts {
		counts[halfBins/2+i/2] += n
	}
	h.counts = counts
	h.width *= 2
}

// percentile returns the range without the share of numbers that are farthest out: half of the share
// on each side of 0.
func (h *histogram) percentile(share float64) (low, high float32) {
	if h.width == 0 {
		return h.low, h.high
	}
	cut := func(at, step int) float64 {
		left := share / 2 * float64(h.total)
		for ; left >= float64(h.counts[at]) && at != halfBins-(1-step)/2; at += step {
			left -= float64(h.counts[at])
		}
		return float64(at-halfBins) * h.width
	}
	low, high = float32(cut(0, 1)), float32(cut(2*halfBins-1, -1)+h.width)
	return max(low, h.low), min(high, h.high)
}

// entropyLevels is the number of levels that the magnitudes within a range have.
const entropyLevels = 128

// entropy returns the range whose numbers, rounded to levels, have the least Kullback-Leibler
// divergence from all numbers but 0, which every range has as a code. Numbers beyond the range
// count as its ends.
func (h *histogram) entropy() (low, high float32) {
	if h.width == 0 {
		return h.low, h.high
	}
	var sizes [halfBins]float64 // of magnitudes
	last := 0
	for i := range sizes {
		sizes[i] = float64(h.counts[halfBins+i] + h.counts[halfBins-1-i])
		if i == 0 {
			sizes[0] -= float64(h.zeros)
		}
		if sizes[i] > 0 {
			last = i
		}
	}
	best, least := last+1, math.Inf(1)
	for n := entropyLevels; n <= last+1; n += max((last+1)/entropyLevels, 1) {
		if kl := lostEntropy(sizes[:last+1], n); kl < least {
			best, least = n, kl
		}
	}
	end := float32(float64(best) * h.width)
	return max(-end, h.low), min(end, h.high)
}

// lostEntropy returns the divergence of counts, rounded to levels within the first n, from the
// counts with those beyond n at the end.
func lostEntropy(counts []float64, n int) (kl float64) {
	beyond, total := 0.0, 0.0
	for i, c := range counts {
		total += c
		if i >= n {
			beyond += c
		}
	}
	for level := range entropyLevels {
		from, to := level*n/entropyLevels, (level+1)*n/entropyLevels
		sum, filled := 0.0, 0.0
		for i, c := range counts[from:to] {
			if c > 0 || from+i == n-1 && beyond > 0 {
				filled++
			}
			sum += c
		}
		for i, c := range counts[from:to] {
			p := c
			if from+i == n-1 {
				p += beyond
			}
			if p > 0 { // a level that only numbers beyond reach is as rare as one number
				kl += p / total * math.Log(p/total*(total-beyond)/max(sum/filled, 1/filled))
			}
		}
	}
	return kl
}
