package main

import (
	goruntime "runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre/internal/printable"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and how the program was built",
		Example: `nacre version
nacre version | cut -d' ' -f2`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			printable.Fprintf(cmd.OutOrStdout(), "nacre %s (%s %s/%s)\n", version(), goruntime.Version(), goruntime.GOOS,
				goruntime.GOARCH)
			return nil
		},
	}
}

// version returns the module's version, or the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "devel"
}
