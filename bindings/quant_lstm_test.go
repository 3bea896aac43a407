//go:build cgo

package bindings

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// codesOf quantises floats as a whole, as QuantizeDynamic does.
func codesOf(x []float32) (codes []byte, scale float32, zero int32) {
	low, high := float32(0), float32(0)
	for _, v := range x {
		low, high = min(low, v), max(high, v)
	}
	if scale = (high - low) / 255; high == low {
		scale = 1 / float32(255)
	}
	zero = int32(math.RoundToEven(float64(min(max(-low/scale, 0), 255))))
	codes = make([]byte, len(x))
	for i, v := range x {
		codes[i] = byte(min(max(math.RoundToEven(float64(v/scale))+float64(zero), 0), 255))
	}
	return codes, scale, zero
}

// TestByteLSTM compares layers with the formula, a rounding of a state to another
// code allowed for.
func TestByteLSTM(t *testing.T) {
	pool := newTestPool(t)
	r := rand.New(rand.NewPCG(15, 16))
	for i := range 24 {
		n := ByteLSTM{RNN: RNN{Gates: 4, Steps: 1 + i%5, Batch: []int{1, 3, 17}[i%3], Input: 1 + i, Hidden: 5 + 7*i, Directions: 1 + i%2, Reverse: i%4 == 2}}
		for d := range n.Cells {
			n.Cells[d] = RNNCell{Functions: [3]RNNFunction{{Kind: RNNSigmoid}, {Kind: RNNTanh}, {Kind: RNNTanh}}, Clip: inf32}
		}
		byteLSTMCase(t, r, pool, &n, i%2 != 0, i%3 == 1)
	}
}

func byteLSTMCase(t *testing.T, r *rand.Rand, pool *Pool, n *ByteLSTM, signed, packed bool) {
	width, states := 4*n.Hidden, n.Directions*n.Batch*n.Hidden
	vectors := func(low, high float32) []float32 {
		list := make([]float32, n.Directions*width)
		for i := range list {
			list[i] = low + (high-low)*r.Float32()
		}
		return list
	}
	bytes := func(n int) []byte {
		list := make([]byte, n)
		for i := range list {
			list[i] = byte(r.Uint32())
		}
		return list
	}
	n.WScale, n.RScale = vectors(0.001, 0.002), vectors(0.001, 0.002)
	for range n.WScale {
		n.WZero = append(n.WZero, byteOf(byte(r.Uint32()), signed))
		n.RZero = append(n.RZero, byteOf(byte(r.Uint32()), signed))
	}
	n.X, n.Bias = randomFloats(r, n.Steps*n.Batch*n.Input), randomFloats(r, n.Directions*2*width)
	n.H0, n.C0, n.Peepholes = randomFloats(r, states), randomFloats(r, states), randomFloats(r, n.Directions*3*n.Hidden)
	for range n.Batch {
		n.Lengths = append(n.Lengths, int32(r.IntN(n.Steps+1)))
	}
	w, rec := bytes(n.Directions*n.Input*width), bytes(n.Directions*n.Hidden*width)
	wantY, wantH, wantC := byteLSTM(n, w, rec, signed)
	for _, k := range usable("i8_gemm") {
		for _, cell := range usable("f32_rnn_cell") {
			n.Gemm, n.Quantize, n.Cell = k, usable("f32_quantize")[0], cell
			n.WForm, n.RForm = ByteOperand{Signed: signed, Row: width, Col: 1}, ByteOperand{Signed: signed, Row: width, Col: 1}
			n.W, n.R, n.WStep, n.RStep = bytesAt(w), bytesAt(rec), n.Input*width, n.Hidden*width
			if packed {
				n.WStep, n.RStep = k.PackedBytesB(width, n.Input), k.PackedBytesB(width, n.Hidden)
				pw, pr := Alloc(n.Directions*n.WStep), Alloc(n.Directions*n.RStep)
				defer Free(pw)
				defer Free(pr)
				for d := range n.Directions {
					k.PackBytesB(width, n.Input, n.WForm, unsafe.Add(n.W, d*n.Input*width), pw[d*n.WStep:][:n.WStep])
					k.PackBytesB(width, n.Hidden, n.RForm, unsafe.Add(n.R, d*n.Hidden*width), pr[d*n.RStep:][:n.RStep])
				}
				n.W, n.R, n.WForm.Packed, n.RForm.Packed = bytesAt(pw), bytesAt(pr), true, true
			}
			var first []float32
			for _, p := range []*Pool{nil, pool} {
				n.Y, n.YH, n.YC = make([]float32, n.Steps*states), make([]float32, states), make([]float32, states)
				scratch := Alloc(n.Scratch(p))
				n.Run(p, scratch)
				Free(scratch)
				got := slices.Concat(n.Y, n.YH, n.YC)
				if first == nil {
					first = got
				} else if !slices.Equal(first, got) {
					t.Errorf("%s %s: three threads give another result", k.Variant(), cell.Variant())
				}
			}
			for i, want := range slices.Concat(wantY, wantH, wantC) {
				if math.Abs(float64(first[i])-want) > 5e-3 {
					t.Fatalf("%+v %s %s: element %d is %g, want %g", n.RNN, k.Variant(), cell.Variant(), i, first[i], want)
				}
			}
		}
	}
}

func doubleFloats(list []float32) []float64 {
	if list == nil {
		return nil
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}

// byteLSTM is the formula.
func byteLSTM(n *ByteLSTM, w, rec []byte, signed bool) (y, h, c []float64) {
	width := 4 * n.Hidden
	y = make([]float64, n.Steps*n.Directions*n.Batch*n.Hidden)
	h, c = doubleFloats(n.H0), doubleFloats(n.C0)
	longest := int(slices.Max(n.Lengths))
	xc, xs, xz := codesOf(n.X[:longest*n.Batch*n.Input])
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for d := range n.Directions {
		dot := func(codes []byte, zero int32, b []byte, scale, bs float32, bz int32, j int) float64 {
			sum := int32(0)
			for p, u := range codes {
				sum += (int32(u) - zero) * (byteOf(b[p*width+j], signed) - bz)
			}
			return float64(sum) * float64(scale) * float64(bs)
		}
		for s := range longest {
			states := make([]float32, n.Batch*n.Hidden)
			for b := range n.Batch {
				for i := range n.Hidden {
					if s < int(n.Lengths[b]) {
						states[b*n.Hidden+i] = float32(h[(d*n.Batch+b)*n.Hidden+i])
					}
				}
			}
			hc, hs, hz := codesOf(states)
			for b := range n.Batch {
				if s >= int(n.Lengths[b]) {
					continue
				}
				at := s
				if d == 1 || n.Reverse {
					at = int(n.Lengths[b]) - 1 - s
				}
				sum := func(j int) float64 {
					v := d*width + j
					return float64(n.Bias[d*2*width+j]) + float64(n.Bias[(d*2+1)*width+j]) +
						dot(xc[(at*n.Batch+b)*n.Input:][:n.Input], xz, w[d*n.Input*width:], xs, n.WScale[v], n.WZero[v], j) +
						dot(hc[b*n.Hidden:][:n.Hidden], hz, rec[d*n.Hidden*width:], hs, n.RScale[v], n.RZero[v], j)
				}
				for i := range n.Hidden {
					k := (d*n.Batch+b)*n.Hidden + i
					p := func(gate int) float64 { return float64(n.Peepholes[d*3*n.Hidden+gate*n.Hidden+i]) }
					in, forget := sigmoid(sum(i)+p(0)*c[k]), sigmoid(sum(2*n.Hidden+i)+p(2)*c[k])
					c[k] = forget*c[k] + in*math.Tanh(sum(3*n.Hidden+i))
					h[k] = sigmoid(sum(n.Hidden+i)+p(1)*c[k]) * math.Tanh(c[k])
					y[((at*n.Directions+d)*n.Batch+b)*n.Hidden+i] = h[k]
				}
			}
		}
	}
	return y, h, c
}
