package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/printable"
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

// kernelTimes times all ways to compute the steps of a run on inputs, and prints the timings.
func (f *benchFlags) kernelTimes(ctx context.Context, s *nacre.Session, inputs map[string]*nacre.Tensor, stdout io.Writer) error {
	p, err := s.PlanContext(ctx, inputs)
	if err != nil {
		return err
	}
	found, err := s.CompareKernels(ctx, p, f.node, f.count)
	if err != nil {
		return err
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
	if rest := len(p.Steps()) - len(list); f.node == "" && rest > 0 {
		printable.Fprintf(stdout, "%s on the host or without kernels: not timed\n", plural(rest, "step"))
	}
	return nil
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
