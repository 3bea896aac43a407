package main

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// row is a model that is timed.
type row struct {
	group, name string
	build       func() *graph.Model
	request     string     // request to Nacre: run, bound or stream
	peer        string     // request to ONNX Runtime
	sizes       []string   // SYMBOL=SIZE of open extents
	peerSizes   []string   // sizes of extents that only ONNX Runtime's outputs have
	goals       [2]float64 // ratios to reach on one thread and on more; 0 for none
	scale       float64    // the least time on one thread over the time on more; 0 for none
	product     *product   // of a row that libraries of products take too
}

// Title returns the name with its group.
func (r row) Title() string { return r.group + "/" + r.name }

// goals are the ratios to reach, of the best and the median runs, on one thread and two.
var goals = map[string][2]float64{
	"resnet50": {1.2, 1.2}, "mobilenetv2": {1.3, 1.25}, "mobilenetv3": {1.3, 1.25}, "efficientnet_b0": {1.4, 1.35},
	"convnext": {1.1, 1.1}, "yolo_320": {1.6, 1.5}, "unet_128": {1.9, 1.8}, "vgg": {2.4, 2.2}, "vocoder": {1.3, 1.3},
	"resnet18_int8": {3, 2.5}, "bert_base_128": {1.1, 1.1}, "attention_12x64_512": {1.25, 1.25},
}

// scales are the ratios to reach of times on one thread over times on two.
var scales = map[string]float64{"resnet50": 1.9, "bert_base_128": 1.9}

// goalOf are the goals of groups.
var goalOf = map[string][2]float64{report.Recurrent: {1.15, 1.1}, report.Operators: {1, 1}, report.Products: {0.97, 0}}

// rows returns all rows. Shapes is the folder of extents of products.
func rows(shapes string) ([]row, error) {
	var list []row
	for _, top := range topologies.All {
		r := row{group: report.Networks, name: top.Name, build: top.Build, request: "run", peer: "run",
			goals: goals[top.Name], scale: scales[top.Name]}
		switch top.Kind {
		case topologies.Layer:
			r.group, r.goals = report.Recurrent, goalOf[report.Recurrent]
		case topologies.Short:
			r.group, r.request, r.peer = report.Short, "bound", "bound"
		case topologies.Operator:
			r.group, r.goals = report.Operators, goalOf[report.Operators]
			bound := r
			bound.name, bound.request, bound.peer = r.name+"_bound", "bound", "bound"
			list = append(list, bound)
		}
		list = append(list, r)
	}
	list = append(list, language()...)
	more, err := productRows(shapes)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	order := []string{report.Networks, report.Recurrent, report.Short, report.Operators, report.Products}
	slices.SortStableFunc(list, func(a, b row) int { return slices.Index(order, a.group) - slices.Index(order, b.group) })
	return list, nil
}

// language returns the rows of decoders: a prompt at once, and a token after others from a stream.
func language() []row {
	const prompt, past = 128, 512
	llama := func() *graph.Model {
		return topologies.Llama(topologies.LlamaSize{Layers: 4, Width: 2048, Heads: 32, KVHeads: 8, Hidden: 5632, Words: 8192, FourBits: true})
	}
	list := []row{
		{
			name: "gpt2_prefill_128", build: func() *graph.Model { return topologies.GPT2(prompt) },
			request: "run", peer: "run",
		},
		{
			name:    "gpt2_token_after_512",
			build:   func() *graph.Model { return topologies.Decoder(12, 768, 12, topologies.GPT2Words) },
			request: "stream", peer: "bound",
			sizes: []string{fmt.Sprint("past=", past)}, peerSizes: []string{fmt.Sprint("total=", past+1)},
		},
		{
			name: "llama_q4_prompt_128", build: llama, request: "stream", peer: "bound", goals: [2]float64{1.5, 1.3},
			sizes: []string{"batch=1", fmt.Sprint("sequence=", prompt), "past_sequence=0"},
		},
		{
			name: "llama_q4_token_after_512", build: llama, request: "stream", peer: "bound", goals: [2]float64{1.15, 1.1},
			sizes: []string{"batch=1", "sequence=1", fmt.Sprint("past_sequence=", past)},
		},
	}
	for i := range list {
		list[i].group = report.Networks
	}
	return list
}
