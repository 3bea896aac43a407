package lower

import (
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// number returns an extent that is a number.
func number(d graph.Dim) int {
	n, _ := d.Value()
	return n
}

// index returns the place of element i of a value of shape s in memory with the given steps.
func index(i int, s tensor.Shape, steps []int) (at int) {
	for a := len(s) - 1; a >= 0; a-- {
		at += i % s[a] * steps[a]
		i /= s[a]
	}
	return at
}

// scalar is a binder that sums float64.
type scalar struct {
	Binder
	facts  *device.Binding
	memory [][]float64 // by number of a scratch: the input, the output, and the others
}

func (s *scalar) Facts() *device.Binding    { return s.facts }
func (s *scalar) Input(int) device.Operand  { return device.Operand{Place: device.Temp, Index: 0} }
func (s *scalar) Output(int) device.Operand { return device.Operand{Place: device.Temp, Index: 1} }
func (s *scalar) Scratch(n int) device.Operand {
	s.memory = append(s.memory, make([]float64, n/4))
	return device.Operand{Place: device.Temp, Index: len(s.memory) - 1}
}

func (s *scalar) Reduce(r *Reduction) error {
	x, y := s.memory[r.X.Index], s.memory[r.Y.Index]
	n, inner := number(r.N), number(r.Inner)
	for i := range number(r.Outer) * inner {
		sum := 0.0
		for k := range n {
			v := x[(i/inner*n+k)*inner+i%inner]
			if r.First == arith.ReduceSumSquare {
				v *= v
			}
			sum += v
		}
		y[i] = sum / float64(number(r.Divisor))
	}
	return nil
}

// TestReduce reduces every set of axes.
func TestReduce(t *testing.T) {
	for _, shape := range []tensor.Shape{{}, {5}, {2, 3}, {2, 1, 3, 4}, {3, 2, 2, 1}, {1, 4, 1, 2, 3}} {
		for set := range 1 << len(shape) {
			reduced, kept, divisor := make([]bool, len(shape)), shape.Clone(), 1
			for a := range shape {
				if reduced[a] = set>>a&1 != 0; reduced[a] {
					kept[a], divisor = 1, divisor*shape[a]
				}
			}
			x, want, steps := make([]float64, shape.Len()), make([]float64, kept.Len()), kept.Strides()
			for a := range shape {
				if reduced[a] {
					steps[a] = 0
				}
			}
			for i := range x {
				x[i] = float64(i + 1)
				want[index(i, shape, steps)] += x[i] * x[i] / float64(divisor)
			}
			v := &op.Value{Type: graph.TensorOf(tensor.F32, graph.DimsOf(shape))}
			y := &op.Value{Type: graph.TensorOf(tensor.F32, graph.DimsOf(kept))}
			s := &scalar{facts: &device.Binding{In: []*op.Value{v}, Out: []*op.Value{y}},
				memory: [][]float64{x, make([]float64, len(want))}}
			r := Reduction{First: arith.ReduceSumSquare, Divisor: graph.Known(divisor)}
			if err := reduce(s, reduced, r); err != nil {
				t.Fatal(err)
			}
			for i, got := range s.memory[1] {
				if d := got - want[i]; d < -1e-9 || d > 1e-9 {
					t.Fatalf("%v reduced along %v: element %d is %v, not %v", shape, reduced, i, got, want[i])
				}
			}
		}
	}
}

// TestProductOf multiplies operands with axes in other orders and in memory with room.
func TestProductOf(t *testing.T) {
	plain, swap, batch := arith.AxisOrder{}, arith.AxisOrder{Matrix: true}, arith.AxisOrder{Batch: true}
	for _, c := range []struct {
		a, b, aMemory, bMemory tensor.Shape // of the memory: nil for the extents
		order                  [2]arith.AxisOrder
		batch                  int // axes of the batch
	}{
		{a: tensor.Shape{3, 4}, b: tensor.Shape{4, 5}},
		{a: tensor.Shape{4}, b: tensor.Shape{4, 5}},
		{a: tensor.Shape{2, 3, 4}, b: tensor.Shape{4}},
		{a: tensor.Shape{2, 6, 3, 4}, b: tensor.Shape{2, 6, 4, 5}, batch: 1},
		{a: tensor.Shape{2, 6, 3, 4}, b: tensor.Shape{4, 5}},
		{a: tensor.Shape{2, 1, 3, 4}, b: tensor.Shape{6, 4, 5}, batch: 2},
		{a: tensor.Shape{6, 3, 4}, b: tensor.Shape{2, 1, 4, 5}, batch: 1},
		{a: tensor.Shape{2, 4, 3}, b: tensor.Shape{5, 4}, order: [2]arith.AxisOrder{swap, swap}, batch: 1},
		{a: tensor.Shape{3, 2, 4}, b: tensor.Shape{2, 4, 5}, order: [2]arith.AxisOrder{batch, plain}, batch: 1},
		{a: tensor.Shape{2, 3, 4}, b: tensor.Shape{2, 5, 4}, bMemory: tensor.Shape{2, 9, 4},
			order: [2]arith.AxisOrder{plain, swap}, batch: 1},
		{a: tensor.Shape{2, 6, 3, 4}, b: tensor.Shape{4, 5}, aMemory: tensor.Shape{2, 6, 8, 4}, batch: 1},
	} {
		dims := [2]graph.Dims{graph.DimsOf(c.a), graph.DimsOf(c.b)}
		memory := dims
		for i, m := range []tensor.Shape{c.aMemory, c.bMemory} {
			if m != nil {
				memory[i] = graph.DimsOf(m)
			}
		}
		p := ProductOf(c.order, dims, memory)
		if got, want := p.places(), placesOf(c.order, dims, memory); !slices.Equal(got, want) {
			t.Errorf("%v by %v in order %v reads %v, not %v", c.a, c.b, c.order, got, want)
		}
		if len(p.Batch) != c.batch {
			t.Errorf("%v by %v in order %v has batch %v", c.a, c.b, c.order, p.Batch)
		}
	}
}

// places lists, for every product of elements in the order of results, where both are read.
func (p *Product) places() (list [][2]int) {
	batch, a, b := tensor.Shape{}, []int{}, []int{}
	for _, x := range p.Batch {
		batch, a, b = append(batch, number(x.N)), append(a, number(x.A)), append(b, number(x.B))
	}
	for z := range batch.Len() {
		for i := range number(p.M) {
			for j := range number(p.N) {
				for k := range number(p.K) {
					list = append(list, [2]int{index(z, batch, a) + i*number(p.ARow) + k*number(p.ACol),
						index(z, batch, b) + k*number(p.BRow) + j*number(p.BCol)})
				}
			}
		}
	}
	return list
}

// placesOf is places by the rule of MatMul.
func placesOf(order [2]arith.AxisOrder, dims, memory [2]graph.Dims) (list [][2]int) {
	var shapes [2]tensor.Shape
	var steps [2][]int
	for i := range dims {
		memory, _ := memory[i].Concrete()
		for a, n := range order[i].Apply(dims[i]) {
			shapes[i] = append(shapes[i], number(n))
			steps[i] = append(steps[i], number(order[i].Apply(graph.DimsOf(memory.Strides()))[a]))
		}
	}
	if len(shapes[0]) == 1 {
		shapes[0], steps[0] = append(tensor.Shape{1}, shapes[0]...), append([]int{0}, steps[0]...)
	}
	if len(shapes[1]) == 1 {
		shapes[1], steps[1] = append(shapes[1], 1), append(steps[1], 0)
	}
	batch := tensor.Shape{}
	for i := range shapes {
		own := shapes[i][:len(shapes[i])-2]
		for len(batch) < len(own) {
			batch = append(tensor.Shape{1}, batch...)
		}
		for a, n := range own {
			at := a + len(batch) - len(own)
			batch[at] = max(batch[at], n)
		}
	}
	at := func(i, z int) int {
		own := shapes[i][:len(shapes[i])-2]
		s := make([]int, len(batch))
		for a, n := range own {
			if n > 1 {
				s[a+len(batch)-len(own)] = steps[i][a]
			}
		}
		return index(z, batch, s)
	}
	la, lb := len(shapes[0])-2, len(shapes[1])-2
	for z := range batch.Len() {
		for i := range shapes[0][la] {
			for j := range shapes[1][lb+1] {
				for k := range shapes[0][la+1] {
					list = append(list, [2]int{at(0, z) + i*steps[0][la] + k*steps[0][la+1],
						at(1, z) + k*steps[1][lb] + j*steps[1][lb+1]})
				}
			}
		}
	}
	return list
}
