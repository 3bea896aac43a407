package jpeg2000

// Flags of a coefficient and its neighbours: the eight neighbours that are not 0, and the negative
// ones of the four nearest.
const (
	flagNW = 1 << iota
	flagN
	flagNE
	flagW
	flagE
	flagSW
	flagS
	flagSE
	flagMinusN
	flagMinusW
	flagMinusE
	flagMinusS
	flagSet     // not 0
	flagRefined // had more than one bit
	flagSeen    // decoded in this bit plane

	flagsAround = flagSE<<1 - 1
	flagsBelow  = flagSW | flagS | flagSE | flagMinusS
)

// Contexts: 0 to 8 for coefficients that may become nonzero, then for signs, for further bits, for
// runs of zeros and for equal odds.
const (
	contextSign   = 9
	contextMore   = 14
	contextRun    = 17
	contextEven   = 18
	contextsCount = 19
)

// tier decodes code blocks: ITU-T T.800, annex D.
type tier struct {
	mq       mq
	raw      raw
	bypassed bool // bits are read from raw
	contexts [contextsCount]context
	flags    []uint16 // with a border of one coefficient
	values   []int32  // magnitudes in halves
	minus    []bool
	w, h     int
	causal   bool
	zero     *[256]byte
}

// decode decodes a block into its band.
func (t *tier) decode(b *band, bl *block, style byte, shift int) {
	t.w, t.h, t.causal, t.zero = bl.width(), bl.height(), style&styleCausal != 0, &zeroContexts[b.orientation]
	t.flags = cleared(t.flags, (t.w+2)*(t.h+2))
	t.values, t.minus = cleared(t.values, t.w*t.h), cleared(t.minus, t.w*t.h)
	t.resetContexts()
	pass := 0
	for _, s := range bl.segments {
		t.bypassed = style&styleBypass != 0 && pass >= firstRaw && pass%3 != 0
		if t.bypassed {
			t.raw = raw{data: s.data}
		} else {
			t.mq.reset(s.data)
		}
		for range s.passes {
			// The first pass is the cleanup of the highest plane.
			plane := bl.planes - 1 - (pass+2)/3
			switch pass % 3 {
			case 0:
				t.cleanup(plane)
				if style&styleSymbols != 0 {
					for range 4 {
						t.mq.bit(&t.contexts[contextEven])
					}
				}
			case 1:
				t.spread(plane)
			case 2:
				t.refine(plane)
			}
			if style&styleReset != 0 {
				t.resetContexts()
			}
			pass++
		}
	}
	t.store(b, bl, shift)
}

// cleared returns n zeros, in the memory of list if it is large enough.
func cleared[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	list = list[:n]
	clear(list)
	return list
}

// store stores the coefficients. The bits of a region of interest are above all bits of other
// coefficients; store shifts them down.
func (t *tier) store(b *band, bl *block, shift int) {
	stride := b.width()
	for y := range t.h {
		row := b.coefficients[(bl.y0-b.y0+y)*stride+bl.x0-b.x0:]
		for x := range t.w {
			v := t.values[y*t.w+x]
			if shift > 0 && int(v) >= 2<<shift {
				v >>= shift
			}
			if t.minus[y*t.w+x] {
				v = -v
			}
			row[x] = v
		}
	}
}

func (t *tier) resetContexts() {
	t.contexts = [contextsCount]context{0: {state: 4}, contextRun: {state: 3}, contextEven: {state: 46}}
}

// places yields the index of every coefficient and the index of its flags, in stripes of four rows,
// column by column.
func (t *tier) places(yield func(i, at int) bool) {
	for top := 0; top < t.h; top += 4 {
		for x := range t.w {
			for y := top; y < min(top+4, t.h); y++ {
				if !yield(y*t.w+x, (y+1)*(t.w+2)+x+1) {
					return
				}
			}
		}
	}
}

// seen returns the flags at a position. If t.causal is set, it hides the next stripe.
func (t *tier) seen(i, at int) uint16 {
	if t.causal && i/t.w%4 == 3 {
		return t.flags[at] &^ flagsBelow
	}
	return t.flags[at]
}

// spread decodes coefficients that were 0 and have nonzero neighbours.
func (t *tier) spread(plane int) {
	for i, at := range t.places {
		flags := t.seen(i, at)
		if flags&flagSet != 0 || flags&flagsAround == 0 {
			continue
		}
		t.flags[at] |= flagSeen
		var bit uint8
		if t.bypassed {
			bit = t.raw.bit()
		} else {
			bit = t.mq.bit(&t.contexts[t.zero[flags&flagsAround]])
		}
		if bit == 1 {
			t.set(i, at, flags, plane)
		}
	}
}

// refine decodes one more bit of coefficients that were nonzero before.
func (t *tier) refine(plane int) {
	for i, at := range t.places {
		flags := t.seen(i, at)
		if flags&(flagSet|flagSeen) != flagSet {
			continue
		}
		x := contextMore
		switch {
		case flags&flagRefined != 0:
			x += 2
		case flags&flagsAround != 0:
			x++
		}
		var bit uint8
		if t.bypassed {
			bit = t.raw.bit()
		} else {
			bit = t.mq.bit(&t.contexts[x])
		}
		// Unknown lower bits count as the middle of their range.
		if bit == 1 {
			t.values[i] += 1 << plane
		} else {
			t.values[i] -= 1 << plane
		}
		t.flags[at] |= flagRefined
	}
}

// cleanup decodes all other coefficients. If four of a column have no nonzero neighbours, it first
// decodes how many of them stay 0.
func (t *tier) cleanup(plane int) {
	for top := 0; top < t.h; top += 4 {
		for x := range t.w {
			y, known := top, false
			if top+4 <= t.h && t.quiet(x, top) {
				if t.mq.bit(&t.contexts[contextRun]) == 0 {
					continue
				}
				even := &t.contexts[contextEven]
				y += int(t.mq.bit(even)<<1 | t.mq.bit(even))
				known = true
			}
			for ; y < min(top+4, t.h); y++ {
				i, at := y*t.w+x, (y+1)*(t.w+2)+x+1
				flags := t.seen(i, at)
				if flags&(flagSet|flagSeen) == 0 {
					if known || t.mq.bit(&t.contexts[t.zero[flags&flagsAround]]) == 1 {
						t.set(i, at, flags, plane)
					}
				}
				known = false
			}
		}
	}
	for i := range t.flags {
		t.flags[i] &^= flagSeen
	}
}

// quiet reports whether four coefficients of a column are 0, have no nonzero neighbours, and are
// not decoded yet.
func (t *tier) quiet(x, top int) bool {
	for y := top; y < top+4; y++ {
		if t.seen(y*t.w+x, (y+1)*(t.w+2)+x+1)&(flagsAround|flagSet|flagSeen) != 0 {
			return false
		}
	}
	return true
}

// set decodes the sign of a coefficient that becomes nonzero.
func (t *tier) set(i, at int, flags uint16, plane int) {
	var minus uint8
	if t.bypassed {
		minus = t.raw.bit()
	} else {
		s := signs[flags>>1&1|flags>>2&6|flags>>3&8|flags>>4&0xf0]
		minus = t.mq.bit(&t.contexts[s.context]) ^ s.flip
	}
	t.values[i], t.minus[i] = 3<<plane, minus == 1
	t.flags[at] |= flagSet
	up, down := t.flags[at-t.w-3:], t.flags[at+t.w+1:]
	up[0] |= flagSE
	up[1] |= flagS
	up[2] |= flagSW
	t.flags[at-1] |= flagE
	t.flags[at+1] |= flagW
	down[0] |= flagNE
	down[1] |= flagN
	down[2] |= flagNW
	if minus == 1 {
		up[1] |= flagMinusS
		t.flags[at-1] |= flagMinusE
		t.flags[at+1] |= flagMinusW
		down[1] |= flagMinusN
	}
}
