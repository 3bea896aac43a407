//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"errors"
	"os"
	"syscall"
)

// renameOpen reports whether a file may be renamed or removed while it is open.
const renameOpen = true

// hold marks a new file as being written by this process. It returns false if another process took
// the file for a stale one.
func hold(f *os.File) bool {
	if errors.Is(lock(f), syscall.EWOULDBLOCK) {
		return false
	}
	own, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(own, there)
}

// stale reports whether no process writes the file. It returns false on file systems without locks.
func stale(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return lock(f) == nil
}

func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
