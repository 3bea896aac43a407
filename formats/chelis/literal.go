package chelis

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// words holds Chelis's names of the element types that it shares with ONNX.
var words = map[tensor.DType]string{tensor.F32: "f32", tensor.F64: "f64", tensor.I32: "i32", tensor.I64: "i64", tensor.Bool: "bool"}

func isFloat(d tensor.DType) bool { return d == tensor.F32 || d == tensor.F64 }

// float returns a literal with the shortest decimal that parses as v, positional for exponents from
// -5 to 15.
func float(d tensor.DType, v float64) string {
	bits := 64
	if d == tensor.F32 {
		bits = 32
	}
	digits := strconv.FormatFloat(v, 'e', -1, bits)
	mantissa, exponent, _ := strings.Cut(digits, "e")
	n, _ := strconv.Atoi(exponent)
	text := ""
	if n >= -5 && n < 16 {
		text = strconv.FormatFloat(v, 'f', -1, bits)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
	} else {
		text = mantissa + "e" + strconv.Itoa(n)
	}
	return text + words[d]
}

// integer returns a literal. The least integer has no literal and is cast.
func integer(d tensor.DType, v int64) string {
	if d == tensor.I32 && v == math.MinInt32 || v == math.MinInt64 {
		return fmt.Sprintf("cast(%d, %s)", v, words[d])
	}
	return strconv.FormatInt(v, 10) + words[d]
}

// number returns a literal of an element type.
func number(d tensor.DType, v float64) string {
	switch {
	case isFloat(d):
		return float(d, v)
	case d == tensor.Bool:
		return strconv.FormatBool(v != 0)
	}
	return integer(d, int64(v))
}

// element returns the literal of element i.
func element(t *tensor.Tensor, i int) (string, error) {
	var whole [1]int64
	var number [1]float64
	switch d := t.DType(); {
	case d.IsInteger():
		elements.Get(whole[:], t, i)
		return integer(d, whole[0]), nil
	case d == tensor.Bool:
		return strconv.FormatBool(t.Bytes()[i] != 0), nil
	}
	elements.Get(number[:], t, i)
	v := number[0]
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return "", fmt.Errorf("element %d is %v, for which Chelis has no literal; --weights placeholder leaves values out", i, v)
	}
	return float(t.DType(), v), nil
}

// literal returns an expression of the elements in nested lists. t must not be empty.
func literal(t *tensor.Tensor) (string, error) {
	t = t.Aligned()
	shape := t.Shape()
	if len(shape) == 0 {
		x, err := element(t, 0)
		return "reshape(to_tensor([" + x + "]), [])", err
	}
	var b strings.Builder
	next := 0
	var list func(axis int) error
	list = func(axis int) error {
		b.WriteByte('[')
		for i := range shape[axis] {
			if i > 0 {
				b.WriteString(", ")
			}
			if axis+1 < len(shape) {
				if err := list(axis + 1); err != nil {
					return err
				}
				continue
			}
			x, err := element(t, next)
			if err != nil {
				return err
			}
			next++
			b.WriteString(x)
		}
		b.WriteByte(']')
		return nil
	}
	b.WriteString("to_tensor(")
	if err := list(0); err != nil {
		return "", err
	}
	b.WriteByte(')')
	return b.String(), nil
}

// DType returns Chelis's name of an element type, if it can be emitted.
func DType(d tensor.DType) (string, bool) {
	w, ok := words[d]
	return w, ok
}
