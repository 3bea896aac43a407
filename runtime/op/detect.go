package op

import "slices"

// detectRows are the operators that find, crop and sample regions.
var detectRows = slices.Concat(suppressRows, roiRows, gridRows, topKRows, uniqueRows, deformRows, foldRows, cropRows)
