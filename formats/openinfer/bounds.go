package openinfer

import "github.com/nacre-ml/nacre/formats/internal/container"

// Bounds lists the limits that the reader enforces on every file.
var Bounds = []container.Bound{
	{What: "bytes", Most: maxBytes},
	{What: "nested values of JSON", Most: container.MaxJSON},
	{What: "nested loops", Most: maxNesting},
	{What: "nodes", Most: maxNodes},
	{What: "variables", Most: maxVars},
	{What: "indices of a variable", Most: maxIndices},
	{What: "steps of a loop that is unrolled", Most: maxUnrolled},
	{What: "nodes of a network", Most: maxExpanded},
	{What: "bytes of constants that are made", Most: maxSpelled},
}
