package safetensors

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists how much the reader takes of a file.
var Bounds = []container.Bound{
	{What: "bytes of the header", Most: maxHeader},
	{What: "nested values of the header", Most: maxDepth},
}
