package mapped

import "syscall"

// release releases whole pages. On an error they stay.
func release(pages []byte) { _ = syscall.Madvise(pages, syscall.MADV_DONTNEED) }
