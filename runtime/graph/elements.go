package graph

import (
	endian "encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// elements is the text of a tensor's elements, one blank apart.
func elements(t *tensor.Tensor) string {
	parts := make([]string, t.Len())
	for i := range parts {
		parts[i] = element(t, i)
	}
	return strings.Join(parts, " ")
}

// element is the text of one element. Formats narrower than 16 bits that are no
// integers show as their bits.
func element(t *tensor.Tensor, i int) string {
	d := t.DType()
	if d == tensor.String {
		return strconv.Quote(t.Strings()[i])
	}
	if l := d.Layout(); l != nil {
		code := l.At(t.Bytes(), i)
		if d.IsFloat() {
			return fmt.Sprintf("0x%x", code)
		}
		return strconv.Itoa(int(code))
	}
	size := d.Bits() / 8
	b := t.Bytes()[i*size : (i+1)*size]
	switch d {
	case tensor.F32:
		return float32Text(b)
	case tensor.F64:
		return float64Text(b)
	case tensor.F16:
		return float(float64(packed.F16(endian.LittleEndian.Uint16(b)).Float32()), 32)
	case tensor.BF16:
		return float(float64(packed.BF16(endian.LittleEndian.Uint16(b)).Float32()), 32)
	case tensor.C64:
		return float32Text(b) + "+" + float32Text(b[4:]) + "i"
	case tensor.C128:
		return float64Text(b) + "+" + float64Text(b[8:]) + "i"
	case tensor.Bool:
		return strconv.FormatBool(b[0] != 0)
	}
	return integer(d, b)
}

func integer(d tensor.DType, b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	v := endian.LittleEndian.Uint64(wide[:])
	switch d.Kind() {
	case tensor.Signed:
		shift := 64 - d.Bits()
		return strconv.FormatInt(int64(v<<shift)>>shift, 10)
	case tensor.Unsigned:
		return strconv.FormatUint(v, 10)
	}
	return fmt.Sprintf("0x%0*x", d.Bits()/4, v)
}

func float32Text(b []byte) string {
	return float(float64(math.Float32frombits(endian.LittleEndian.Uint32(b))), 32)
}

func float64Text(b []byte) string {
	return float(math.Float64frombits(endian.LittleEndian.Uint64(b)), 64)
}

// float is the shortest text that gives the same number back.
func float(v float64, bits int) string { return strconv.FormatFloat(v, 'g', -1, bits) }
