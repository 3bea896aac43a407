package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/printable"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write a page for man for every command",
		Long: `Write a page for man for every command to a folder, which is made if it is missing, and print where
they are. SOURCE_DATE_EPOCH in the environment gives the date of the pages.`,
		Example: `nacre man ~/.local/share/man/man1
nacre man pages && man pages/nacre-run.1`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			header := &doc.GenManHeader{Source: "nacre " + nacre.Version(), Manual: "Nacre"}
			if err := doc.GenManTree(cmd.Root(), header, args[0]); err != nil {
				return err
			}
			pages := 1
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					pages++
				}
			}
			first := filepath.Join(args[0], cmd.Root().Name()+".1")
			printable.Fprintf(cmd.OutOrStdout(), "%s in %s; man %s shows the first\n", plural(pages, "page"), args[0], first)
			return nil
		},
	}
}
