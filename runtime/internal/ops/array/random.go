package array

import (
	"context"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// RandomSource is the source of random numbers of an operator. A node with a seed draws the same
// numbers in every run, and so do other nodes with that seed. A node without a seed draws from a
// new stream in every run, or from the seed of the run's context (op.WithSeed).
type RandomSource struct {
	Seed   uint64 // the key of Philox
	Seeded bool
}

func newRandomSource(n *op.Node) RandomSource {
	return RandomSource{uint64(math.Float32bits(n.Float("seed", 0))), n.Has("seed")}
}

// Key returns the key of Philox for one run. A node with a seed needs no context.
func (c RandomSource) Key(ctx context.Context) uint64 {
	if c.Seeded {
		return c.Seed
	}
	return op.Random(ctx)
}

// stream returns the generator for one run.
func (c RandomSource) stream(r *op.Run) philox { return newPhilox(c.Key(r.Ctx)) }

// RandomFill makes a tensor of independent numbers, uniform from low to high or normal with a mean
// and a deviation.
type RandomFill struct {
	RandomSource
	shape  tensor.Shape // of the node; nil for the shape of input 0
	to     tensor.DType // Invalid for the type of input 0
	Normal bool
	A, B   float64 // low and high, or mean and deviation
}

func newRandomFill(normal, like bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o := &RandomFill{RandomSource: newRandomSource(n), Normal: normal}
		if normal {
			o.A, o.B = float64(n.Float("mean", 0)), float64(n.Float("scale", 1))
		} else {
			o.A, o.B = float64(n.Float("low", 0)), float64(n.Float("high", 1))
		}
		def := tensor.F32
		if like {
			def = tensor.Invalid
		} else if o.shape = n.Ints("shape"); o.shape == nil {
			return nil, graph.Errorf(graph.ErrFormat, "attribute shape is missing")
		} else if err := o.shape.Check(); err != nil {
			return nil, graph.Errorf(graph.ErrFormat, "attribute shape: %w", err)
		}
		var err error
		o.to, err = n.ElementType("dtype", def, op.Floats)
		return o, err
	}
}

// Infer takes shape and type from the node, or from the input.
func (o *RandomFill) Infer(c *op.Infer) error {
	if o.shape != nil {
		c.Set(0, o.to, graph.DimsOf(o.shape))
		return nil
	}
	d, err := likeType(o.to, c.In[0], op.Floats)
	c.Set(0, d, c.In[0].Dims)
	return err
}

// likeType returns the type that the node asks for, or else the type of its input. If the operator
// does not make that type, it returns an error.
func likeType(to tensor.DType, in *op.Value, made op.Types) (tensor.DType, error) {
	if to != tensor.Invalid {
		return to, nil
	}
	if !made.Has(in.DType) {
		return tensor.Invalid, graph.Errorf(graph.ErrUnsupported,
			"without a dtype, elements would be %v; the operator makes %v", in.DType, made)
	}
	return in.DType, nil
}

// Run computes the output.
func (o *RandomFill) Run(c *op.Run) error {
	g := o.stream(c)
	return kit.Fill(c, c.Out[0], func(list []float64, at int) {
		for i := range list {
			if o.Normal {
				list[i] = o.A + o.B*g.normal(at+i)
			} else {
				list[i] = o.A + (o.B-o.A)*g.uniform(at+i)
			}
			if c.Out[0].DType() != tensor.F64 {
				list[i] = float64(float32(list[i])) // as kernels and shaders round before they round to 16 bits
			}
		}
	})
}

// Bernoulli is 1 with the probability in the input, else 0.
type Bernoulli struct {
	RandomSource
	to tensor.DType // Invalid for the type of the input
}

var bernoulliTypes = slices.Concat(op.Numeric, op.Boolean)

func newBernoulli(n *op.Node) (op.Op, error) {
	to, err := n.ElementType("dtype", tensor.Invalid, bernoulliTypes)
	return &Bernoulli{newRandomSource(n), to}, err
}

// Infer keeps the shape.
func (o *Bernoulli) Infer(c *op.Infer) error {
	d, err := likeType(o.to, c.In[0], bernoulliTypes)
	c.Set(0, d, c.In[0].Dims)
	return err
}

// Run computes the output.
func (o *Bernoulli) Run(c *op.Run) error {
	g := o.stream(c)
	return kit.Fill(c, c.Out[0], func(list []float64, at int) {
		kit.GetDoubles(list, c.In[0], at)
		for i, p := range list {
			list[i] = float64(kit.Btoi(g.uniform(at+i) < p))
		}
	})
}

// Multinomial draws outcomes for every row of log-probabilities. The probabilities need not add up
// to 1.
type Multinomial struct {
	RandomSource
	samples int
	to      tensor.DType
}

func newMultinomial(n *op.Node) (op.Op, error) {
	o := &Multinomial{RandomSource: newRandomSource(n), samples: n.Int("sample_size", 1)}
	if o.samples < 0 || o.samples > kit.MaxElements {
		return nil, graph.Errorf(graph.ErrFormat, "sample_size is %d", o.samples)
	}
	var err error
	o.to, err = n.ElementType("dtype", tensor.I32, op.Types{tensor.I32, tensor.I64})
	return o, err
}

// Infer sets [batch,samples].
func (o *Multinomial) Infer(c *op.Infer) error {
	batch := graph.Unknown()
	if rank, ok := c.In[0].Rank(); ok {
		if rank != 2 {
			return graph.Errorf(graph.ErrShape, "input is %v; it takes [batch,outcomes]", c.In[0].Type)
		}
		batch = c.In[0].Dims[0]
	}
	c.Set(0, o.to, graph.Dims{batch, graph.Known(o.samples)})
	return nil
}

// Run computes the output.
func (o *Multinomial) Run(c *op.Run) error {
	g := o.stream(c)
	x, n := kit.Doubles(c.In[0]), c.In[0].Shape()[1]
	list := make([]float64, c.Out[0].Len())
	if len(list) == 0 {
		return nil
	}
	sums, pace := make([]float64, n), c.Pace()
	var drawn [2]float64 // numbers 2i and 2i+1 of the stream
	for row := range c.In[0].Shape()[0] {
		total, top := 0.0, math.Inf(-1)
		for _, v := range x[row*n:][:n] {
			top = max(top, v)
		}
		for j, v := range x[row*n:][:n] {
			pace.Work(8)
			total += math.Exp(v - top)
			sums[j] = total
		}
		if !(total > 0) {
			return graph.Errorf(graph.ErrShape, "row %d has no outcome to draw", row)
		}
		for i := row * o.samples; i < (row+1)*o.samples; i++ {
			pace.Work(64)
			if i%2 == 0 || i == row*o.samples {
				drawn[0], drawn[1] = g.pair(i / 2)
			}
			list[i] = float64(firstAbove(sums[:n-1], drawn[i%2]*total))
		}
	}
	kit.SetNumbers(c.Out[0], list)
	return nil
}

// firstAbove returns the index of the first of the ascending sums that is above u, or their number.
// It adds the steps without branches, because nothing could predict them.
func firstAbove(sums []float64, u float64) int {
	first, n := 0, len(sums)
	for n > 0 {
		half := (n + 1) / 2
		first += half & -kit.Btoi(sums[first+half-1] <= u)
		n -= half
	}
	return first
}

var randomRows = []op.Row{
	{Name: "RandomUniform", Since: []int{1, 22}, In: [2]int{0, 0}, Out: [2]int{1, 1}, Impure: true, Random: true, New: newRandomFill(false, false)},
	{Name: "RandomUniformLike", Since: []int{1, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Impure: true, Random: true, New: newRandomFill(false, true)},
	{Name: "RandomNormal", Since: []int{1, 22}, In: [2]int{0, 0}, Out: [2]int{1, 1}, Impure: true, Random: true, New: newRandomFill(true, false)},
	{Name: "RandomNormalLike", Since: []int{1, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Impure: true, Random: true, New: newRandomFill(true, true)},
	{Name: "Bernoulli", Since: []int{15, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Impure: true, Random: true, New: newBernoulli},
	{Name: "Multinomial", Since: []int{7, 22}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Impure: true, Random: true, Heap: 16, New: newMultinomial},
}
