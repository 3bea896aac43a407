package runtime

import (
	"testing"
	"testing/fstest"

	"github.com/nacre-ml/nacre/bindings"
)

func TestGroupMemory(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  int
	}{
		{"none", nil, 0},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		{"own", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/memory.max": "2000\n"}, 1000},
		{"around", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "2000\n"}, 2000},
		{"container", map[string]string{"proc/self/cgroup": "0::/../x\n", "sys/fs/cgroup/memory.max": "3000\n"}, 3000},
		{"version 1", map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/c\n4:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4000\n"}, 4000},
		{"both", map[string]string{"proc/self/cgroup": "4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/unified/memory.max": "5000\n"}, 5000},
		{"damaged", map[string]string{"proc/self/cgroup": "0:\nx\n0::/a\n", "sys/fs/cgroup/a/memory.max": "-1\n"}, 0},
	} {
		files := fstest.MapFS{}
		for name, text := range tt.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := groupMemory(files); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestDefaultMemoryLimit(t *testing.T) {
	n, most := DefaultMemoryLimit(), bindings.PhysicalMemory()
	if most > 0 && (n <= 0 || n > most-most/4) {
		t.Errorf("the limit is %d and the machine has %d", n, most)
	}
}
