package loom

import "github.com/nacre-ml/nacre/runtime/graph"

// recurrent computes an RNN or an LSTM, from [batch, time, in] to [batch, time, out]. It ignores
// the layer's activation.
func (w *lowerer) recurrent(l *Layer, path string, x flow) (flow, error) {
	if err := positive("input_height", l.InputHeight, "output_height", l.OutputHeight, "seq_length", l.SeqLength); err != nil {
		return x, err
	}
	p, err := w.parts(l, path)
	if err != nil {
		return x, err
	}
	n, err := product(l.SeqLength, l.InputHeight)
	if err != nil {
		return x, err
	}
	rows, err := w.rows(x, n)
	if err != nil {
		return x, err
	}
	in := w.transpose(w.reshape(rows.name, -1, int64(l.SeqLength), int64(l.InputHeight)), 1, 0, 2)
	size := graph.IntAttr("hidden_size", int64(l.OutputHeight))
	op, gates := "RNN", []string{""}
	if l.Type == LSTM {
		op, gates = "LSTM", []string{"i.", "o.", "f.", "g."}
	}
	y := w.b.Node("", op, []string{in, w.gates(p, "ih", gates), w.gates(p, "hh", gates), w.biases(p, gates, l.OutputHeight)}, 1, size)[0]
	y = w.transpose(w.op("Squeeze", y, w.b.Ints(1)), 1, 0, 2)
	return flow{y, []int{-1, l.SeqLength, l.OutputHeight}}, nil
}

// gates stacks the matrices of gates, with a leading axis for one direction.
func (w *lowerer) gates(p map[string]string, part string, gates []string) string {
	list := make([]string, len(gates))
	for i, g := range gates {
		list[i] = p[g+part]
	}
	all := list[0]
	if len(list) > 1 {
		all = w.concat(0, list...)
	}
	return w.op("Unsqueeze", all, w.b.Ints(0))
}

// biases returns the biases of gates, followed by zeros for the recurrent biases.
func (w *lowerer) biases(p map[string]string, gates []string, size int) string {
	list := make([]string, len(gates))
	for i, g := range gates {
		list[i] = p[g+"b"]
	}
	list = append(list, w.zeros(w.b.Ints(int64(len(gates)*size))))
	return w.op("Unsqueeze", w.concat(0, list...), w.b.Ints(0))
}
