package device

// Accuracy says whether products with quantised weights may round their activations to 8-bit
// integers.
type Accuracy uint8

const (
	AccuracyModel Accuracy = iota // products for which the model says so
	AccuracyExact                 // no product
	AccuracyFast                  // every product
)

// Rounds reports whether a product may round its activations. model tells whether the model says so.
func (a Accuracy) Rounds(model bool) bool { return a == AccuracyFast || model && a == AccuracyModel }
