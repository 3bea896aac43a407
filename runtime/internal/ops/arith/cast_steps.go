package arith

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// castSteps converts elements of one type to another. Narrow floats, narrow integers and strings
// are decoded to a type that Go computes on, and encoded from one, block by block.
type castSteps struct {
	decode func(dst, src *tensor.Tensor, from int) error // decodes elements from.. of src; nil for types of Go
	encode func(dst, src *tensor.Tensor, from int) error
	source tensor.DType // the type that decode makes
	target tensor.DType // the type that encode takes
}

// castBlock is the number of elements converted at a time. They fill whole bytes in any type.
const castBlock = 4096

func (o *Cast) stepsFor(from, to tensor.DType) castSteps {
	var s castSteps
	s.source, s.decode = decoderOf(from, to)
	s.target, s.encode = o.encoderOf(to, s.source)
	return s
}

// convert sets the elements of y to the elements of x. A float64 on the way to a type narrower than
// float32 is rounded only once.
func (s *castSteps) convert(y, x *tensor.Tensor) {
	if s.encode != nil && s.target == tensor.F32 && s.source == tensor.F64 {
		out := tensor.View[float32](y)
		for i, v := range tensor.View[float64](x) {
			out[i] = elements.Odd(v)
		}
		return
	}
	convertElements(y, x)
}

// run converts the elements of x from index first to index end, which are multiples of castBlock or
// the end of x.
func (s *castSteps) run(pace *op.Pace, x, y *tensor.Tensor, first, end int) error {
	block := min(castBlock, end-first)
	var mid, wideMid *tensor.Tensor
	if s.decode != nil {
		mid = tensor.New(s.source, block)
	}
	if s.encode != nil && s.source != s.target {
		wideMid = tensor.New(s.target, block)
	}
	for from := first; from < end; from += block {
		pace.Work(8 * block)
		n := min(block, end-from)
		in := part(x, mid, from, n)
		if s.decode != nil {
			if err := s.decode(in, x, from); err != nil {
				return err
			}
		}
		out := in
		if s.source != s.target {
			out = part(y, wideMid, from, n)
			s.convert(out, in)
		}
		switch {
		case s.encode != nil:
			if err := s.encode(y, out, from); err != nil {
				return err
			}
		case s.source == s.target:
			kit.CopyInto(part(y, nil, from, n), out)
		}
	}
	return nil
}

// part returns the first n elements of buffer. If buffer is nil, it returns n elements of whole.
func part(whole, buffer *tensor.Tensor, from, n int) *tensor.Tensor {
	if buffer != nil {
		whole, from = buffer, 0
	}
	size := whole.DType().Bits() / 8
	if size == 0 {
		return whole
	}
	t, err := tensor.FromBytes(whole.DType(), tensor.Shape{n}, whole.Bytes()[from*size:(from+n)*size])
	if err != nil {
		panic("op: part of a tensor: " + err.Error())
	}
	return t
}

// decoderOf returns the type that elements of type from are decoded to on the way to type to, and
// the decoder. If from needs no decoding, the decoder is nil.
func decoderOf(from, to tensor.DType) (tensor.DType, func(dst, src *tensor.Tensor, from int) error) {
	switch {
	case from.IsFloat() && from.Bits() <= 8, from.Blocks() != nil:
		return tensor.F32, func(dst, src *tensor.Tensor, at int) error {
			elements.Get(tensor.View[float32](dst), src, at)
			return nil
		}
	case from.Layout() != nil:
		return tensor.I32, func(dst, src *tensor.Tensor, at int) error {
			elements.Get(tensor.View[int32](dst), src, at)
			return nil
		}
	case from == tensor.String:
		return parserOf(to)
	}
	return from, nil
}

// encoderOf returns the type that elements are encoded from on the way from type source to type to,
// and the encoder. If to needs no encoding, the encoder is nil.
func (o *Cast) encoderOf(to, source tensor.DType) (tensor.DType, func(dst, src *tensor.Tensor, from int) error) {
	if f := packed.Float8Of(to.String()); f != nil {
		return tensor.F32, func(dst, src *tensor.Tensor, at int) error {
			f.Encode(dst.Bytes()[at:], tensor.View[float32](src), o.Saturate)
			return nil
		}
	}
	switch {
	case to == tensor.F8E8M0:
		return tensor.F32, func(dst, src *tensor.Tensor, at int) error {
			for i, v := range tensor.View[float32](src) {
				dst.Bytes()[at+i] = byte(packed.ToF8E8M0(v, o.rounding, o.Saturate))
			}
			return nil
		}
	case to == tensor.F4E2M1:
		return tensor.F32, func(dst, src *tensor.Tensor, at int) error {
			v := tensor.View[float32](src)
			packCodes(dst, at, len(v), func(i int) int8 { return int8(packed.ToF4E2M1(v[i])) })
			return nil
		}
	case to.Layout() != nil:
		// Integers keep their low bits, as in any cast to a narrower type.
		return tensor.I32, func(dst, src *tensor.Tensor, at int) error {
			v := tensor.View[int32](src)
			packCodes(dst, at, len(v), func(i int) int8 { return int8(v[i]) })
			return nil
		}
	case to == tensor.String:
		return source, formatNumbers
	}
	return to, nil
}

// packCodes stores n codes as elements from.. of dst, which start at a byte boundary, and clears
// the rest of the last byte.
func packCodes(dst *tensor.Tensor, from, n int, code func(i int) int8) {
	b := dst.Bytes()[dst.DType().Bytes(from):dst.DType().Bytes(from+n)]
	clear(b)
	for i := range n {
		dst.DType().Layout().Set(b, i, code(i))
	}
}
