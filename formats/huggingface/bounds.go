package huggingface

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists how much the reader takes of a file.
var Bounds = []container.Bound{
	{What: "number of a size in config.json", Most: maxSize},
	{What: "head_dim", Most: maxHeadDim},
}
