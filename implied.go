package nacre

import (
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// rowInputs are the inputs of decoders with the batch and the new rows as their first two axes.
var rowInputs = []string{"input_ids", "inputs_embeds"}

// impliedInputs are the inputs of decoders that follow from the rows of a run and of the states, by
// the names that exporters give them.
var impliedInputs = map[string]runtime.Rule{
	"attention_mask": {
		Shape:   func(s runtime.Step) tensor.Shape { return tensor.Shape{s.Batch, s.Before + s.Rows} },
		Element: func(runtime.Step, int) int { return 1 },
	},
	"position_ids": {
		Shape:   func(s runtime.Step) tensor.Shape { return tensor.Shape{s.Batch, s.Rows} },
		Element: func(s runtime.Step, i int) int { return s.Before + i%max(s.Rows, 1) },
	},
	"cache_position": {
		Shape:   func(s runtime.Step) tensor.Shape { return tensor.Shape{s.Rows} },
		Element: func(s runtime.Step, i int) int { return s.Before + i },
	},
	"use_cache_branch": {
		Shape:   func(runtime.Step) tensor.Shape { return tensor.Shape{1} },
		Element: func(s runtime.Step, _ int) int { return min(s.Before, 1) },
	},
	"seqlens_k": {
		Shape:   func(s runtime.Step) tensor.Shape { return tensor.Shape{s.Batch} },
		Element: func(s runtime.Step, _ int) int { return s.Before + s.Rows - 1 },
	},
	"total_sequence_length": {
		Shape:   func(runtime.Step) tensor.Shape { return nil },
		Element: func(s runtime.Step, _ int) int { return s.Before + s.Rows },
	},
}

// implied returns, by position, the inputs of rowInputs and impliedInputs that runs of a program
// take.
func (p *program) implied() (rows []int, list []runtime.Implied) {
	for _, name := range rowInputs {
		if x := p.named[name]; x != nil && x.role == given {
			rows = append(rows, x.at)
		}
	}
	for at, x := range p.takes {
		if rule, ok := impliedInputs[x.Name]; ok {
			list = append(list, runtime.Implied{Input: at, Rule: rule})
		}
	}
	return rows, list
}
