package exchange

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The suffixes of experts in MXFP4 in folders of gpt_oss: [experts,rows,blocks,16] pairs of codes,
// and [experts,rows,blocks] exponents.
const (
	codesSuffix  = "_blocks"
	scalesSuffix = "_scales"
)

// narrowExperts takes experts that a folder has in MXFP4, and keeps their codes and exponents.
func (i *inward) narrowExperts() {
	for k := range i.layers {
		for _, r := range i.family.rules {
			files, folder := r.names(k)
			codes := i.from[folder+codesSuffix]
			if !r.bare || codes == nil {
				continue
			}
			i.taken(folder + codesSuffix)
			scales := i.taken(folder + scalesSuffix)
			if scales == nil {
				i.fail(graph.Errorf(graph.ErrFormat, "tensor %q is missing", folder+scalesSuffix))
				return
			}
			t, err := i.mxfp4(codes.Tensor, scales.Tensor)
			list := []*tensor.Tensor{t}
			if err == nil && r.joined != nil {
				list, err = r.joined.split(i.exchange, t)
			}
			if err != nil {
				i.fail(named(folder+codesSuffix, err))
				return
			}
			for n, name := range files {
				i.add(name+weight, list[n])
			}
		}
	}
}

// mxfp4 returns the blocks of codes and exponents. In a folder a byte has neighbouring codes, and
// in a file code j of a block and code j+16.
func (i *inward) mxfp4(codes, scales *tensor.Tensor) (*tensor.Tensor, error) {
	const half, block = 16, 17
	shape := codes.Shape()
	if codes.DType() != tensor.U8 || scales.DType() != tensor.U8 || len(shape) != 4 || shape[3] != half || !scales.Shape().Equal(shape[:3]) {
		return nil, graph.Errorf(graph.ErrFormat, "is %v, with the exponents %v, where bytes of pairs of codes are wanted", codes, scales)
	}
	if err := i.take(scales.Len() * block); err != nil {
		return nil, err
	}
	t := tensor.New(tensor.MXFP4, shape[0], shape[1], shape[2]*2*half)
	from, to := codes.Bytes(), t.Bytes()
	for n, e := range scales.Bytes() {
		pairs, out := from[n*half:][:half], to[n*block:][:block]
		out[0] = e
		for j := range half {
			low, high := pairs[j/2]>>(j%2*4)&15, pairs[half/2+j/2]>>(j%2*4)&15
			out[1+j] = low | high<<4
		}
	}
	return t, nil
}

// isMXFP4 reports whether a configuration has experts in MXFP4, and no other quantisation.
func (c *config) isMXFP4() bool {
	q := c.below("quantization_config")
	return q != nil && strings.EqualFold(fmt.Sprint(q.values["quant_method"]), "mxfp4") && c.text("model_type") == "gpt_oss"
}
