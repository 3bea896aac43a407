package hnw

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists the limits of the reader.
var Bounds = []container.Bound{
	{What: "nested values of the manifest", Most: maxDepth},
}
