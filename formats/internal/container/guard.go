package container

import (
	"iter"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/mapped"
)

// Intact returns an error of kind graph.ErrFormat if a mapped file that contains one of the parts
// has become shorter. The error names the file. A shorter file may read as zeros without a fault.
func Intact(parts iter.Seq[[]byte]) error { return guard.Named(mapped.Check(parts)) }
