package container

import (
	"iter"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/mapped"
)

// Intact returns an error of kind graph.ErrFormat that names the file, if a mapped file that
// one of the parts lies in has become shorter. Such a file may read as zeros without a
// fault.
func Intact(parts iter.Seq[[]byte]) error { return guard.Named(mapped.Check(parts)) }
