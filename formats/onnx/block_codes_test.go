package onnx

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBlockCodes compares codes times scales with the elements of blocks of arbitrary bytes.
func TestBlockCodes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range blockTypes {
		t.Run(c.of.Name, func(t *testing.T) {
			const rows, blocks = 3, 5
			w := tensor.New(tensor.OfBlocks(c.of), rows, blocks*c.of.Elements)
			data := w.Bytes()
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			for i := 0; i < len(data); i += c.of.Bytes {
				for _, at := range c.of.Scales {
					data[i+at+1] &^= 0x40 // finite
				}
				if c.of == packed.MXFP4 {
					data[i] = byte(100 + r.IntN(60))
				}
			}
			want := make([]float32, w.Len())
			c.of.Unpack(want, data)
			shape := tensor.Shape{rows, w.Len() / rows / 8 * c.bits}
			codes, scales := c.codes(w, shape).Bytes(), tensor.View[float32](c.scales(w))
			different := map[float32]bool{}
			for i, v := range want {
				q := int(codes[i*c.bits/8]>>(i*c.bits%8)&byte(1<<c.bits-1)) - 1<<(c.bits-1)
				if got := float32(q) * scales[i/c.block]; got != v {
					t.Fatalf("element %d is %v, want %v: %d times %v", i, got, v, q, scales[i/c.block])
				}
				different[v] = true
			}
			if len(different) < 4 {
				t.Errorf("%d different elements", len(different))
			}
		})
	}
}
