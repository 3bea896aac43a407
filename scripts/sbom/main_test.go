package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestMaterials makes the bill of a program with a replaced module.
func TestMaterials(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.1", Path: "example.com/m/cmd/tool", Main: debug.Module{Path: "example.com/m", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v1.2.3", Sum: "h1:abc="},
			{Path: "example.com/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "1234"}, {Key: "-ldflags", Value: "-s"}},
	}
	text, err := json.Marshal(materials(info))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"bomFormat":"CycloneDX","specVersion":"1.5","version":1,"metadata":{"component":` +
		`{"type":"application","bom-ref":"pkg:golang/example.com/m@(devel)","name":"tool","version":"(devel)","purl":"pkg:golang/example.com/m@(devel)",` +
		`"properties":[{"name":"go:vcs.revision","value":"1234"}]}},"components":[` +
		`{"type":"library","bom-ref":"pkg:golang/std@1.26.1","name":"std","version":"1.26.1","purl":"pkg:golang/std@1.26.1"},` +
		`{"type":"library","bom-ref":"pkg:golang/example.com/a@v1.2.3","name":"example.com/a","version":"v1.2.3","purl":"pkg:golang/example.com/a@v1.2.3",` +
		`"properties":[{"name":"go:sum","value":"h1:abc="}]},` +
		`{"type":"library","bom-ref":"pkg:golang/example.com/c@v2.0.0","name":"example.com/c","version":"v2.0.0","purl":"pkg:golang/example.com/c@v2.0.0"}],` +
		`"dependencies":[{"ref":"pkg:golang/example.com/m@(devel)","dependsOn":["pkg:golang/std@1.26.1","pkg:golang/example.com/a@v1.2.3","pkg:golang/example.com/c@v2.0.0"]}]}`
	if string(text) != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// TestRun checks that run refuses wrong arguments and files that are no Go programs.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("no program"), 0o666); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, args := range [][]string{nil, {file}, {file + "none"}, {file, file}} {
		if err := run(args, &b); err == nil || b.Len() > 0 {
			t.Errorf("%q: %v, prints %q", args, err, b.String())
		}
	}
}

// TestRequirements checks that the lock files of the Python environments, for tests and for
// exporters of networks, have every package of the .in files, each with a version and hashes.
func TestRequirements(t *testing.T) {
	for _, list := range []string{"../requirements", "../../oracles/networks/tools"} {
		asked, err := os.ReadFile(list + ".in")
		if err != nil {
			t.Fatal(err)
		}
		locked, err := os.ReadFile(list + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		packages := strings.Split(strings.ReplaceAll("\n"+string(locked), "\n    --hash=", " --hash="), "\n")
		for line := range strings.Lines(string(asked)) {
			name := strings.TrimSpace(line)
			if name == "" || strings.HasPrefix(name, "#") {
				continue
			}
			if !strings.Contains(string(locked), "\n"+name+" ") {
				t.Errorf("%s.txt lacks %s (scripts/lock-requirements.sh writes it)", list, name)
			}
		}
		for _, p := range packages {
			if p != "" && !strings.HasPrefix(p, "#") && !(strings.Contains(p, "==") && strings.Contains(p, "--hash=sha256:")) {
				t.Errorf("%s.txt: no version and hash in %q", list, p)
			}
		}
	}
}
