package optimize

import (
	"bytes"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// cut is a part of a value along its last axis: every step-th element from start
// on, before end.
type cut struct {
	of                       string
	extent, start, end, step int
	node                     *graph.Node
}

// takes reports whether the cut is the first half (0) or the second (1), or of
// neighbours each first or each second.
func (c cut) takes(part int, interleaved bool) bool {
	if interleaved {
		return c.step == 2 && c.start == part && c.end == c.extent
	}
	return c.step == 1 && c.start == part*c.extent/2 && c.end == (part+1)*c.extent/2
}

// cut sees a value as a part of another that Slice or Split makes.
func (f *finder) cut(name string) (c cut, ok bool) {
	n := f.maker(f.name(name))
	if !f.bound[n] || !is(n, "Slice", "Split") {
		return c, false
	}
	c.of, c.node, c.step = n.Inputs[0], n, 1
	d := f.dims(c.of)
	if len(d) == 0 {
		return c, false
	}
	if c.extent, ok = d[len(d)-1].Value(); !ok {
		return c, false
	}
	if n.Op == "Split" {
		return c, f.last(n, c.of) && f.splitOf(&c, name)
	}
	starts, ok1 := f.ints(n, "starts", 1)
	ends, ok2 := f.ints(n, "ends", 2)
	axes, ok3 := f.ints(n, "axes", 3)
	steps, ok4 := f.ints(n, "steps", 4)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(starts) != 1 || len(ends) != 1 || len(axes) != 1 || axes[0] != -1 && axes[0] != len(d)-1 {
		return c, false
	}
	if len(steps) == 1 {
		c.step = steps[0]
	}
	clamp := func(i int) int {
		if i < 0 {
			i += c.extent
		}
		return min(max(i, 0), c.extent)
	}
	c.start, c.end = clamp(starts[0]), clamp(ends[0])
	return c, c.step > 0
}

// splitOf sets which part of a value an output of Split is.
func (f *finder) splitOf(c *cut, name string) bool {
	for _, out := range c.node.Outputs {
		d := f.dims(out)
		if len(d) == 0 {
			return false
		}
		n, ok := d[len(d)-1].Value()
		if !ok {
			return false
		}
		c.start, c.end = c.end, c.end+n
		if f.is(out, name) {
			return true
		}
	}
	return false
}

// last reports whether the axis of a node is the last of a value.
func (f *finder) last(n *graph.Node, of string) bool {
	axis := intOf(n, "axis")
	return axis == -1 || f.dims(of) != nil && axis == int64(len(f.dims(of))-1)
}

// maxTrace bounds the nodes between cosines and what they are of.
const maxTrace = 24

// repeats reports whether each number of a value is certain to be there twice
// along the last axis: in either half, or interleaved, as neighbours.
func (f *finder) repeats(name string, interleaved bool, depth int) bool {
	d := f.dims(name)
	if len(d) == 0 || depth > maxTrace {
		return false
	}
	width, ok := d[len(d)-1].Value()
	if !ok || width < 2 {
		return false
	}
	if t := f.constant(name); t != nil {
		return repeatsIn(t, width, interleaved)
	}
	n := f.maker(f.name(name))
	switch {
	case !f.bound[n] || !f.is(n.Outputs[0], name):
		return false
	case is(n, "Mul", "Div", "Add"):
		of, _, ok := f.split(n)
		return ok && f.repeats(of, interleaved, depth+1)
	case is(n, "Cos", "Sin", "Cast", "Neg", "Exp", "Reciprocal"):
		return f.repeats(n.Inputs[0], interleaved, depth+1)
	case is(n, "Concat", "Tile") && !interleaved && f.twice(n):
		return true
	case is(n, "Reshape", "Flatten") && interleaved && f.paired(n.Inputs[0]):
		return true
	case is(n, "Unsqueeze", "Squeeze", "Reshape", "Expand", "Slice", "Gather", "Transpose"):
		from := f.dims(n.Inputs[0])
		if len(from) == 0 || !from[len(from)-1].Is(width) || is(n, "Gather") && f.last(n, n.Inputs[0]) {
			return false
		}
		if perm := attrs(n).Ints("perm"); is(n, "Transpose") && (len(perm) != len(from) || perm[len(perm)-1] != len(perm)-1) {
			return false
		}
		if is(n, "Slice") {
			if _, onLast := f.cut(name); onLast {
				return false
			}
			axes, known := f.ints(n, "axes", 3)
			if !known || axes == nil || slices.Contains(axes, -1) || slices.Contains(axes, len(from)-1) {
				return false
			}
		}
		return f.repeats(n.Inputs[0], interleaved, depth+1)
	}
	return false
}

// twice reports whether a node puts a value behind itself along the last axis.
func (f *finder) twice(n *graph.Node) bool {
	if n.Op == "Concat" {
		return len(n.Inputs) == 2 && f.is(n.Inputs[0], n.Inputs[1]) && f.last(n, n.Inputs[0])
	}
	times, ok := f.ints(n, "repeats", 1)
	return ok && len(times) > 0 && times[len(times)-1] == 2
}

// paired reports whether the last axis of a value has two elements that are the
// same.
func (f *finder) paired(name string) bool {
	d := f.dims(name)
	if len(d) < 2 || !d[len(d)-1].Is(2) {
		return false
	}
	n := f.from(name, "Expand", "Tile", "Concat")
	if n == nil {
		return false
	}
	from := f.dims(n.Inputs[0])
	return len(from) == len(d) && from[len(from)-1].Is(1) && (n.Op != "Concat" || f.twice(n))
}

// repeatsIn is repeats for rows of a tensor.
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
