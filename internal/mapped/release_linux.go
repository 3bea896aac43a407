package mapped

import "syscall"

// release forgets whole pages. An error leaves them where they are.
func release(pages []byte) { _ = syscall.Madvise(pages, syscall.MADV_DONTNEED) }
