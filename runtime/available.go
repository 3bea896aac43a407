package runtime

import (
	"io/fs"
	"os"
	"path"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/nacre-ml/nacre/bindings"
)

// DefaultMemoryLimit returns the memory limit in bytes of runs without one: three quarters of the
// memory that the process may use. On Linux that is the limit of its control group if it is lower
// than the memory of the machine. If the system reports neither, the result is 0, no limit. The
// system is asked once.
func DefaultMemoryLimit() int { return defaultMemoryLimit() }

var defaultMemoryLimit = sync.OnceValue(func() int {
	n := bindings.PhysicalMemory()
	if goruntime.GOOS == "linux" {
		if group := groupMemory(os.DirFS("/")); group > 0 && (n == 0 || group < n) {
			n = group
		}
	}
	return n - n/4
})

// groupMemory returns the lowest memory limit, in bytes, of the control groups (v1 or v2) of the
// process; 0 for none.
func groupMemory(root fs.FS) int {
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := 0
	for line := range strings.Lines(string(list)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		var roots []string
		name := "memory.max"
		switch {
		case fields[0] == "0" && fields[1] == "":
			roots = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case hasController(fields[1]):
			roots, name = []string{"sys/fs/cgroup/memory"}, "memory.limit_in_bytes"
		}
		for _, folder := range roots {
			if n := leastOnTheWay(root, folder, fields[2], name); n > 0 && (least == 0 || n < least) {
				least = n
			}
		}
	}
	return least
}

// hasController reports whether memory is one of the controllers of a list.
func hasController(list string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if name == "memory" {
			return true
		}
	}
	return false
}

// leastOnTheWay returns the lowest number in the files with this name in a group and the groups
// around it; 0 for none. Groups that a container cannot see do not count.
func leastOnTheWay(root fs.FS, folder, group, name string) int {
	least := 0
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		text, err := fs.ReadFile(root, path.Join(folder, at, name))
		n, failed := strconv.Atoi(strings.TrimSpace(string(text)))
		if err == nil && failed == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
		if at == "/" {
			return least
		}
	}
}
