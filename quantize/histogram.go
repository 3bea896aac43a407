package quantize

import (
	"math"
	"slices"
)

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

// entropyLevels is the number of codes that a range has.
const entropyLevels = 256

// entropy returns the range whose numbers, rounded to codes, have the least Kullback-Leibler
// divergence from all numbers but 0, which every range has as a code. The range is cut at the same
// distance from 0 on both sides, and shares its codes between the numbers that are left. Numbers
// beyond it count as its ends.
func (h *histogram) entropy() (low, high float32) {
	if h.width == 0 {
		return h.low, h.high
	}
	counts := make([]float64, len(h.counts))
	first, last := len(counts), 0
	for i, n := range h.counts {
		if counts[i] = float64(n); i == halfBins {
			counts[i] -= float64(h.zeros)
		}
		if counts[i] > 0 {
			first, last = min(first, i), i
		}
	}
	first, last = min(first, halfBins), max(last, halfBins-1)
	reach := max(halfBins-first, last+1-halfBins)
	best, least := reach, math.Inf(1)
	for n := reach; n > 0; n -= max(reach/entropyLevels, 1) {
		from, to := max(halfBins-n, first), min(halfBins+n, last+1)
		if to-from < entropyLevels { // the codes are finer than the bins
			break
		}
		if kl := lostEntropy(counts, from, to); kl < least {
			best, least = n, kl
		}
	}
	end := float32(float64(best) * h.width)
	return max(-end, h.low), min(end, h.high)
}

// lostEntropy returns the divergence of the counts of bins from..to-1, rounded to codes, from these
// counts with the bins before and after them at the ends.
func lostEntropy(counts []float64, from, to int) (kl float64) {
	n := to - from
	p, q := slices.Clone(counts[from:to]), make([]float64, n)
	for code := range entropyLevels {
		a, b := code*n/entropyLevels, (code+1)*n/entropyLevels
		sum, filled := 0.0, 0.0
		for _, c := range p[a:b] {
			sum += c
			if c > 0 {
				filled++
			}
		}
		for i, c := range p[a:b] {
			if c > 0 {
				q[a+i] = sum / filled
			}
		}
	}
	p[0] += total(counts[:from])
	p[n-1] += total(counts[to:])
	smooth(p)
	smooth(q)
	sumP, sumQ := total(p), total(q)
	for i := range p {
		kl += p[i] / sumP * math.Log(p[i]/sumP*sumQ/q[i])
	}
	return kl
}

// smooth moves a small part of the counts to empty bins, so that no bin is empty.
func smooth(counts []float64) {
	const part = 1e-4
	empty := 0
	for _, c := range counts {
		if c == 0 {
			empty++
		}
	}
	if empty == len(counts) {
		return
	}
	for i, c := range counts {
		if counts[i] = part; c > 0 {
			counts[i] = c - part*float64(empty)/float64(len(counts)-empty)
		}
	}
}

func total(counts []float64) (sum float64) {
	for _, c := range counts {
		sum += c
	}
	return sum
}
