package huggingface

import (
	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
)

// Bounds lists the limits that the reader enforces on every file.
var Bounds = []container.Bound{
	{What: "number of a size in config.json", Most: maxSize},
	{What: "head_dim", Most: decoder.MaxHeadDim},
}
