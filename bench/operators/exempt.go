package operators

// Reasons for operators to have no row.
const (
	absent   = "ONNX Runtime has no kernel of it, or of no version that it takes"
	training = "it trains, which ONNX Runtime's packages for inference do not"
	decoding = "it runs the decoder that it holds: both take the same time"
	mapped   = "it takes a map, which no input of a folder can be"
)

// Exempt says why an operator has no row.
var Exempt = map[string]string{
	"Constant":            "it is no step of a plan",
	"CausalConvWithState": absent,
	"ImageDecoder":        absent,
	"LinearAttention":     absent,
	"SwiGLU":              absent,

	"ai.onnx.preview.FlexAttention":              absent,
	"ai.onnx.preview.training.Adagrad":           training,
	"ai.onnx.preview.training.Adam":              training,
	"ai.onnx.preview.training.Momentum":          training,
	"ai.onnx.ml.CastMap":                         mapped,
	"ai.onnx.ml.DictVectorizer":                  mapped,
	"com.microsoft.BeamSearch":                   decoding,
	"com.microsoft.GreedySearch":                 decoding,
	"com.microsoft.Sampling":                     decoding,
	"com.microsoft.WhisperBeamSearch":            decoding,
	"com.microsoft.SimplifiedLayerNormalization": absent,
	"com.microsoft.SparseAttention":              "ONNX Runtime wants its results in the memory of its inputs",
	"com.microsoft.SparseToDenseMatMul":          "it takes a sparse tensor, which no input of a folder can be",
}

// ExemptDomains are the domains of operators that other runtimes lack.
var ExemptDomains = []string{"nacre", "openinfer"}
