package loom

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists the limits that the reader enforces on every file.
var Bounds = []container.Bound{
	{What: "nested values", Most: container.MaxJSON},
	{What: "layers within layers", Most: maxNesting},
	{What: "weights made from a seed", Most: mostInitialized},
	{What: "layers of a network beyond the layers of its file", Most: spareLayers},
}

// EntityBounds is Bounds with the limits of ENTITY files.
var EntityBounds = append([]container.Bound{{What: "bytes of the header", Most: maxHeader}}, Bounds...)
