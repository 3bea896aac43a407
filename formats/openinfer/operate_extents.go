package openinfer

import (
	"fmt"
	"slices"
)

// same returns the common extents of all inputs.
func same(c *call) ([]int, error) {
	for i, in := range c.inputs {
		if !slices.Equal(in.dims, c.inputs[0].dims) {
			return nil, fmt.Errorf("input %d has shape %v and input 0 shape %v; the operator does not broadcast", i, in.dims, c.inputs[0].dims)
		}
	}
	return c.inputs[0].dims, nil
}

// scalar returns no extents.
func scalar(*call) ([]int, error) { return nil, nil }

// broadcast returns the extents to which both inputs stretch, aligned at the last axis.
func broadcast(c *call) ([]int, error) { return stretch(c.inputs[0].dims, c.inputs[1].dims) }

func stretch(a, b []int) ([]int, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, n := range b {
		switch at := len(a) - len(b) + i; {
		case out[at] == 1:
			out[at] = n
		case n != 1 && n != out[at]:
			return nil, fmt.Errorf("shapes %v and %v do not broadcast", a, b)
		}
	}
	return out, nil
}

// product returns the extents of a product of matrices in the last two axes.
func product(c *call) ([]int, error) {
	a, b := c.inputs[0].dims, c.inputs[1].dims
	if len(a) < 2 || len(b) < 2 {
		return nil, fmt.Errorf("inputs have shapes %v and %v; matrices have two axes or more", a, b)
	}
	i, j := len(a)-2, len(b)-2
	if a[i+1] != b[j] {
		return nil, fmt.Errorf("shapes %v and %v do not multiply: rows of %d elements by columns of %d", a, b, a[i+1], b[j])
	}
	out, err := stretch(a[:i], b[:j])
	if err != nil {
		return nil, err
	}
	return append(out[:len(out):len(out)], a[i], b[j+1]), nil
}

// reduced returns the extents without the axes of a reduction, or with 1 in their place.
func reduced(c *call) ([]int, error) {
	in := c.inputs[0].dims
	drop := make([]bool, len(in))
	for _, axis := range c.named() {
		at := axis
		if at < 0 {
			at += int64(len(in))
		}
		if at < 0 || at >= int64(len(in)) {
			return nil, fmt.Errorf("axis %d is not one of the %d axes of shape %v", axis, len(in), in)
		}
		drop[at] = true
	}
	out := []int{}
	for i, n := range in {
		if !drop[i] {
			out = append(out, n)
		} else if c.flag("keepdims", false) {
			out = append(out, 1)
		}
	}
	return out, nil
}
