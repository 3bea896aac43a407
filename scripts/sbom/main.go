// Command sbom prints the modules of a Go program as a bill of materials in the JSON form of
// CycloneDX 1.5. It reads the program's own build information, so it lists the modules in it and no
// others.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments; the form is sbom PROGRAM", len(args))
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(materials(info))
}

// bill is the part of a CycloneDX document that sbom writes.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// materials returns the bill of materials of a program.
func materials(info *debug.BuildInfo) *bill {
	program := componentOf("application", info.Main.Path, info.Main.Version)
	program.Name = path.Base(info.Path)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision", "vcs.modified", "CGO_ENABLED", "GOOS", "GOARCH":
			program.Properties = append(program.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	b := &bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{program}}
	b.Components = append(b.Components, componentOf("library", "std", strings.TrimPrefix(info.GoVersion, "go")))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := componentOf("library", m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = append(c.Properties, property{"go:sum", m.Sum}) // as go.sum has it
		}
		b.Components = append(b.Components, c)
	}
	d := dependency{Ref: program.Ref}
	for _, c := range b.Components {
		d.DependsOn = append(d.DependsOn, c.Ref)
	}
	b.Dependencies = append(b.Dependencies, d)
	return b
}

// componentOf returns the component of a module, without properties.
func componentOf(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}
