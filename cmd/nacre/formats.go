package main

import (
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/printable"
)

func formatsCommand() *cobra.Command {
	var asJSON, markdown bool
	cmd := &cobra.Command{
		Use:   "formats",
		Short: "Show the file formats that are read and written",
		Example: `nacre formats
nacre formats --json`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := cmd.OutOrStdout()
			switch {
			case asJSON:
				return writeJSON(w, formatRows())
			case markdown:
				io.WriteString(w, "| format | files | what they hold |\n|---|---|---|\n")
				for _, r := range formatRows() {
					printable.Fprintf(w, "| %s | %s | %s |\n", r.Name, strings.Join(r.Extensions, " "), r.About)
				}
				return nil
			}
			tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			for _, r := range formatRows() {
				printable.Fprintf(tw, "%s\t%s\t%s\n", r.Name, strings.Join(r.Extensions, " "), r.About)
			}
			return tw.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a Markdown table")
	return cmd
}

// formatRow is one format in the output of formats.
type formatRow struct {
	Name       string   `json:"name"`
	Extensions []string `json:"extensions"`
	About      string   `json:"about"`
}

func formatRows() []formatRow {
	rows := make([]formatRow, len(formats.Formats))
	for i, f := range formats.Formats {
		rows[i] = formatRow{f.Name, f.Extensions, f.About}
	}
	return rows
}
