package gptrs

import (
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
)

// Bounds lists the limits that the reader of checkpoints enforces on every file.
var Bounds = []container.Bound{
	{What: "bytes of the configuration", Most: maxConfig},
	{What: "head_dim", Most: decoder.MaxHeadDim},
}
