package signal

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// timeWarp is DynamicTimeWarping. It finds the cheapest path from the first to the last element of
// a matrix of costs. A step goes to the next row, the next column, or both. On equal costs it takes
// the step along the columns, unless one other step is cheaper than both.
type timeWarp struct{}

// Infer sets [2,steps].
func (timeWarp) Infer(c *op.Infer) error {
	d := c.In[0].Dims
	if d != nil && len(d) != 2 && !(len(d) == 3 && !(d[0].IsKnown() && !d[0].Is(1))) {
		return graph.Errorf(graph.ErrShape, "costs %v are no matrix", c.In[0].Type)
	}
	c.Set(0, tensor.I32, graph.Dims{graph.Known(2), graph.Unknown()})
	return nil
}

// The steps that lead to an element of a path.
const (
	stepBoth = iota
	stepRow
	stepColumn
)

// Run sums costs from the first element on, then follows the path back from the last.
func (timeWarp) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	if len(shape) == 3 && shape[0] != 1 {
		return graph.Errorf(graph.ErrShape, "costs %v are no matrix", c.In[0])
	}
	rows, columns := shape[len(shape)-2], shape[len(shape)-1]
	if rows == 0 || columns == 0 {
		return graph.Errorf(graph.ErrShape, "costs %v have no elements", c.In[0])
	}
	from, err := warpSteps(c, tensor.View[float32](c.In[0]), rows, columns)
	if err != nil {
		return err
	}
	var path [2][]int32
	for i, j := rows, columns; i > 0 || j > 0; {
		path[0], path[1] = append(path[0], int32(i-1)), append(path[1], int32(j-1))
		step := from[i*(columns+1)+j]
		if step != stepColumn {
			i--
		}
		if step != stepRow {
			j--
		}
	}
	out, err := c.Output(0, tensor.I32, tensor.Shape{2, len(path[0])})
	if err != nil {
		return err
	}
	for k, list := range path {
		slices.Reverse(list)
		copy(tensor.View[int32](out)[k*len(list):], list)
	}
	return nil
}

// warpSteps returns the step that leads to each element of the matrix, extended by a row and a
// column before the first.
func warpSteps(c *op.Run, costs []float32, rows, columns int) ([]byte, error) {
	width := columns + 1
	memory, err := c.ScratchTensor(tensor.U8, tensor.Shape{rows + 1, width})
	if err != nil {
		return nil, err
	}
	sums, err := c.ScratchFloats(2 * width)
	if err != nil {
		return nil, err
	}
	from, inf := memory.Bytes(), float32(math.Inf(1))
	above, row := sums[:width], sums[width:]
	for j := range above {
		above[j], from[j] = inf, stepColumn
	}
	above[0] = 0
	for i := 1; i <= rows; i++ {
		if c.Stopped() {
			return nil, op.ErrStopped
		}
		row[0], from[i*width] = inf, stepRow
		for j := 1; j <= columns; j++ {
			both, up, left := above[j-1], above[j], row[j-1]
			least, step := left, byte(stepColumn)
			switch {
			case both < up && both < left:
				least, step = both, stepBoth
			case up < both && up < left:
				least, step = up, stepRow
			}
			row[j], from[i*width+j] = costs[(i-1)*columns+j-1]+least, step
		}
		above, row = row, above
	}
	return from, nil
}

var warpRows = []op.Row{
	{Domain: kit.Microsoft, Name: "DynamicTimeWarping", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, New: func(*op.Node) (op.Op, error) { return timeWarp{}, nil }},
}
