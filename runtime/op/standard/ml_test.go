package standard_test

import "testing"

// TestML compares operators of classical machine learning with ONNX Runtime's answers from
// oracles/ml/cases.py.
func TestML(t *testing.T) { compareStored(t, "ml") }
