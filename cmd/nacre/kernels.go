package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// kernelTiming has the timings of all ways to compute one step.
type kernelTiming struct {
	Node   string      `json:"node"`
	Op     string      `json:"op"`
	Inputs string      `json:"inputs"`
	Ways   []wayTiming `json:"ways"`
}

type wayTiming struct {
	How   string  `json:"how"`
	Taken bool    `json:"taken"`
	MS    float64 `json:"median_ms"`
	Error string  `json:"error,omitempty"`
}

// kernelTimes times all ways to compute the steps of a run of the model on inputs, and prints the
// timings.
func (f *benchFlags) kernelTimes(
	ctx context.Context, m *nacre.Model, o nacre.Options, inputs map[string]*nacre.Tensor, stdout io.Writer,
) error {
	network, err := formats.Network(m.Source(), o.Lowering)
	if err != nil {
		return err
	}
	below := runtime.Options{Threads: o.Threads, ISA: o.ISA, MemoryLimit: o.MemoryLimit, NoOptimize: o.NoOptimize,
		DirectConv: o.DirectConv, Accuracy: runtime.Accuracy(o.Accuracy)}
	if o.WeightBudget > 0 {
		below.Packs = runtime.NewMovingPacks(network, o.WeightBudget, o.Logger)
		defer below.Packs.Close()
	}
	if o.Device != nil {
		if below.Accelerator, err = o.Device.Accelerator(); err != nil {
			return err
		}
		defer below.Accelerator.Close()
	}
	s, err := runtime.New(network, below)
	if err != nil {
		return err
	}
	defer s.Close()
	p, err := s.Plan(ctx, engineInputs(network, s, inputs))
	if err != nil {
		return err
	}
	found, err := s.Compare(ctx, p, f.node, f.count)
	if err != nil {
		return err
	}
	if found == nil && f.node != "" {
		return fmt.Errorf("%s: the plan has no step %q on a device", network.File, f.node)
	}
	list := make([]kernelTiming, len(found))
	for i, c := range found {
		list[i] = kernelTiming{Node: c.Node, Op: c.Op, Inputs: c.Inputs}
		for _, w := range c.Ways {
			x := wayTiming{How: w.How, Taken: w.Taken, MS: milliseconds(w.Time)}
			if w.Err != nil {
				x.Error = w.Err.Error()
			}
			list[i].Ways = append(list[i].Ways, x)
		}
	}
	if f.json {
		return writeJSON(stdout, list)
	}
	for i := range list {
		list[i].text(stdout)
	}
	if rest := len(p.Steps) - len(list); f.node == "" && rest > 0 {
		printable.Fprintf(stdout, "%s on the host or without kernels: not timed\n", plural(rest, "step"))
	}
	return nil
}

// engineInputs returns the inputs of a run in the order of the engine. Inputs of a program that are
// left out have their defaults.
func engineInputs(network *graph.Model, s *runtime.Session, inputs map[string]*nacre.Tensor) []tensor.Value {
	defaults := formats.ProgramDefaults(network)
	list := make([]tensor.Value, len(s.Inputs()))
	for i, v := range s.Inputs() {
		if t := inputs[v.Name]; t != nil {
			list[i] = plainTensor(t)
		} else if d := defaults[v.Name]; d != nil {
			list[i] = d.Tensor()
		}
	}
	return list
}

func (k *kernelTiming) text(w io.Writer) {
	printable.Fprintf(w, "%s  %s  %s\n", k.Op, k.Node, k.Inputs)
	for _, x := range k.Ways {
		mark := " "
		if x.Taken {
			mark = "*"
		}
		result := fmt.Sprintf("%12.6f ms", x.MS)
		if x.Error != "" {
			result = "failed (" + strings.TrimSpace(x.Error) + ")"
		}
		printable.Fprintf(w, "  %s %s  %s\n", mark, result, x.How)
	}
}
