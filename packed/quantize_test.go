package packed

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// lost returns the root of the mean squared error of blocks, weighted with importance.
func lost(b *Blocks, data []byte, source, importance []float32) float64 {
	var e, sum float64
	for i, y := range elementsOf(b, data) {
		w := 1.0
		if importance != nil {
			w = float64(importance[i%len(importance)])
		}
		d := float64(y) - float64(source[i])
		e += w * d * d
		sum += w
	}
	return math.Sqrt(e / sum)
}

// numbersOf returns the elements of a sample in float32.
func numbersOf(t *testing.T, x stored) []float32 {
	list := make([]float32, len(x.data)/4)
	if _, err := binary.Decode(x.data, binary.LittleEndian, list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestQuantizeSamples compares the error of each type, with and without importance, with the
// error of ggml's blocks of the same elements.
func TestQuantizeSamples(t *testing.T) {
	var source, importance []float32
	bound := map[string]float64{"Q4_K.weighted": 0.98, "Q5_K.weighted": 0.98, "Q6_K.weighted": 0.98, "IQ2_XXS.weighted": 0.9, "IQ3_S.plain": 0.7}
	for _, x := range samples(t, "quantisers.a.gguf") {
		b := blocksNamed(x.dtype)
		switch {
		case x.name == "source":
			source = numbersOf(t, x)
		case x.name == "importance":
			importance = numbersOf(t, x)
		case b != nil:
			w, all := importance, repeated(importance, len(source))
			if strings.HasSuffix(x.name, ".plain") {
				w, all = nil, nil
			}
			got := make([]byte, len(x.data))
			b.Quantize(got, source, all)
			mine, ggml := lost(b, got, source, w), lost(b, x.data, source, w)
			t.Logf("%-18s %.4f", x.name, mine/ggml)
			if most := bound[x.name]; most != 0 && mine > most*ggml || !(mine <= ggml) {
				t.Errorf("%s: error %.5f, ggml's %.5f, ratio %.4f", x.name, mine, ggml, mine/ggml)
			}
		}
	}
}

// repeated returns n elements of rows that are all x.
func repeated(x []float32, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = x[i%len(x)]
	}
	return list
}

// TestQuantizeNormal bounds the error of elements of a normal distribution, relative to theirs.
func TestQuantizeNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	x, w := make([]float32, 1<<16), make([]float32, 1<<16)
	for i := range x {
		x[i], w[i] = float32(r.NormFloat64()), float32(r.ExpFloat64())
	}
	bounds := map[*Blocks][2]float64{
		Q6_K: {1.77, 1.61}, Q5_K: {3.60, 3.27}, Q5_1: {3.78, 3.07}, Q5_0: {4.26, 3.8}, Q4_K: {7.10, 6.42},
		IQ4_NL: {7.6, 7.04}, IQ4_XS: {7.66, 7.12}, Q4_1: {7.76, 6.31}, Q4_0: {8.58, 7.67}, Q3_K: {14.96, 13.27},
		Q2_K: {29.6, 23.5}, IQ3_S: {16.7, 12}, IQ3_XXS: {21.4, 15.3}, IQ2_S: {26.6, 22.5}, IQ2_XS: {30, 26},
		IQ2_XXS: {34.3, 29.5}, IQ1_M: {44.9, 38.7}, IQ1_S: {48.3, 43.7}, NVFP4: {9.58, 9.58}, MXFP4: {11.6, 11.6},
	}
	for _, b := range BlockTypes {
		bound, ok := bounds[b]
		if !ok {
			continue
		}
		got := make([]byte, b.Size(len(x)))
		b.Quantize(got, x, nil)
		plain := 100 * lost(b, got, x, nil)
		b.Quantize(got, x, w)
		weighted := 100 * lost(b, got, x, w)
		t.Logf("%-8s %.2f of %.2f (%.3f), weighted %.2f of %.2f", b.Name, plain, bound[0], plain/bound[0], weighted, bound[1])
		if plain > bound[0] {
			t.Errorf("%s: error %.3f %%, want at most %.2f %%", b.Name, plain, bound[0])
		}
	}
}

// TestQuantizeExtremes quantises numbers at the ends of the range. All elements remain numbers.
func TestQuantizeExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, b := range BlockTypes {
		for _, scale := range []float64{0, 1e-45, 1e-30, 1e-12, 1e-7, 1, 6e4, 1e9, 1e30, 3e38} {
			for kind := range 4 {
				x, w := make([]float32, b.Elements), make([]float32, b.Elements)
				for i := range x {
					switch kind {
					case 0:
						x[i] = float32((2*r.Float64() - 1) * scale)
					case 1:
						x[i] = float32(scale)
					case 2:
						x[i] = float32(-scale * float64(i%2))
					case 3:
						x[i] = float32(scale * float64(i/(b.Elements-1)))
					}
					w[i] = float32([]float64{0, 1, 1e30, 1e-30}[i%4])
				}
				for _, w := range [][]float32{nil, w, make([]float32, len(w))} {
					data := make([]byte, b.Bytes)
					b.Quantize(data, x, w)
					for i, y := range elementsOf(b, data) {
						if y-y != 0 && !(scale > 6e4 && b.Pack != nil) {
							t.Fatalf("%s: element %d of kind %d, %g, becomes %g", b.Name, i, kind, x[i], y)
						}
						if scale == 0 && y != 0 {
							t.Fatalf("%s: element %d, zero, becomes %g", b.Name, i, y)
						}
					}
				}
			}
		}
	}
}

func BenchmarkQuantize(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	x, w := make([]float32, 1<<16), make([]float32, 1<<16)
	for i := range x {
		x[i], w[i] = float32(r.NormFloat64()), float32(r.ExpFloat64())
	}
	for _, t := range BlockTypes {
		for _, w := range [][]float32{nil, w} {
			dst := make([]byte, t.Size(len(x)))
			b.Run(fmt.Sprintf("%s/weighted=%t", t.Name, w != nil), func(b *testing.B) {
				b.SetBytes(int64(4 * len(x)))
				for b.Loop() {
					t.Quantize(dst, x, w)
				}
			})
		}
	}
}

// TestIntegers bounds the error of blocks of integers, relative to normal elements, and packs ends of
// the range.
func TestIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for _, c := range []struct {
		g    Integers
		most float64 // with a zero point and without
	}{
		{Integers{-8, 7}, 0.086}, {Integers{0, 15}, 0.08}, {Integers{-2, 1}, 0.36}, {Integers{0, 3}, 0.36}, {Integers{-128, 127}, 0.006},
		{Integers{0, 255}, 0.006}, {Integers{-127, 127}, 0.006}, {Integers{-1, 1}, 0.5}, {Integers{-1, 0}, 0.9},
	} {
		var lost, power float64
		for range 200 {
			x, w, codes := make([]float32, 32), make([]float32, 32), make([]uint8, 32)
			for i := range x {
				x[i], w[i] = float32(r.NormFloat64()), 1
			}
			scale, zero := c.g.Scale(x, w), 0
			if c.g.Low == 0 {
				scale, zero = c.g.ScaleZero(x, nil)
			}
			if zero < c.g.Low || zero > c.g.High {
				t.Fatalf("%v: the zero point is %d", c.g, zero)
			}
			c.g.Codes(codes, x, scale, zero)
			for i, code := range codes {
				if int(code) > c.g.High-c.g.Low {
					t.Fatalf("%v: code %d", c.g, code)
				}
				d := float64(x[i]) - float64(scale)*float64(int(code)+c.g.Low-zero)
				lost += d * d
				power += float64(x[i] * x[i])
			}
		}
		if e := math.Sqrt(lost / power); e > c.most {
			t.Errorf("%v: error %.4f, want at most %.4f", c.g, e, c.most)
		}
		for _, v := range []float32{0, 1e-40, 1e30, -3e38} {
			x, codes := []float32{v, v, 0, -v}, make([]uint8, 4)
			scale, zero := c.g.Scale(x, nil), 0
			c.g.Codes(codes, x, scale, zero)
			scale, zero = c.g.ScaleZero(x, nil)
			c.g.Codes(codes, x, scale, zero)
			if zero < c.g.Low || zero > c.g.High {
				t.Errorf("%v: the zero point of %g is %d", c.g, v, zero)
			}
		}
	}
}
