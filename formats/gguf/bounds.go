package gguf

import "github.com/nacre-ml/nacre/formats/internal/container"

// The limits of the reader.
const (
	maxAxes  = 4
	maxDepth = 8
)

// Bounds lists the limits of the reader.
var Bounds = []container.Bound{
	{What: "axes of a tensor", Most: maxAxes},
	{What: "nested arrays of metadata", Most: maxDepth},
}
