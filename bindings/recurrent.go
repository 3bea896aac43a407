package bindings

// RNNActivation is a function of one number: nacre_rnn_activation of
// csrc/rnn/rnn.h, which has the formulas.
type RNNActivation int

// The functions that recurrent networks apply.
const (
	RNNRelu RNNActivation = iota
	RNNTanh
	RNNSigmoid
	RNNAffine
	RNNLeakyRelu
	RNNThresholdedRelu
	RNNScaledTanh
	RNNHardSigmoid
	RNNElu
	RNNSoftsign
	RNNSoftplus
)

// RNNFunction is a function with its parameters.
type RNNFunction struct {
	Kind RNNActivation
	A, B float32
}

// RNNCell is the functions f, g, h of one direction and what belongs to them.
type RNNCell struct {
	Functions   [3]RNNFunction // as many as the network has
	Clip        float32        // of the sums before f and g; +Inf for none
	InputForget bool           // LSTM's forget gate is 1 - input gate
}

// RNN is a recurrent network of one layer.
type RNN struct {
	Gates                                   int // 1 for RNN, 3 for GRU, 4 for LSTM
	Steps, Batch, Input, Hidden, Directions int
	Reverse                                 bool // the first direction runs from the end
	BatchFirst                              bool // of X, Y and the states
	Linear                                  bool // GRU's linear_before_reset
	Cells                                   [2]RNNCell
	Lengths                                 []int32 // steps of each sequence; nil for Steps
}
