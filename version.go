package nacre

import (
	"runtime/debug"
	"strings"
)

// modulePath is the path of this module.
const modulePath = "github.com/nacre-ml/nacre"

// Version returns the version of this module in the program, such as v0.3.1. It is "devel" if
// the module comes from a folder, such as a checkout that go.mod names with replace. In a program of
// this module, the revision of the checkout follows after "+", unless the version has it already;
// ".dirty" says that files were changed. Without build information the version is "unknown".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return versionIn(info)
}

// versionIn returns the version of this module in a program with this build information.
func versionIn(info *debug.BuildInfo) string {
	if info.Main.Path == modulePath {
		return withRevision(released(&info.Main), info.Settings)
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			return released(m)
		}
	}
	return "unknown"
}

// released returns the version of a module, or "devel" for one from a folder.
func released(m *debug.Module) string {
	if m.Replace != nil {
		m = m.Replace
	}
	if m.Version == "" || m.Version == "(devel)" {
		return "devel"
	}
	return m.Version
}

// withRevision returns a version with the revision of the checkout, if the settings have one and the
// version lacks it.
func withRevision(version string, settings []debug.BuildSetting) string {
	const digits = 12 // as in a pseudo-version
	revision, dirty := "", ""
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(len(s.Value), digits)]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = ".dirty"
			}
		}
	}
	if revision == "" || strings.Contains(version, revision) {
		return version
	}
	if strings.Contains(version, "+") {
		return version + "." + revision + dirty
	}
	return version + "+" + revision + dirty
}
