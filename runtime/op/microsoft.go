package op

// microsoft is the domain of operators that ONNX Runtime adds to the standard's.
const microsoft = "com.microsoft"
