package standard_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestStrips checks operators that compute 16-bit floats in strips. Their results must equal the
// rounded results of float32, on inputs longer than one strip.
func TestStrips(t *testing.T) {
	testenv.Need(t, bindings.Available())
	r := rand.New(rand.NewPCG(3, 1))
	random := func(shape ...int) *tensor.Tensor {
		x := tensor.New(tensor.F32, shape...)
		for i, s := 0, tensor.View[float32](x); i < len(s); i++ {
			s[i] = float32(r.NormFloat64())
		}
		return x
	}
	positive := func(n int) *tensor.Tensor {
		x := random(n)
		for i, s := 0, tensor.View[float32](x); i < len(s); i++ {
			s[i] = s[i]*s[i] + 0.1
		}
		return x
	}
	rows, images := random(700, 301), random(3, 50, 40, 41)
	cases := []struct {
		op, domain string
		version    int
		outs       int
		attrs      []*graph.Attr
		in         []*tensor.Tensor
	}{
		{op: "Softmax", version: 13, in: in(rows)},
		{op: "LogSoftmax", version: 13, attrs: attrs("axis", 1), in: in(random(20, 19, 600))},
		{op: "Hardmax", version: 13, in: in(rows)},
		{op: "LRN", version: 13, attrs: attrs("size", 3), in: in(random(9, 20, 30, 40))},
		{op: "LpNormalization", version: 1, in: in(rows)},
		{op: "LayerNormalization", version: 17, outs: 3, in: in(rows, random(301), random(301))},
		{op: "RMSNormalization", version: 23, in: in(rows, random(301))},
		{op: "SkipLayerNormalization", domain: kit.Microsoft, version: 1, outs: 4, in: in(random(2, 700, 128), random(2, 700, 128), random(128), random(128), random(128))},
		{op: "SkipLayerNormalization", domain: kit.Microsoft, version: 1, in: in(random(5, 300, 128), random(300, 128), random(128))},
		{op: "SkipLayerNormalization", domain: kit.Microsoft, version: 1, in: in(random(90, 7, 128), random(7, 128), random(128))},
		{op: "BatchNormalization", version: 15, in: in(images, random(50), random(50), random(50), positive(50))},
		{op: "BatchNormalization", version: 15, in: in(rows, random(301), random(301), random(301), positive(301))},
		{op: "InstanceNormalization", version: 6, in: in(images, random(50), random(50))},
		{op: "GroupNormalization", version: 21, attrs: attrs("num_groups", 5), in: in(images, random(50), random(50))},
		{op: "MaxPool", version: 12, attrs: attrs("kernel_shape", []int64{3, 3}), in: in(images)},
		{op: "AveragePool", version: 11, attrs: attrs("kernel_shape", []int64{2, 3}, "strides", []int64{2, 2}), in: in(images)},
		{op: "GlobalAveragePool", version: 1, in: in(images)},
		{op: "GlobalMaxPool", version: 1, in: in(images)},
		{op: "ReduceMean", version: 18, in: in(rows, from([]int64{1}, 1))},
		{op: "ReduceL2", version: 18, in: in(images, from([]int64{1, 3}, 2))},
		{op: "ReduceMax", version: 18, in: in(rows, from([]int64{0}, 1))},
		{op: "Resize", version: 19, attrs: attrs("mode", "linear"), in: in(images, nil, from([]float32{1, 1, 1.5, 0.5}, 4))},
		{op: "Resize", version: 19, attrs: attrs("mode", "cubic"), in: in(images, nil, from([]float32{1, 1, 2, 1}, 4))},
	}
	for _, half := range []tensor.DType{tensor.F16, tensor.BF16} {
		for i, c := range cases {
			t.Run(fmt.Sprintf("%v/%d %s", half, i, c.op), func(t *testing.T) {
				n := &graph.Node{Op: c.op, Domain: c.domain, Version: c.version, Attrs: c.attrs}
				narrow, wide := make([]*tensor.Tensor, len(c.in)), make([]*tensor.Tensor, len(c.in))
				for k, x := range c.in {
					n.Inputs = append(n.Inputs, "")
					if x == nil {
						continue
					}
					n.Inputs[k] = fmt.Sprint("in", k)
					narrow[k], wide[k] = x, x
					if x.DType() == tensor.F32 && c.op != "Resize" || k == 0 {
						narrow[k] = castTo(t, x, half)
						wide[k] = castTo(t, narrow[k], tensor.F32)
					}
				}
				for k := range max(1, c.outs) {
					n.Outputs = append(n.Outputs, fmt.Sprint("out", k))
				}
				got, err := cpu.Eval(standard.Registry(), n, bindings.DetectISA(), nil, narrow)
				if err != nil {
					t.Fatal(err)
				}
				want, err := cpu.Eval(standard.Registry(), n, bindings.DetectISA(), nil, wide)
				if err != nil {
					t.Fatal(err)
				}
				for k := range got {
					if got[k] == nil {
						continue
					}
					w := castTo(t, want[k], got[k].DType())
					if !bytes.Equal(got[k].Bytes(), w.Bytes()) {
						t.Errorf("output %d differs from the rounded one of float32", k)
					}
				}
			})
		}
	}
}

// castTo converts with the operator Cast.
func castTo(t *testing.T, x *tensor.Tensor, to tensor.DType) *tensor.Tensor {
	t.Helper()
	if x.DType() == to {
		return x
	}
	code := to.Code()
	out, err := evalNode("Cast", 13, 1, attrs("to", code), x)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}
