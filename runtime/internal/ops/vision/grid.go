package vision

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxGridAxes bounds the axes of an image, since the neighbours of a place grow exponentially with
// them.
const maxGridAxes = 8

// GridSample reads an image of any number of axes at the places given by a grid, between its
// pixels. Places go from -1 to 1 along each axis, with the innermost axis first.
type GridSample struct {
	Mode    string // linear, nearest or cubic
	Padding string // zeros, border or reflection
	Corners bool   // -1 and 1 are the centres of the outermost pixels; if false, their edges
}

func newGridSample(n *op.Node) (op.Op, error) {
	modes := map[string]string{"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}
	def := "bilinear"
	if n.Since >= 20 {
		modes = map[string]string{"linear": "linear", "cubic": "cubic", "nearest": "nearest"}
		def = "linear"
	}
	mode := n.Str("mode", def)
	o := &GridSample{Mode: modes[mode], Padding: n.Str("padding_mode", "zeros"), Corners: n.Bool("align_corners", false)}
	if o.Mode == "" {
		return nil, graph.Errorf(graph.ErrFormat, "mode %q is not one of version %d of the operator", mode, n.Since)
	}
	if !slices.Contains([]string{"zeros", "border", "reflection"}, o.Padding) {
		return nil, graph.Errorf(graph.ErrFormat, "padding_mode is %q; it takes zeros, border or reflection", o.Padding)
	}
	return o, nil
}

// Infer joins batch and channels of the image with the axes of the grid.
func (o *GridSample) Infer(c *op.Infer) error {
	x, grid := c.In[0], c.In[1]
	if !op.Floats.Has(grid.DType) {
		return graph.Errorf(graph.ErrUnsupported, "the grid has elements of type %v", grid.DType)
	}
	c.Set(0, x.DType, nil)
	rank, ok := grid.Rank()
	if xr, known := x.Rank(); known {
		if ok && rank != xr {
			return graph.Errorf(graph.ErrShape, "input is %v and the grid %v; they take equally many axes", x.Type, grid.Type)
		}
		rank, ok = xr, true
	}
	if !ok {
		return nil
	}
	if rank < 3 || rank > 2+maxGridAxes {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [batch,channels,...] and at most %d axes more", x.Type,
			maxGridAxes)
	}
	out := graph.UnknownDims(rank)
	if grid.Dims != nil {
		if n := grid.Dims[rank-1]; n.IsKnown() && !n.Is(rank-2) {
			return graph.Errorf(graph.ErrShape, "the grid is %v; places take %d numbers", grid.Type, rank-2)
		}
		out[0] = grid.Dims[0]
		copy(out[2:], grid.Dims[1:])
	}
	if x.Dims != nil {
		if out[0], ok = kit.JoinDim(x.Dims[0], out[0]); !ok {
			return graph.Errorf(graph.ErrShape, "input is %v and the grid %v", x.Type, grid.Type)
		}
		out[1] = x.Dims[1]
	}
	c.Set(0, x.DType, out)
	return nil
}

// Run samples the image.
func (o *GridSample) Run(c *op.Run) error {
	x, out := c.In[0], c.Out[0]
	if out.Len() == 0 {
		return nil
	}
	if x.Len() == 0 {
		return graph.Errorf(graph.ErrShape, "an image without pixels, %v, has nothing to read", x)
	}
	if !kit.ComputedInF32.Has(x.DType()) {
		pixels, _ := kit.Numbers(x)
		to := make([]float64, out.Len())
		sampleGrid(c.Pace(), o, pixels, x.Shape(), kit.Doubles(c.In[1]), out.Shape(), to)
		kit.SetNumbers(out, to)
		return nil
	}
	from, to, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	if c.In[1].DType() == tensor.F64 {
		sampleGrid(c.Pace(), o, from, x.Shape(), tensor.View[float64](c.In[1]), out.Shape(), to)
	} else {
		grid, err := c.Floats(c.In[1])
		if err != nil {
			return err
		}
		sampleGrid(c.Pace(), o, from, x.Shape(), grid, out.Shape(), to)
	}
	c.PutFloats(out, to)
	return nil
}

// gridTaps holds the pixels along one axis that a place reads, and their weights.
type gridTaps struct {
	n    int
	at   [4]int
	part [4]float64
}

// sampleGrid reads every channel of every image. It finds the taps of a place once for all
// channels. It computes in float32 if image and grid have no wider elements, as PyTorch and ONNX
// Runtime do.
func sampleGrid[T, G float32 | float64](
	pace *op.Pace, o *GridSample, x []T, shape tensor.Shape, grid []G, out tensor.Shape, to []T,
) {
	axes, space := shape[2:], shape[2:].Len()
	places, channels := out[2:].Len(), shape[1]
	r := len(axes)
	steps := axes.Strides()
	list := make([]gridTaps, r)
	var offsets []int
	var parts []T
	for b := range shape[0] {
		for p := range places {
			place := grid[(b*places+p)*r:][:r]
			for a, n := range axes {
				list[a] = tapsAt(o, place[r-1-a], n)
			}
			offsets, parts = combine(list, steps, offsets[:0], parts[:0])
			pace.Work(64 + 2*channels*len(offsets))
			for ch := range channels {
				pixels := x[(b*channels+ch)*space:][:space]
				var sum T
				for i, at := range offsets {
					sum += parts[i] * pixels[at]
				}
				to[(b*channels+ch)*places+p] = sum
			}
		}
	}
}

// combine appends the offsets and weights of all combinations of one tap per axis.
func combine[T float32 | float64](list []gridTaps, steps []int, offsets []int, parts []T) ([]int, []T) {
	offsets, parts = append(offsets, 0), append(parts, 1)
	for a := range list {
		t := &list[a]
		had := len(offsets)
		for i := range had {
			for k := 1; k < t.n; k++ {
				offsets = append(offsets, offsets[i]+t.at[k]*steps[a])
				parts = append(parts, parts[i]*T(t.part[k]))
			}
		}
		if t.n == 0 {
			return offsets[:0], parts[:0]
		}
		for i := range had {
			offsets[i] += t.at[0] * steps[a]
			parts[i] *= T(t.part[0])
		}
	}
	return offsets, parts
}

// tapsAt returns the taps of a place along an axis of n pixels.
func tapsAt[G float32 | float64](o *GridSample, place G, n int) gridTaps {
	lo, hi := G(-0.5), G(n)-0.5
	x := (G((place+1)*G(n)) - 1) / 2
	if o.Corners {
		lo, hi = 0, G(n-1)
		x = G((place+1)/2) * G(n-1)
	}
	if o.Mode == "nearest" {
		x = G(math.RoundToEven(float64(x)))
	}
	if x < lo || x > hi {
		switch o.Padding {
		case "border":
			// A cubic window reaches beyond the border as long as it contains a pixel.
			far := G(2 * kit.Btoi(o.Mode == "cubic"))
			x = min(max(x, -far), G(n-1)+far)
		case "reflection":
			x = reflect(x, lo, hi)
		}
	}
	// Places beyond the reach of every pixel, and NaN, become -8.
	if !(x >= -8 && x <= G(n)+8) {
		x = -8
	}
	var t gridTaps
	first := int(math.Floor(float64(x)))
	part := x - G(first)
	switch o.Mode {
	case "nearest":
		addTap(o, &t, int(x), n, lo, hi, 1)
	case "linear":
		addTap(o, &t, first, n, lo, hi, 1-part)
		addTap(o, &t, first+1, n, lo, hi, part)
	case "cubic":
		for k, w := range cubicParts(part) {
			addTap(o, &t, first-1+k, n, lo, hi, w)
		}
	}
	return t
}

// addTap adds pixel i, or its substitute beyond the border.
func addTap[G float32 | float64](o *GridSample, t *gridTaps, i, n int, lo, hi, part G) {
	if i < 0 || i >= n {
		switch o.Padding {
		case "zeros":
			return
		case "border":
			i = min(max(i, 0), n-1)
		case "reflection":
			i = min(max(int(reflect(G(i), lo, hi)), 0), n-1)
		}
	}
	t.at[t.n], t.part[t.n] = i, float64(part)
	t.n++
}

// reflect mirrors x at lo and hi until it is between them.
func reflect[G float32 | float64](x, lo, hi G) G {
	span := hi - lo
	if span <= 0 {
		return lo
	}
	x = G(math.Mod(math.Abs(float64(x-lo)), float64(2*span)))
	if x > span {
		x = 2*span - x
	}
	return lo + x
}

// cubicParts returns the weights of four pixels by R. Keys' cubic convolution with a = -3/4. The
// place is t after the second pixel.
func cubicParts[G float32 | float64](t G) [4]G {
	const a = -0.75
	far := func(x G) G { return G((G((a*x-5*a)*x)+8*a)*x) - 4*a }
	near := func(x G) G { return G((G((a+2)*x)-(a+3))*x)*x + 1 }
	return [4]G{far(t + 1), near(t), near(1 - t), far(2 - t)}
}

// AffineGrid applies one affine map per batch to evenly spaced places of an image or a volume.
type AffineGrid struct{ Corners bool }

func newAffineGrid(n *op.Node) (op.Op, error) {
	return &AffineGrid{n.Bool("align_corners", false)}, nil
}

// Infer sets [batch,...,axes] from the size [batch,channels,...].
func (o *AffineGrid) Infer(c *op.Infer) error {
	theta := c.In[0]
	c.Set(0, theta.DType, nil)
	size, err := c.In[1].Extents()
	if err != nil {
		return err
	}
	if rank, ok := theta.Rank(); ok && rank != 3 {
		return graph.Errorf(graph.ErrShape, "theta is %v; it takes [batch,axes,axes+1]", theta.Type)
	}
	if size == nil {
		return nil
	}
	if len(size) != 4 && len(size) != 5 {
		return graph.Errorf(graph.ErrShape, "size is %v; it takes 4 or 5 extents", size)
	}
	axes := len(size) - 2
	if theta.Dims != nil {
		_, batch := kit.JoinDim(theta.Dims[0], size[0])
		_, rows := kit.JoinDim(theta.Dims[1], graph.Known(axes))
		_, cols := kit.JoinDim(theta.Dims[2], graph.Known(axes+1))
		if !batch || !rows || !cols {
			return graph.Errorf(graph.ErrShape, "theta is %v for a size of %v", theta.Type, size)
		}
	}
	c.Set(0, theta.DType, kit.JoinDims(size[:1], size[2:], graph.Dims{graph.Known(axes)}))
	return nil
}

// Run computes the grid.
func (o *AffineGrid) Run(c *op.Run) error {
	size, err := op.Ints(c.In[1])
	if err != nil {
		return err
	}
	axes := len(size) - 2
	theta, ts := kit.Doubles(c.In[0]), c.In[0].Shape()
	if axes != 2 && axes != 3 || !ts.Equal(tensor.Shape{size[0], axes, axes + 1}) {
		return graph.Errorf(graph.ErrShape, "theta is %v for a size of %v", ts, size)
	}
	space := tensor.Shape(size[2:])
	out, err := c.Output(0, c.In[0].DType(), slices.Concat(size[:1], space, []int{axes}))
	if err != nil || out.Len() == 0 {
		return err
	}
	if out.DType() == tensor.F32 {
		affine(o, tensor.View[float32](out), theta, size[0], space)
		return nil
	}
	list := make([]float64, out.Len())
	affine(o, list, theta, size[0], space)
	kit.PutDoubles(out, list)
	return nil
}

// affine fills a grid with the maps theta, row by row.
func affine[T float32 | float64](o *AffineGrid, out []T, theta []float64, batch int, space tensor.Shape) {
	axes := len(space)
	rows, last := space[:axes-1], space[axes-1]
	steps := rows.Strides()
	places := make([]float64, last)
	for i := range places {
		places[i] = o.place(i, last)
	}
	across := make([]float64, last*axes) // the summands of a row from the last axis
	begin := make([]float64, axes)       // the summands from the other axes
	for b := range batch {
		lines := theta[b*axes*(axes+1):]
		for i := range axes {
			slope, at := lines[i*(axes+1)], i
			for _, x := range places {
				across[at] = slope * x
				at += axes
			}
		}
		for p := range rows.Len() {
			for i := range begin {
				line := lines[i*(axes+1):][:axes+1]
				begin[i] = line[axes]
				for a, n := range rows {
					begin[i] += line[axes-1-a] * o.place(p/steps[a]%n, n)
				}
			}
			addPoints(out[:len(across)], across, begin)
			out = out[len(across):]
		}
	}
}

// addPoints sets out to across plus begin. Each point has 2 or 3 numbers.
func addPoints[T float32 | float64](out []T, across, begin []float64) {
	out = out[:len(across)]
	if len(begin) == 2 {
		x, y := begin[0], begin[1]
		for i := 0; i+1 < len(across) && i+1 < len(out); i += 2 {
			out[i], out[i+1] = T(across[i]+x), T(across[i+1]+y)
		}
		return
	}
	x, y, z := begin[0], begin[1], begin[2]
	for i := 0; i+2 < len(across) && i+2 < len(out); i += 3 {
		out[i], out[i+1], out[i+2] = T(across[i]+x), T(across[i+1]+y), T(across[i+2]+z)
	}
}

// place returns the position of element i of n between -1 and 1.
func (o *AffineGrid) place(i, n int) float64 {
	if !o.Corners {
		return (2*float64(i)+1)/float64(n) - 1
	}
	if n == 1 {
		return -1
	}
	return 2*float64(i)/float64(n-1) - 1
}

var gridRows = []op.Row{
	{Name: "GridSample", Since: []int{16, 20, 22}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: slices.Concat(op.Numeric, op.Boolean), Heap: 8, Items: kit.ItemsFirst(0, 1), New: newGridSample},
	{Domain: kit.Microsoft, Name: "GridSample", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, Items: kit.ItemsFirst(0, 1), New: kit.AtVersion(16, newGridSample)},
	{Name: "AffineGrid", Since: []int{20}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 16, New: newAffineGrid},
}
