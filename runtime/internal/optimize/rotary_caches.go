package optimize

import (
	"bytes"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxTrace bounds the nodes that repeats looks through.
const maxTrace = 24

// repeats reports whether a value certainly holds each number twice along the last axis: once in
// either half or, if interleaved, as neighbours.
func (m *matcher) repeats(name string, interleaved bool, depth int) bool {
	d := m.dims(name)
	if len(d) == 0 || depth > maxTrace {
		return false
	}
	width, ok := d[len(d)-1].Value()
	if !ok || width < 2 {
		return false
	}
	if t := m.constant(name); t != nil {
		return repeatsIn(t, width, interleaved)
	}
	n := m.maker(m.canonical(name))
	switch {
	case !m.bound[n] || !m.same(n.Outputs[0], name):
		return false
	case is(n, "Mul", "Div", "Add"):
		of, _, ok := m.withNumber(n)
		return ok && m.repeats(of, interleaved, depth+1)
	case is(n, "Cos", "Sin", "Cast", "Neg", "Exp", "Reciprocal"):
		return m.repeats(n.Inputs[0], interleaved, depth+1)
	case is(n, "Concat", "Tile") && !interleaved && m.twice(n):
		return true
	case is(n, "Reshape", "Flatten") && interleaved && m.paired(n.Inputs[0]):
		return true
	case is(n, "Unsqueeze", "Squeeze", "Reshape", "Expand", "Slice", "Gather", "Transpose"):
		from := m.dims(n.Inputs[0])
		if len(from) == 0 || !from[len(from)-1].Is(width) || is(n, "Gather") && m.onLastAxis(n, n.Inputs[0]) {
			return false
		}
		if perm := attrs(n).Ints("perm"); is(n, "Transpose") && (len(perm) != len(from) || perm[len(perm)-1] != len(perm)-1) {
			return false
		}
		if is(n, "Slice") {
			if _, onLast := m.cut(name); onLast {
				return false
			}
			axes, known := m.ints(n, "axes", 3)
			if !known || axes == nil || slices.Contains(axes, -1) || slices.Contains(axes, len(from)-1) {
				return false
			}
		}
		return m.repeats(n.Inputs[0], interleaved, depth+1)
	}
	return false
}

// twice reports whether a Concat or Tile gives the value two times along the last axis.
func (m *matcher) twice(n *graph.Node) bool {
	if n.Op == "Concat" {
		return len(n.Inputs) == 2 && m.same(n.Inputs[0], n.Inputs[1]) && m.onLastAxis(n, n.Inputs[0])
	}
	times, ok := m.ints(n, "repeats", 1)
	return ok && len(times) > 0 && times[len(times)-1] == 2
}

// paired reports whether the last axis of a value has two equal elements.
func (m *matcher) paired(name string) bool {
	d := m.dims(name)
	if len(d) < 2 || !d[len(d)-1].Is(2) {
		return false
	}
	n := m.producer(name, "Expand", "Tile", "Concat")
	if n == nil {
		return false
	}
	from := m.dims(n.Inputs[0])
	return len(from) == len(d) && from[len(from)-1].Is(1) && (n.Op != "Concat" || m.twice(n))
}

// repeatsIn is repeats for the matrix rows of a tensor.
func repeatsIn(t *tensor.Tensor, width int, interleaved bool) bool {
	size := t.DType().Bytes(1)
	if width%2 != 0 || t.DType().Bits() != 8*size {
		return false
	}
	for row := range slices.Chunk(t.Bytes(), width*size) {
		if !interleaved && !bytes.Equal(row[:width/2*size], row[width/2*size:]) {
			return false
		}
		if interleaved {
			for pair := range slices.Chunk(row, 2*size) {
				if !bytes.Equal(pair[:size], pair[size:]) {
					return false
				}
			}
		}
	}
	return true
}
