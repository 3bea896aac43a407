package generate

// candidate is a token, its logit and its weight: its probability times a factor that all
// candidates share.
type candidate struct {
	id     int32
	logit  float32
	weight float64
}

// before reports whether a comes before b in the order of top-p: the larger logit first, and the
// smaller token of equal logits.
func (a candidate) before(b candidate) bool {
	return a.logit > b.logit || a.logit == b.logit && a.id < b.id
}

// nucleus returns the last of the first candidates, in that order, that together weigh target. If
// all weigh less, it returns the last of all. It moves the candidates, and takes linear time.
func nucleus(list []candidate, target float64) candidate {
	for {
		pivot := middle(list[0], list[len(list)/2], list[len(list)-1])
		heavier, weight := 0, 0.0
		for i, c := range list {
			if c.before(pivot) {
				list[i], list[heavier] = list[heavier], c
				heavier++
				weight += c.weight
			}
		}
		if heavier > 0 && weight >= target {
			list = list[:heavier]
			continue
		}
		target -= weight + pivot.weight
		rest := list[heavier:]
		for i, c := range rest {
			if c.id == pivot.id {
				rest[i], rest[0] = rest[0], c
				break
			}
		}
		if rest = rest[1:]; target <= 0 || len(rest) == 0 {
			return pivot
		}
		list = rest
	}
}

// middle returns the candidate between two others.
func middle(a, b, c candidate) candidate {
	switch {
	case a.before(b) == b.before(c):
		return b
	case b.before(a) == a.before(c):
		return a
	}
	return c
}

// kthLargest returns the k-th largest number. It moves the numbers, and takes linear time. None may
// be NaN.
func kthLargest(list []float32, k int) float32 {
	for {
		a, b, c := list[0], list[len(list)/2], list[len(list)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		larger, equal := 0, 0 // numbers larger than the pivot come first, then equal ones
		for i, x := range list {
			switch {
			case x > pivot:
				list[i] = list[larger+equal]
				list[larger+equal] = list[larger]
				list[larger] = x
				larger++
			case x == pivot:
				list[i] = list[larger+equal]
				list[larger+equal] = x
				equal++
			}
		}
		switch {
		case k <= larger:
			list = list[:larger]
		case k <= larger+equal:
			return pivot
		default:
			k -= larger + equal
			list = list[larger+equal:]
		}
	}
}
