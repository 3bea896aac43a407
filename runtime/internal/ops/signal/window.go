package signal

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// CosineWindow is a sum of cosines: terms[k]·cos(2πkn/period) over k.
type CosineWindow struct {
	terms    []float64
	periodic bool
	to       tensor.DType
}

func newCosineWindow(terms ...float64) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		to, err := n.ElementType("output_datatype", tensor.F32, op.Numeric)
		return &CosineWindow{terms, n.Bool("periodic", true), to}, err
	}
}

// Infer sets [size].
func (o *CosineWindow) Infer(c *op.Infer) error {
	size, err := c.ScalarDim(0, "size")
	if err != nil {
		return err
	}
	if n, ok := size.Value(); ok && n < 0 {
		return graph.Errorf(graph.ErrShape, "size is %d", n)
	}
	c.Set(0, o.to, graph.Dims{size})
	return nil
}

// Run computes the window.
func (o *CosineWindow) Run(c *op.Run) error {
	size, err := op.ScalarInt(c.In[0], "size")
	if err != nil {
		return err
	}
	out, err := c.Output(0, o.to, tensor.Shape{size})
	if err != nil {
		return err
	}
	terms, period := o.Terms(size)
	list, pace := make([]float64, size), c.Pace()
	for k, t := range terms {
		addCosines(pace, list, t, 2*math.Pi*float64(k)/float64(period))
	}
	kit.SetNumbers(out, list)
	return nil
}

// addCosines adds t·cos(i·step) to element i. Within a block it rotates a unit vector by step, with
// an error of a few units in the last place of a float64 at the end of the block.
func addCosines(pace *op.Pace, list []float64, t, step float64) {
	const block = 16
	sin, cos := math.Sincos(step)
	for at := 0; at < len(list); at += block {
		pace.Work(64)
		y, x := math.Sincos(float64(at) * step)
		for i := range list[at:min(at+block, len(list))] {
			list[at+i] += t * x
			x, y = x*cos-y*sin, y*cos+x*sin
		}
	}
}

// Terms returns the factors of the cosines, at most three, and the period of a window of the given
// size.
func (o *CosineWindow) Terms(size int) (terms []float64, period int) {
	terms, period = slices.Clone(o.terms), size
	if !o.periodic {
		period = max(size-1, 1)
	}
	if size == 1 {
		for k, t := range terms {
			terms[k] = math.Abs(t) // the maximum of the window
		}
	}
	return terms, period
}

// MelWeights computes the matrix [bins,bands] of triangles evenly spaced on the mel scale. bins are
// the bins of a spectrum.
type MelWeights struct{ to tensor.DType }

func newMelWeights(n *op.Node) (op.Op, error) {
	to, err := n.ElementType("output_datatype", tensor.F32, op.Numeric)
	return &MelWeights{to}, err
}

// Infer sets [bins,bands].
func (o *MelWeights) Infer(c *op.Infer) error {
	bands, err := c.ScalarDim(0, "num_mel_bins")
	if err != nil {
		return err
	}
	length, err := c.ScalarDim(1, "dft_length")
	if err != nil {
		return err
	}
	for _, d := range []graph.Dim{bands, length} {
		if n, ok := d.Value(); ok && (n < 0 || n > kit.MaxElements) {
			return graph.Errorf(graph.ErrShape, "num_mel_bins is %v and dft_length %v", bands, length)
		}
	}
	c.Set(0, o.to, graph.Dims{length.Div(graph.Known(2)).Add(graph.Known(1)), bands})
	return nil
}

// Run computes the matrix.
func (o *MelWeights) Run(c *op.Run) error {
	var whole [3]int
	for i, name := range []string{"num_mel_bins", "dft_length", "sample_rate"} {
		var err error
		if whole[i], err = op.ScalarInt(c.In[i], name); err != nil {
			return err
		}
	}
	var edges [2]float64
	for i, name := range []string{"lower_edge_hertz", "upper_edge_hertz"} {
		var err error
		if edges[i], err = kit.ScalarNumber(c.In[3+i], name); err != nil {
			return err
		}
	}
	bands, length, rate := whole[0], whole[1], whole[2]
	if bands < 0 || length < 0 || max(bands, length) > kit.MaxElements || rate < 1 {
		return graph.Errorf(graph.ErrShape, "%d bands of a spectrum of %d points at a rate of %d", bands, length, rate)
	}
	bins := length/2 + 1
	out, err := c.Output(0, o.to, tensor.Shape{bins, bands})
	if err != nil {
		return err
	}
	corners, err := MelCorners(bands, length, rate, edges)
	if err != nil {
		return err
	}
	if o.to == tensor.F32 {
		triangles(c.Pace(), tensor.View[float32](out), bands, corners)
		return nil
	}
	list := make([]float64, bins*bands)
	triangles(c.Pace(), list, bands, corners)
	kit.SetNumbers(out, list)
	return nil
}

// triangles stores the matrix of triangles with the given corners.
func triangles[T float32 | float64](pace *op.Pace, list []T, bands int, corners []int) {
	clear(list)
	for band := range bands {
		pace.Work(16 * max(corners[band+2]-corners[band], 1))
		triangle(list[band:], bands, corners[band], corners[band+1], corners[band+2])
	}
}

// MelCorners returns the bins at which triangles begin, peak and end, for a spectrum of length
// points. rate must be positive.
func MelCorners(bands, length, rate int, edges [2]float64) ([]int, error) {
	bins := length/2 + 1
	mel := func(hertz float64) float64 { return 2595 * math.Log10(1+hertz/700) }
	low := mel(edges[0])
	step := (mel(edges[1]) - low) / float64(bands+2)
	corners := make([]int, bands+2)
	for i := range corners {
		hertz := 700 * (math.Pow(10, (low+float64(i)*step)/2595) - 1)
		bin := math.Floor(float64(length+1) * hertz / float64(rate))
		if !(bin >= 0 && bin < float64(bins)) {
			return nil, graph.Errorf(graph.ErrShape, "a band at %g hertz is outside the spectrum of %d bins at a rate of %d",
				hertz, bins, rate)
		}
		corners[i] = int(bin)
	}
	return corners, nil
}

// triangle stores a column of the matrix: it rises from bin a to 1 at bin b and falls to bin c.
func triangle[T float32 | float64](column []T, step, a, b, c int) {
	if a == b {
		column[b*step] = 1
	}
	for j := a; j <= b && a < b; j++ {
		column[j*step] = T(float64(j-a) / float64(b-a))
	}
	for j := b; j < c; j++ {
		column[j*step] = T(float64(c-j) / float64(c-b))
	}
}

var (
	sizeTypes  = op.Types{tensor.I32, tensor.I64}
	windowRows = []op.Row{
		{Name: "HannWindow", Since: []int{17}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: sizeTypes, Generates: true, Heap: 8, New: newCosineWindow(0.5, -0.5)},
		{Name: "HammingWindow", Since: []int{17}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: sizeTypes, Generates: true, Heap: 8, New: newCosineWindow(25.0/46, -21.0/46)},
		{Name: "BlackmanWindow", Since: []int{17}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: sizeTypes, Generates: true, Heap: 8, New: newCosineWindow(0.42, -0.5, 0.08)},
		{Name: "MelWeightMatrix", Since: []int{17}, In: [2]int{5, 5}, Out: [2]int{1, 1}, Types: sizeTypes, Generates: true, Heap: 8, New: newMelWeights},
	}
)
