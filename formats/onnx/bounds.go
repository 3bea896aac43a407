package onnx

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists how much the reader takes of a file by default.
func Bounds() []container.Bound {
	l := Limits{}.withDefaults()
	return []container.Bound{
		{What: "nested graphs, types and values", Most: l.Depth},
		{What: "nodes, attributes, tensors and values", Most: l.Objects},
		{What: "strings", Most: l.Strings},
		{What: "axes of a tensor", Most: l.Rank},
		{What: "files of external data", Most: l.Files},
		{What: "operator sets", Most: maxDomains},
	}
}
