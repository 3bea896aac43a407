package safetensors

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists the limits of the reader.
var Bounds = []container.Bound{
	{What: "bytes of the header", Most: maxHeader},
	{What: "bytes of an index of shards", Most: maxHeader},
	{What: "bytes of config.json and generation_config.json", Most: maxConfig},
	{What: "nested values of the header", Most: maxDepth},
}
