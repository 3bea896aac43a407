package plan

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op"
)

// String prints the plan: a line per step with its operator, device, binder and
// kernels, its operands and where each lies; then the memory of a run.
func (pl *Plan) String() string {
	var b strings.Builder
	for i := range pl.Steps {
		pl.writeStep(&b, i)
	}
	fmt.Fprintf(&b, "%d steps in %d segments, arena %d bytes (%d without sharing), scratch %d, results %d\n",
		len(pl.Steps), len(pl.Segments), pl.ArenaBytes, pl.NaiveBytes, pl.ScratchBytes, pl.ResultBytes)
	if !pl.Done() {
		fmt.Fprintf(&b, "goes on with %d nodes when what they need is known:", len(pl.rest))
		for _, n := range pl.rest {
			fmt.Fprintf(&b, " %s", n.Label())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (pl *Plan) writeStep(b *strings.Builder, i int) {
	s := &pl.Steps[i]
	fmt.Fprintf(b, "%4d  %-24s %s  [%s]\n", i, s.OpName(), s.Label(), pl.How(i))
	for k, id := range s.In {
		if id >= 0 {
			fmt.Fprintf(b, "          in %d  %s\n", k, pl.value(id))
		}
	}
	for k, id := range s.Out {
		if id < 0 {
			continue
		}
		fmt.Fprintf(b, "         out %d  %s", k, pl.value(id))
		if k == 0 && s.Over >= 0 {
			fmt.Fprintf(b, ", over input %d", s.Over)
		}
		b.WriteByte('\n')
	}
	if n := s.Scratch(); n > 0 {
		fmt.Fprintf(b, "       scratch  %d bytes\n", n)
	}
}

// How says where and with what a step runs, such as "cpu gemm: f32_gemm/14x32_avx512".
func (pl *Plan) How(i int) string {
	s := &pl.Steps[i]
	if s.OnHost() {
		if d, ok := s.Op.(op.Describer); ok && d.Describe() != "" {
			return "host: " + d.Describe()
		}
		return "host"
	}
	parts := make([]string, len(s.Commands))
	for k := range s.Commands {
		parts[k] = kernelText(&s.Commands[k])
	}
	return pl.Program.device.Name() + " " + s.Binder + ": " + strings.Join(parts, ", ")
}

func kernelText(c *device.Command) string {
	text := c.Kernel.Op() + "/" + c.Kernel.Variant()
	for _, p := range c.Parts {
		text += " " + p.Op() + "/" + p.Variant()
	}
	return text
}

// value says what and where a value is.
func (pl *Plan) value(id int) string {
	s := &pl.Slots[id]
	text := fmt.Sprintf("%s %v ", pl.Program.Names[id], s.Type)
	switch s.Place {
	case Input:
		return text + "input"
	case Const:
		return text + "constant"
	case Arena:
		return text + fmt.Sprintf("arena %d+%d", s.Offset, s.Bytes())
	case Result:
		return text + "result"
	case Dynamic:
		return text + "made while running"
	case View:
		return text + "view of " + pl.Program.Names[s.ViewOf]
	case Earlier:
		return text + "of an earlier stage"
	}
	return text + "unused"
}
