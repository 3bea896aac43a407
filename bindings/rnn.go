//go:build cgo

package bindings

/*
#include "rnn/rnn.h"
*/
import "C"

// c is what LSTM with weights of codes takes.
func (n *RNN) c() C.nacre_rnn {
	c := C.nacre_rnn{
		gates: C.size_t(n.Gates), steps: C.size_t(n.Steps), batch: C.size_t(n.Batch), input: C.size_t(n.Input),
		hidden: C.size_t(n.Hidden), directions: C.size_t(n.Directions),
		reverse: C.bool(n.Reverse), batch_first: C.bool(n.BatchFirst), linear: C.bool(n.Linear),
	}
	for d := range n.Cells {
		cell := &n.Cells[d]
		c.cells[d].clip, c.cells[d].input_forget = C.float(cell.Clip), C.bool(cell.InputForget)
		for i, f := range cell.Functions {
			c.cells[d].f[i] = C.nacre_rnn_function{kind: C.nacre_rnn_activation(f.Kind), a: C.float(f.A), b: C.float(f.B)}
		}
	}
	return c
}
