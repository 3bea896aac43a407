package side

import (
	"os"
	"strconv"
	"strings"
)

// memory returns the bytes that the process holds and the most that it held; 0 if the system does
// not tell.
func memory() (held, most int) {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		n, _ := strconv.Atoi(f[1])
		switch f[0] {
		case "VmRSS:":
			held = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	return held, most
}

// forget resets the most that the process held to the bytes that it holds. The system may refuse.
func forget() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
