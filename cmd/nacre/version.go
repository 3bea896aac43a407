package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
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
			printable.Fprintf(cmd.OutOrStdout(), "nacre %s\n", builtAs())
			return nil
		},
	}
}

// builtAs returns the version of the module, of Go and of the system that the program is for.
func builtAs() string {
	return fmt.Sprintf("%s (%s %s/%s)", nacre.Version(), goruntime.Version(), goruntime.GOOS, goruntime.GOARCH)
}
