package gptrs

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// thin is a model built tensor by tensor.
type thin struct{ *graph.Model }

func newThin(kind string) thin {
	return thin{&graph.Model{Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "config", Value: fmt.Sprintf(`{"kind":%q}`, kind)}}}}
}

func (m thin) add(name string, dims ...int) {
	m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: tensor.New(tensor.F32, dims...)})
}

func (m thin) conv(name string, dims ...int) {
	m.add(name+".weight", dims...)
	m.add(name+".bias", dims[0])
}

func thinResNet() thin {
	m := newThin("resnet34")
	m.conv("conv1", 2, 3, 7, 7)
	in := 2
	for i, blocks := range []int{3, 4, 6, 3} {
		out := i + 2
		for b := range blocks {
			p := fmt.Sprintf("layer%d.%d.", i+1, b)
			m.conv(p+"conv1", out, in, 3, 3)
			m.conv(p+"conv2", out, out, 3, 3)
			if i > 0 && b == 0 {
				m.conv(p+"downsample", out, in, 1, 1)
			}
			in = out
		}
	}
	m.conv("fc", 7, 5)
	return m
}

func thinMobileNet() thin {
	m := newThin("mobilenet_v2")
	m.conv("stem", 3, 3, 3, 3)
	in, wide := 3, 3
	for i, out := range []int{4, 5, 5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10} {
		p := fmt.Sprintf("blocks.%d.", i)
		if i > 0 {
			wide = 2*in + i
			m.conv(p+"expand", wide, in, 1, 1)
		}
		m.conv(p+"depthwise", wide, 1, 3, 3)
		m.conv(p+"project", out, wide, 1, 1)
		in = out
	}
	m.conv("head", 11, in, 1, 1)
	m.conv("classifier", 2, 11)
	return m
}

// TestVision checks that networks of any width are accepted, and that a missing tensor or one of
// another shape is an error.
func TestVision(t *testing.T) {
	for kind, count := range map[string]int{"resnet34": 74, "mobilenet_v2": 106} {
		build := map[string]func() thin{"resnet34": thinResNet, "mobilenet_v2": thinMobileNet}[kind]
		if m := build(); len(m.Graph.Initializers) != count || Check(m.Model) != nil {
			t.Fatalf("%s of %d tensors: %v", kind, len(m.Graph.Initializers), Check(m.Model))
		}
		for i := range count {
			m := build()
			x := m.Graph.Initializers[i]
			m.Graph.Initializers = slices.Delete(m.Graph.Initializers, i, i+1)
			if err := Check(m.Model); !errors.Is(err, MissingTensor) {
				t.Errorf("%s without %s: %v", kind, x.Name, err)
			}
			m.add(x.Name, append([]int{1}, x.Tensor.Shape()...)...)
			if err := Check(m.Model); !errors.Is(err, BadShape) || errors.Is(err, MissingTensor) {
				t.Errorf("%s with an axis more of %s: %v", kind, x.Name, err)
			}
			if x.Name == "fc.bias" || x.Name == "classifier.bias" {
				continue
			}
			m.Graph.Initializers = m.Graph.Initializers[:count-1]
			shape := x.Tensor.Shape().Clone()
			shape[0] += 100
			m.add(x.Name, shape...)
			if err := Check(m.Model); !errors.Is(err, BadShape) {
				t.Errorf("%s with more outputs of %s: %v", kind, x.Name, err)
			}
		}
	}
	m := thinResNet()
	fc := slices.IndexFunc(m.Graph.Initializers, func(x *graph.Initializer) bool { return x.Name == "fc.weight" })
	m.Graph.Initializers[fc].Tensor = tensor.New(tensor.F32, 5, 7)
	if err := Check(m.Model); err != nil {
		t.Errorf("with fc.weight the other way round: %v", err)
	}
}
