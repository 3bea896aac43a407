package onnx

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists the default limits of the reader.
func Bounds() []container.Bound {
	l := limits{}.withDefaults()
	return []container.Bound{
		{What: "nested graphs, types and values", Most: l.depth},
		{What: "nodes, attributes, tensors and values", Most: l.objects},
		{What: "strings", Most: l.strings},
		{What: "axes of a tensor", Most: l.rank},
		{What: "files of external data", Most: l.files},
		{What: "operator sets", Most: maxDomains},
		{What: "bytes of genai_config.json", Most: genaiBytes},
		{What: "layers in genai_config.json", Most: genaiLayers},
	}
}
