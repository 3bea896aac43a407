package plan

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime/op"
)

// String prints the plan: a line per step with its operator, kernels, inputs and
// outputs, and where each output lies; then the memory of a run.
func (pl *Plan) String() string {
	var b strings.Builder
	for i, s := range pl.Steps {
		fmt.Fprintf(&b, "%4d  %-24s %s", i, s.OpName(), s.Label())
		if d, ok := s.Op.(op.Describer); ok {
			fmt.Fprintf(&b, "  [%s]", d.Describe())
		}
		b.WriteByte('\n')
		for k, id := range s.In {
			if id >= 0 {
				fmt.Fprintf(&b, "          in %d  %s\n", k, pl.value(id))
			}
		}
		for k, id := range s.Out {
			if id < 0 {
				continue
			}
			fmt.Fprintf(&b, "         out %d  %s", k, pl.value(id))
			if k == 0 && s.InPlace >= 0 {
				fmt.Fprintf(&b, ", over input %d", s.InPlace)
			}
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, "%d steps, arena %d bytes (%d without sharing), results %d bytes\n",
		len(pl.Steps), pl.ArenaBytes, pl.NaiveBytes, pl.ResultBytes)
	return b.String()
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
	}
	return text + "unused"
}
