package operators

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var attributeForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z_0-9]*)=(.*)$`)

// attribute splits a word that is an attribute.
func attribute(w string) (key, value string, ok bool) {
	found := attributeForm.FindStringSubmatch(w)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}

// parseAttr returns an attribute of the kind that its text has.
func parseAttr(key, text string) (*graph.Attr, error) {
	list, isList := strings.CutPrefix(text, "[")
	if !isList {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return graph.IntAttr(key, v), nil
		}
		if v, err := strconv.ParseFloat(text, 32); err == nil {
			return graph.FloatAttr(key, float32(v)), nil
		}
		return graph.StringAttr(key, text), nil
	}
	list, count, closed := strings.Cut(list, "]")
	if !closed {
		return nil, fmt.Errorf("a list has no end")
	}
	times := 1
	if count != "" {
		if _, err := fmt.Sscanf(count, "*%d", &times); err != nil {
			return nil, fmt.Errorf("a list is followed by %q: %w", count, err)
		}
	}
	var ints []int64
	var floats []float32
	var words []string
	for range times {
		for _, item := range strings.Split(list, ",") {
			words = append(words, item)
			if v, err := strconv.ParseInt(item, 10, 64); err == nil {
				ints = append(ints, v)
			}
			if v, err := strconv.ParseFloat(item, 32); err == nil {
				floats = append(floats, float32(v))
			}
		}
	}
	switch len(words) {
	case len(ints):
		return graph.IntsAttr(key, ints...), nil
	case len(floats):
		return graph.FloatsAttr(key, floats...), nil
	}
	return graph.StringsAttr(key, words...), nil
}

var tensorForm = regexp.MustCompile(`^([a-z0-9]+)(?:\[([0-9,]*)\])?(?:\(([^,]+),([^)]+)\))?(?:%(\d+)(?:\*(\d+))?)?(?:\{([^}]*)\})?$`)

// tensor returns the tensor of a word.
func (m *Model) tensor(w string) (*tensor.Tensor, error) {
	part := tensorForm.FindStringSubmatch(w)
	if part == nil {
		return nil, fmt.Errorf("no tensor is written so")
	}
	d, err := tensor.ParseDType(part[1])
	if err != nil {
		return nil, err
	}
	listed := strings.HasSuffix(w, "}")
	items := strings.Split(part[7], ",")
	shape := []int{}
	switch {
	case part[2] != "":
		for _, text := range strings.Split(part[2], ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, err
			}
			shape = append(shape, n)
		}
	case !strings.Contains(w, "["):
		shape = append(shape, len(items))
	}
	count := tensor.Shape(shape).Len()
	if d == tensor.String {
		list := make([]string, count)
		for i := range list {
			if list[i] = items[i%len(items)]; !listed {
				list[i] = fmt.Sprint("word", m.rand.IntN(1000))
			}
		}
		return tensor.FromStrings(list, shape...)
	}
	low, high := span(d)
	if part[3] != "" {
		if low, err = strconv.ParseFloat(part[3], 64); err != nil {
			return nil, err
		}
		if high, err = strconv.ParseFloat(part[4], 64); err != nil {
			return nil, err
		}
	}
	value := func(int) float64 { return low + (high-low)*m.rand.Float64() }
	if part[5] != "" {
		modulo, _ := strconv.Atoi(part[5])
		step, _ := strconv.Atoi("0" + part[6])
		value = func(i int) float64 { return float64(i * max(step, 1) % modulo) }
	}
	if listed {
		numbers := make([]float64, len(items))
		for i, text := range items {
			if numbers[i], err = strconv.ParseFloat(text, 64); err != nil {
				return nil, err
			}
		}
		value = func(i int) float64 { return numbers[i%len(numbers)] }
	}
	return m.filled(d, shape, value), nil
}

// span returns the bounds of random elements.
func span(d tensor.DType) (low, high float64) {
	switch {
	case d.Kind() == tensor.Unsigned:
		return 0, float64(uint64(1)<<min(d.Bits(), 31)) - 1
	case d.Kind() == tensor.Signed:
		most := float64(uint64(1) << min(d.Bits()-1, 31))
		return -most, most - 1
	case d == tensor.Bool:
		return 0, 2
	}
	return -1, 1
}

// filled returns a tensor of values. Floats of 8 bits or fewer get random bits.
func (m *Model) filled(d tensor.DType, shape []int, value func(i int) float64) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		v := value(i)
		if d == tensor.Bool && v < 1 {
			v = 0
		}
		if !elements.Put(t, i, []float64{v}) {
			for k := range t.Bytes() {
				t.Bytes()[k] = byte(m.rand.IntN(256))
			}
			break
		}
	}
	return t
}
