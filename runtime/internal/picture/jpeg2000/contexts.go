package jpeg2000

// zeroContexts is the context of a coefficient that is still 0, by the orientation of its band and
// the flags around it: ITU-T T.800, table D.1.
var zeroContexts = func() (t [4][256]byte) {
	for o := range t {
		for flags := range t[o] {
			count := func(list ...int) (n int) {
				for _, f := range list {
					if flags&f != 0 {
						n++
					}
				}
				return n
			}
			h, v, d := count(flagW, flagE), count(flagN, flagS), count(flagNW, flagNE, flagSW, flagSE)
			switch o {
			case 3:
				t[o][flags] = diagonalContext(h+v, d)
			case 1:
				t[o][flags] = lineContext(v, h, d)
			default:
				t[o][flags] = lineContext(h, v, d)
			}
		}
	}
	return t
}()

// lineContext returns the context in bands where neighbours along one direction matter most.
func lineContext(along, across, diagonal int) byte {
	switch {
	case along == 2:
		return 8
	case along == 1 && across > 0:
		return 7
	case along == 1 && diagonal > 0:
		return 6
	case along == 1:
		return 5
	case across > 0:
		return byte(2 + across)
	}
	return byte(min(diagonal, 2))
}

// diagonalContext returns the context in bands of high frequencies in both directions.
func diagonalContext(next, diagonal int) byte {
	switch {
	case diagonal > 2:
		return 8
	case diagonal == 2:
		return byte(6 + min(next, 1))
	case diagonal == 1:
		return byte(3 + min(next, 2))
	}
	return byte(min(next, 2))
}

// sign is the context of a sign; flip inverts the decision.
type sign struct{ context, flip uint8 }

// signs is indexed by the neighbours that are not 0, north, west, east and south from bit 0 on, and
// by the negative ones from bit 4 on: table D.3.
var signs = func() (t [256]sign) {
	for i := range t {
		value := func(k int) int {
			switch {
			case i>>k&1 == 0:
				return 0
			case i>>(4+k)&1 == 1:
				return -1
			}
			return 1
		}
		limit := func(v int) int { return min(max(v, -1), 1) }
		h, v := limit(value(1)+value(2)), limit(value(0)+value(3))
		flip := uint8(0)
		if h < 0 || h == 0 && v < 0 {
			h, v, flip = -h, -v, 1
		}
		t[i] = sign{uint8(contextSign + 3*h + v), flip}
		if h == 0 {
			t[i].context = uint8(contextSign + v)
		}
	}
	return t
}()
