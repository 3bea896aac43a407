package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/nacre-ml/nacre/packed"
)

// Text returns element i as text: the shortest that parses to the same number, a quoted string, or
// the bits of a float narrower than 16 bits. It panics if i is out of range.
func (t *Tensor) Text(i int) string {
	d := t.dtype
	if d == String {
		return strconv.Quote(t.strings[i])
	}
	if l := d.Layout(); l != nil {
		code := l.At(t.Bytes(), i)
		if d.IsFloat() {
			return fmt.Sprintf("0x%x", code)
		}
		return strconv.Itoa(int(code))
	}
	if b := d.Blocks(); b != nil {
		list := make([]float32, b.Elements)
		b.Unpack(list, t.Bytes()[i/b.Elements*b.Bytes:])
		return floatText(float64(list[i%b.Elements]), 32)
	}
	size := d.Bits() / 8
	b := t.Bytes()[i*size : (i+1)*size]
	switch d {
	case F32:
		return float32Text(b)
	case F64:
		return float64Text(b)
	case F16:
		return floatText(float64(packed.F16(binary.LittleEndian.Uint16(b)).Float32()), 32)
	case BF16:
		return floatText(float64(packed.BF16(binary.LittleEndian.Uint16(b)).Float32()), 32)
	case C64:
		return float32Text(b) + "+" + float32Text(b[4:]) + "i"
	case C128:
		return float64Text(b) + "+" + float64Text(b[8:]) + "i"
	case Bool:
		return strconv.FormatBool(b[0] != 0)
	}
	return integerText(d, b)
}

func integerText(d DType, b []byte) string {
	var wide [8]byte
	copy(wide[:], b)
	v := binary.LittleEndian.Uint64(wide[:])
	switch d.Kind() {
	case Signed:
		shift := 64 - d.Bits()
		return strconv.FormatInt(int64(v<<shift)>>shift, 10)
	case Unsigned:
		return strconv.FormatUint(v, 10)
	}
	return fmt.Sprintf("0x%0*x", d.Bits()/4, v)
}

func float32Text(b []byte) string {
	return floatText(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
}

func float64Text(b []byte) string {
	return floatText(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
}

func floatText(v float64, bits int) string { return strconv.FormatFloat(v, 'g', -1, bits) }
