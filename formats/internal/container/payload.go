package container

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Payload is the elements of a tensor on their way to a file, in their own type or another
// floating-point type. It holds no copy of them.
type Payload struct {
	t   *tensor.Tensor
	to  tensor.DType
	ctx context.Context
}

// For returns the payload of a tensor. Floating-point elements, and blocks, become o.DType, or blocks
// become o.Blocks; other elements keep their type. If a conversion is not supported, For returns an
// error.
func (o Options) For(t *tensor.Tensor) (Payload, error) {
	p := Payload{t, t.DType(), o.Context()}
	d, to := t.DType(), o.DType
	if to == tensor.Invalid && d.Blocks() != nil {
		to = o.Blocks
	}
	if to == tensor.Invalid || d == to || !d.IsFloat() && d.Blocks() == nil {
		return p, nil
	}
	p.to = to
	if encoder(p.to) == nil {
		return p, fmt.Errorf("tensors cannot become %v; they can become float32, float64, float16, bfloat16, float8e4m3fn, float8e5m2", p.to)
	}
	if Decoder(t.DType()) == nil {
		return p, fmt.Errorf("%v cannot become %v", t.DType(), p.to)
	}
	return p, nil
}

// DType returns the type of the elements written.
func (p Payload) DType() tensor.DType { return p.to }

// Len returns the number of bytes written.
func (p Payload) Len() int64 { return int64(p.to.Bytes(p.t.Len())) }

// chunk is the number of elements that are converted at a time. They fill blocks of any type.
const chunk = 1 << 16

// WriteTo writes the elements, until the context of the options ends. Values are rounded to
// nearest, ties to even. A value too large for an eight-bit type becomes infinity, or NaN if the
// type has no infinity. Booleans are written as 0 and 1. Unused bits of the last byte are written
// as 0. Memory of elements that can be obtained again is then released.
func (p Payload) WriteTo(w io.Writer) (int64, error) {
	defer p.t.Forget()
	w = pieces.Writer(p.ctx, w)
	if p.to == p.t.DType() {
		return p.writeStored(w)
	}
	from, to := Decoder(p.t.DType()), encoder(p.to)
	width := p.to.Bits() / 8
	src := p.t.Bytes()
	values := make([]float64, min(chunk, p.t.Len()))
	out := make([]byte, len(values)*width)
	var written int64
	for at := 0; at < p.t.Len(); at += chunk {
		n := min(chunk, p.t.Len()-at)
		from(values[:n], src[p.t.DType().Bytes(at):])
		to(out, values[:n])
		m, err := w.Write(out[:n*width])
		written += int64(m)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// writeStored writes elements that keep their type.
func (p Payload) writeStored(w io.Writer) (int64, error) {
	b := p.t.Bytes()
	if p.to == tensor.Bool {
		return writeBools(w, b)
	}
	used := p.t.Len() * p.to.Bits() % 8
	if used == 0 {
		n, err := w.Write(b)
		return int64(n), err
	}
	last := len(b) - 1
	n, err := w.Write(b[:last])
	if err != nil {
		return int64(n), err
	}
	m, err := w.Write([]byte{b[last] & (1<<used - 1)})
	return int64(n + m), err
}

func writeBools(w io.Writer, b []byte) (int64, error) {
	out := make([]byte, min(len(b), chunk))
	var written int64
	for len(b) > 0 {
		out = out[:min(len(b), chunk)]
		for i := range out {
			out[i] = 0
			if b[i] != 0 {
				out[i] = 1
			}
		}
		n, err := w.Write(out)
		written += int64(n)
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}

var order = binary.LittleEndian

// Decoder returns a function that reads elements of a floating-point type of whole bytes. It
// returns nil for other types.
func Decoder(d tensor.DType) func(dst []float64, src []byte) {
	switch d {
	case tensor.F32:
		return func(dst []float64, src []byte) {
			for i := range dst {
				dst[i] = float64(math.Float32frombits(order.Uint32(src[4*i:])))
			}
		}
	case tensor.F64:
		return func(dst []float64, src []byte) {
			for i := range dst {
				dst[i] = math.Float64frombits(order.Uint64(src[8*i:]))
			}
		}
	case tensor.F16:
		return func(dst []float64, src []byte) {
			for i := range dst {
				dst[i] = float64(packed.F16(order.Uint16(src[2*i:])).Float32())
			}
		}
	case tensor.BF16:
		return func(dst []float64, src []byte) {
			for i := range dst {
				dst[i] = float64(packed.BF16(order.Uint16(src[2*i:])).Float32())
			}
		}
	}
	if f := packed.Float8Of(d.String()); f != nil {
		return func(dst []float64, src []byte) {
			for i := range dst {
				dst[i] = float64(f.Float32(src[i]))
			}
		}
	}
	if b := d.Blocks(); b != nil {
		return func(dst []float64, src []byte) {
			block := make([]float32, b.Elements)
			for ; len(dst) > 0; dst, src = dst[b.Elements:], src[b.Bytes:] {
				b.Unpack(block, src)
				for i, v := range block {
					dst[i] = float64(v)
				}
			}
		}
	}
	return nil
}

// encoder returns a function that writes elements of a floating-point type. It returns nil for
// types that are no target of a conversion. Values go to types narrower than float32 by way of a
// float32 that is rounded to odd, so that they are rounded once.
func encoder(d tensor.DType) func(dst []byte, src []float64) {
	switch d {
	case tensor.F32:
		return func(dst []byte, src []float64) {
			for i, v := range src {
				order.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
			}
		}
	case tensor.F64:
		return func(dst []byte, src []float64) {
			for i, v := range src {
				order.PutUint64(dst[8*i:], math.Float64bits(v))
			}
		}
	case tensor.F16:
		return func(dst []byte, src []float64) {
			for i, v := range src {
				order.PutUint16(dst[2*i:], uint16(packed.ToF16(elements.Odd(v))))
			}
		}
	case tensor.BF16:
		return func(dst []byte, src []float64) {
			for i, v := range src {
				order.PutUint16(dst[2*i:], uint16(packed.ToBF16(elements.Odd(v))))
			}
		}
	case tensor.F8E4M3FN, tensor.F8E5M2:
		f := packed.Float8Of(d.String())
		return func(dst []byte, src []float64) {
			for i, v := range src {
				dst[i] = f.Code(elements.Odd(v), false)
			}
		}
	}
	return nil
}
