package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// epilogue is an elementwise function that stands behind another operator in
// one node.
type epilogue struct {
	kernel string // "" for none
	p, q   float64
	fn     bindings.Kernel
	path   path
	params *bindings.Params
}

func (a *epilogue) prepare(c *Prepare) (err error) {
	d := c.DType(0)
	if a.kernel == "" {
		return nil
	}
	if a.path, err = pathTo(c, d, wide(d)); err != nil {
		return err
	}
	a.params = paramsFor(wide(d), a.p, a.q)
	a.fn, err = kernelFor(c, wide(d), a.kernel)
	return err
}

// finish is the function as what follows sums in float32.
func (a *epilogue) finish() bindings.Finish {
	f := bindings.Finish{Low: float32(a.p), High: float32(a.q)}
	switch a.kernel {
	case "":
	case "relu":
		f.Clamp, f.Low, f.High = true, 0, float32(math.Inf(1))
	case "clip":
		f.Clamp = true
	default:
		f.Map, f.Params = a.fn, a.params
	}
	return f
}

// run changes the elements of t, unless they are narrow floats, on which finish
// serves.
func (a *epilogue) run(c *Run, t *tensor.Tensor) {
	if a.kernel != "" && !isNarrow(t.DType()) {
		bindings.EltwiseMap(c.Pool, a.fn, a.path.source(t), a.path.sink(t), t.Len(), a.params)
	}
}

// finisher is what follows an operator in one node: a value Z is added, input 3,
// then comes the function that attribute activation names.
type finisher struct {
	activation epilogue
	add        bindings.Kernel
	path       path
}

func newFinisher(n *Node) (finisher, error) {
	act, err := readEpilogue(n)
	return finisher{activation: epilogue{kernel: act.Func, p: act.P, q: act.Q}}, err
}

// checkAdded reports values to add that are not as many as those of the output.
func checkAdded(f bindings.Finish, y *tensor.Tensor) error {
	if f.Add != nil && len(f.Add) != y.Len() {
		return graph.Mark(graph.ErrShape, "Z has %d elements and the output is %v", len(f.Add), y)
	}
	return nil
}

// prepare chooses the kernels.
func (o *finisher) prepare(c *Prepare) (err error) {
	if err = o.activation.prepare(c); err != nil {
		return err
	}
	d := c.DType(0)
	if o.path, err = pathTo(c, d, wide(d)); err != nil {
		return err
	}
	o.add, err = kernelFor(c, wide(d), "add")
	return err
}

// run has sums computed and finished: with them, or for float64 after them.
func (o *finisher) run(c *Run, sums func(f bindings.Finish) error) error {
	f := o.activation.finish()
	var z *tensor.Tensor
	if c.Has(3) {
		z = c.In[3]
	}
	if isNarrow(c.In[0].DType()) {
		var err error
		if f.Add, err = c.floats(z); err != nil {
			return err
		}
		return sums(f)
	}
	if z != nil && c.Out[0] != nil && z.Pointer() == c.Out[0].Pointer() {
		// The sums would overwrite it.
		b, err := c.Mem.Scratch(len(z.Bytes()))
		if err != nil {
			return err
		}
		copy(b, z.Bytes())
		if z, err = tensor.FromBytes(z.DType(), z.Shape(), b); err != nil {
			return err
		}
	}
	if err := sums(f); err != nil {
		return err
	}
	y := c.Out[0]
	if n := y.Len(); z != nil && n > 0 {
		bindings.EltwiseBinary(c.Pool, o.add, o.path.source(y), o.path.source(z), o.path.sink(y), []int{n, n, n})
	}
	o.activation.run(c, y)
	return nil
}
