package bindings

import "unsafe"

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

// RNN is a recurrent network of one layer; the operands are in RNNF32 or RNNF64.
type RNN struct {
	Gates                                   int // 1 for RNN, 3 for GRU, 4 for LSTM
	Steps, Batch, Input, Hidden, Directions int
	Reverse                                 bool // the first direction runs from the end
	BatchFirst                              bool // of X, Y and the states
	Linear                                  bool // GRU's linear_before_reset
	Cells                                   [2]RNNCell
	Lengths                                 []int32 // steps of each sequence; nil for Steps
}

// RNNF32 is a network of float32. W and R are packed by PackB of the gemm kernel:
// W as Directions operands [Input,Gates*Hidden], R as Directions*Gates operands
// [Hidden,Hidden], each after the other. Bias [Directions,2*Gates*Hidden],
// Peepholes [Directions,3*Hidden], H0 and C0 may be nil for zeros; Y, YH and YC
// where they are not wanted.
type RNNF32 struct {
	RNN
	Gemm, Cell                    Kernel // of ops f32_gemm, f32_rnn_cell
	X                             unsafe.Pointer
	XType                         FloatType
	W, R, Bias, Peepholes, H0, C0 []float32
	Y, YH, YC                     []float32
}

// RNNF64 is a network of float64, with W [Directions,Gates*Hidden,Input] and R
// [Directions,Gates*Hidden,Hidden] as they are and all else as in RNNF32.
type RNNF64 struct {
	RNN
	X, W, R, Bias, Peepholes, H0, C0 []float64
	Y, YH, YC                        []float64
}
