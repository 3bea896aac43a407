package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/nacre-ml/nacre"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a page for man for every command",
		Long: `Write a page for man for every command to a folder, which is made if it is missing. SOURCE_DATE_EPOCH
in the environment gives the date of the pages.`,
		Example: `nacre man ~/.local/share/man/man1
nacre man pages && man pages/nacre-run.1`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return doc.GenManTree(cmd.Root(), &doc.GenManHeader{Source: "nacre " + nacre.Version(), Manual: "Nacre"}, args[0])
		},
	}
}
