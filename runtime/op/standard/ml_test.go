package standard_test

import "testing"

// TestML compares operators of classical machine learning with ONNX Runtime's
// answers, which oracles/ml/cases.py writes.
func TestML(t *testing.T) { compareStored(t, "ml") }
