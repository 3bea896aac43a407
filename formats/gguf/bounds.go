package gguf

import (
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
)

// The limits of the reader.
const (
	maxAxes  = 4
	maxDepth = 8
)

// Bounds lists the limits of the reader.
var Bounds = []container.Bound{
	{What: "axes of a tensor", Most: maxAxes},
	{What: "nested arrays of metadata", Most: maxDepth},
	{What: "number of a size in metadata", Most: maxSize},
	{What: "columns of a head", Most: decoder.MaxHeadDim},
}
