package hnw

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists how much the reader takes of a file.
var Bounds = []container.Bound{
	{What: "nested values of the manifest", Most: maxDepth},
}
