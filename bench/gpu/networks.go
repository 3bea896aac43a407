package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/invent"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// network is a network in the form that is measured.
type network struct {
	name  string
	build func() *graph.Model
	batch int // 0 for the network's own
	half  bool
	goal  float64 // milliseconds on an H200; 0 for none
}

// allNetworks are the networks of the table, and those of quick measurements.
var allNetworks = map[bool][]network{
	false: {
		{"resnet50", topologies.ResNet50, 0, false, 1.1},
		{"resnet50", topologies.ResNet50, 16, false, 7},
		{"resnet50", topologies.ResNet50, 0, true, 1},
		{"resnet50", topologies.ResNet50, 16, true, 2.5},
		{"mobilenetv3", topologies.MobileNetV3, 0, false, 0.55},
		{"mobilenetv3", topologies.MobileNetV3, 0, true, 0.5},
		{"bert_base_128", func() *graph.Model { return topologies.BERT(12, 768, 12, 128) }, 0, false, 1.9},
		{"bert_base_128", func() *graph.Model { return topologies.BERT(12, 768, 12, 128) }, 0, true, 1.2},
	},
	true: {
		{"perceptron", func() *graph.Model { return topologies.Perceptron(64, 128, 10) }, 0, false, 0},
		{"bert of 1 layer", func() *graph.Model { return topologies.BERT(1, 64, 4, 16) }, 0, true, 0},
	},
}

// networks measures whole sessions: runs by the wall clock, the host's part of them, and opening.
func (b *bench) networks() (list []measurement) {
	for _, n := range allNetworks[b.quick] {
		list = append(list, measurement{n.what(), func() ([]row, error) { return b.network(n) }})
	}
	return list
}

func (n *network) what() string {
	what := n.name
	if n.batch > 0 {
		what += fmt.Sprintf(", batch %d", n.batch)
	}
	if n.half {
		what += ", float16"
	}
	return what
}

func (b *bench) network(n network) ([]row, error) {
	built, what := n.build(), n.what()
	if n.batch > 0 {
		for _, v := range slices.Concat(built.Graph.Inputs, built.Graph.Outputs) {
			v.Type.Dims[0] = graph.Known(n.batch)
		}
	}
	if n.half {
		halve(built.Graph)
	}
	folder, err := os.MkdirTemp("", "nacre-gpu")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "model.onnx")
	if err := formats.Save(path, built, formats.Options{}); err != nil {
		return nil, err
	}
	begin := time.Now()
	m, err := nacre.Open(path)
	if err != nil {
		return nil, err
	}
	s, err := m.NewSession(nacre.Options{Device: b.device})
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	defer func() { _ = errors.Join(s.Close(), m.Close()) }()
	inputs, err := randomInputs(s)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if _, err := s.Run(ctx, inputs); err != nil {
		return nil, err
	}
	opened := time.Since(begin)
	if err := b.device.Warm(b.warm); err != nil {
		return nil, err
	}
	var times []time.Duration
	var all time.Duration
	waited := b.device.Waited()
	for range b.runs {
		begin := time.Now()
		if _, err := s.Run(ctx, inputs); err != nil {
			return nil, err
		}
		times = append(times, time.Since(begin))
		all += times[len(times)-1]
	}
	host := (all - (b.device.Waited() - waited)) / time.Duration(b.runs)
	slices.Sort(times)
	ms := 1e3 * times[len(times)/2].Seconds()
	r := row{what: what, rate: 1e3 / ms, unit: "1/s"}
	if n.goal > 0 {
		r.ceiling, r.of, r.goal = 1e3/n.goal, fmt.Sprintf("%g ms", n.goal), 1
	}
	return []row{{what: what + ", a run", rate: ms, unit: "ms"}, r,
		{what: what + ", the host's part", rate: 1e3 * host.Seconds(), unit: "ms"},
		{what: what + ", opening and the first run", rate: opened.Seconds(), unit: "s"}}, nil
}

// sessionOf returns a session of a model on a device. The model is in memory alone, because files of
// ONNX have no blocks.
func sessionOf(built *graph.Model, d *vulkan.Device) (*nacre.Model, *nacre.Session, error) {
	m, err := nacre.NewModel(built)
	if err != nil {
		return nil, nil, err
	}
	s, err := m.NewSession(nacre.Options{Device: d})
	if err != nil {
		return nil, nil, errors.Join(err, m.Close())
	}
	return m, s, nil
}

// halve makes all float32 of a graph float16.
func halve(g *graph.Graph) {
	for _, w := range g.Initializers {
		if w.Tensor.DType() != tensor.F32 {
			continue
		}
		t := tensor.New(tensor.F16, w.Tensor.Shape()...)
		for i, v := range tensor.View[float32](w.Tensor) {
			tensor.View[packed.F16](t)[i] = packed.ToF16(v)
		}
		w.Tensor = t
	}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		if v.Type.DType == tensor.F32 {
			v.Type.DType = tensor.F16
		}
	}
}

// randomInputs returns random inputs of a session with known extents.
func randomInputs(s *nacre.Session) (map[string]*nacre.Tensor, error) {
	r, inputs := rand.New(rand.NewPCG(3, 4)), map[string]*nacre.Tensor{}
	for _, v := range s.Inputs() {
		t, err := invent.Random(context.Background(), r, v, &invent.Extents{})
		if err != nil {
			return nil, err
		}
		inputs[v.Name] = t
	}
	return inputs, nil
}
