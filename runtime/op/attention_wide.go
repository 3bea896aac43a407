package op

import "math"

// runWide is run in float64; bias has the elements of a.Bias.
func (a *attending) runWide(bias []float64) {
	q, k, v := doubles(a.q.t), doubles(a.k.t), doubles(a.v.t)
	out, qk := make([]float64, a.out.Len()), []float64(nil)
	if a.qk != nil {
		qk = make([]float64, a.qk.Len())
	}
	a.OutBatch, a.OutHead, a.OutRow = a.outRows()
	scores := make([]float64, a.KVLen)
	for b := range a.Batch {
		for h := range a.Heads {
			kv := h / (a.Heads / a.KVHeads)
			for i := range a.QLen {
				query := q[a.q.start+b*a.q.perBatch+h*a.q.perHead+i*a.q.perRow:][:a.D]
				for j := range scores {
					key := k[a.k.start+b*a.k.perBatch+kv*a.k.perHead+j*a.k.perRow:][:a.D]
					scores[j] = float64(a.Scale) * dot(query, key)
				}
				to := []float64(nil)
				if qk != nil {
					to = qk[((b*a.Heads+h)*a.QLen+i)*a.KVLen:][:a.KVLen]
				}
				a.weigh(b, h, i, scores, bias, to)
				row := out[b*a.OutBatch+h*a.OutHead+i*a.OutRow:][:a.DV]
				for j, w := range scores {
					if w == 0 {
						continue
					}
					value := v[a.v.start+b*a.v.perBatch+kv*a.v.perHead+j*a.v.perRow:][:a.DV]
					for e := range row {
						row[e] += w * value[e]
					}
				}
			}
		}
	}
	putDoubles(a.out, out)
	putDoubles(a.qk, qk)
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

// weigh turns the scores of a query into weights; to, unless it is nil, takes
// them at the stage that is asked for.
func (a *attending) weigh(b, h, i int, scores, bias, to []float64) {
	stage := 0
	show := func() {
		if stage == a.QKStage && to != nil {
			copy(to, scores)
		}
		stage++
	}
	show()
	if limit := float64(a.Cap); limit != 0 {
		for j := range scores {
			scores[j] = limit * math.Tanh(scores[j]/limit)
		}
	}
	show()
	position, top := int(a.First[b])+i, math.Inf(-1)
	for j := range scores {
		switch {
		case j >= int(a.Valid[b]), a.Causal && j > position, a.Window > 0 && j <= position-a.Window, a.Bias != nil && j >= a.BiasCols:
			scores[j] = math.Inf(-1)
		case a.Bias != nil:
			scores[j] += bias[b*a.BiasBatch+h*a.BiasHead+i*a.BiasRow+j]
		}
		top = max(top, scores[j])
	}
	show()
	sum := 0.0
	for j := range scores {
		if scores[j] = math.Exp(scores[j] - top); math.IsInf(top, -1) {
			scores[j] = 0
		}
		sum += scores[j]
	}
	for j := range scores {
		if sum > 0 {
			scores[j] /= sum
		}
	}
	show()
}
