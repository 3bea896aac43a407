package arith

import (
	"math"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// parserOf returns the type that strings are parsed as on the way to type to, and the parser.
func parserOf(to tensor.DType) (tensor.DType, func(dst, src *tensor.Tensor, from int) error) {
	switch {
	case to.IsFloat():
		return tensor.F64, parseAll(parseFloat)
	case to == tensor.Bool:
		return tensor.Bool, parseAll(parseBool)
	case to == tensor.U64:
		return tensor.U64, parseAll(parseUint)
	}
	return tensor.I64, parseAll(parseInt)
}

func parseAll[T float64 | int64 | uint64 | bool](
	parse func(string) (T, error),
) func(dst, src *tensor.Tensor, from int) error {
	return func(dst, src *tensor.Tensor, from int) error {
		out := tensor.View[T](dst)
		for i := range out {
			v, err := parse(strings.TrimSpace(src.Strings()[from+i]))
			if err != nil {
				return graph.Errorf(graph.ErrShape, "element %d is %.40q, which is no number", from+i, src.Strings()[from+i])
			}
			out[i] = v
		}
		return nil
	}
}

// parseFloat also reads nan and inf in any case. Numbers that are too large are infinite.
func parseFloat(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if math.IsInf(v, 0) {
		return v, nil
	}
	return v, err
}

// parseInt rounds numbers with a fraction towards zero and clamps them.
func parseInt(s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return v, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err != nil || f != f:
		return 0, strconv.ErrSyntax
	case f >= math.MaxInt64:
		return math.MaxInt64, nil
	case f <= math.MinInt64:
		return math.MinInt64, nil
	}
	return int64(f), nil
}

func parseUint(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err == nil {
		return v, nil
	}
	i, err := parseInt(s)
	return uint64(i), err
}

func parseBool(s string) (bool, error) {
	if v, err := strconv.ParseBool(s); err == nil {
		return v, nil
	}
	v, err := parseFloat(s)
	return v != 0, err
}

// formatNumbers writes the shortest decimals that read back as the same numbers.
func formatNumbers(dst, src *tensor.Tensor, from int) error {
	for i := range src.Len() {
		dst.Strings()[from+i] = formatNumber(src, i)
	}
	return nil
}

func formatNumber(t *tensor.Tensor, i int) string {
	switch t.DType() {
	case tensor.F32:
		return formatFloat(float64(tensor.View[float32](t)[i]), 32)
	case tensor.F64:
		return formatFloat(tensor.View[float64](t)[i], 64)
	case tensor.F16:
		h := tensor.View[packed.F16](t)[i]
		return formatHalf(h.Float32(), func(f float32) bool { return packed.ToF16(f) == h })
	case tensor.BF16:
		h := tensor.View[packed.BF16](t)[i]
		return formatHalf(h.Float32(), func(f float32) bool { return packed.ToBF16(f) == h })
	case tensor.Bool:
		if t.Bytes()[i] != 0 {
			return "True"
		}
		return "False"
	}
	return t.Text(i)
}

// formatHalf formats v with the fewest digits that satisfy same.
func formatHalf(v float32, same func(float32) bool) string {
	for digits := 1; digits < 9; digits++ {
		f, err := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'e', digits-1, 32), 32)
		if err == nil && same(float32(f)) {
			return formatFloat(f, 32)
		}
	}
	return formatFloat(float64(v), 32)
}

// formatFloat writes numbers from 1e-4 to 1e16 with a fraction and others with an exponent.
func formatFloat(v float64, bits int) string {
	switch {
	case v != v:
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, bits), "+"))
	}
	if m := math.Abs(v); m != 0 && (m < 1e-4 || m >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
