package nacre

import (
	"runtime/debug"
	"testing"
)

func TestVersionIn(t *testing.T) {
	const revision = "883816e8cafe00112233445566778899aabbccdd"
	vcs := []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "false"}}
	changed := []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "true"}}
	own := func(version string) debug.Module { return debug.Module{Path: modulePath, Version: version} }
	user := debug.Module{Path: "example.org/app", Version: "v9.9.9"}
	other := &debug.Module{Path: "example.org/other", Version: "v8.8.8"}
	folder := &debug.Module{Path: "../nacre"}
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"released", debug.BuildInfo{Main: own("v0.3.1")}, "v0.3.1"},
		{"released, in a checkout", debug.BuildInfo{Main: own("v0.3.1"), Settings: vcs}, "v0.3.1+883816e8cafe"},
		{"between versions", debug.BuildInfo{Main: own("v0.3.2-0.20261130022035-883816e8cafe"), Settings: changed},
			"v0.3.2-0.20261130022035-883816e8cafe"},
		{"a checkout", debug.BuildInfo{Main: own("(devel)"), Settings: vcs}, "devel+883816e8cafe"},
		{"a changed checkout", debug.BuildInfo{Main: own("(devel)"), Settings: changed}, "devel+883816e8cafe.dirty"},
		{"released, with changes", debug.BuildInfo{Main: own("v0.3.1+dirty"), Settings: changed}, "v0.3.1+dirty.883816e8cafe.dirty"},
		{"no version control", debug.BuildInfo{Main: own("")}, "devel"},
		{"a dependency", debug.BuildInfo{Main: user, Settings: vcs, Deps: []*debug.Module{other, {Path: modulePath, Version: "v0.2.0"}}},
			"v0.2.0"},
		{"a folder", debug.BuildInfo{Main: user, Settings: vcs, Deps: []*debug.Module{{Path: modulePath, Version: "v0.2.0", Replace: folder}}},
			"devel"},
		{"a fork", debug.BuildInfo{Main: user, Deps: []*debug.Module{{Path: modulePath, Version: "v0.2.0", Replace: other}}}, "v8.8.8"},
		{"a program without it", debug.BuildInfo{Main: user, Deps: []*debug.Module{other}}, "unknown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := versionIn(&c.info); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
	if Version() == "" {
		t.Error("the version of the test is empty")
	}
}
