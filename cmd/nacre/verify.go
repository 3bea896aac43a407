package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
)

func verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Check that a model file is sound and that this program can run it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			m, err := nacre.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { err = join(err, m) }()
			w := cmd.OutOrStdout()
			g := m.Source().Graph
			fmt.Fprintf(w, "%s: well formed, %s, %s\n", args[0], plural(len(g.Nodes), "node"), plural(len(g.Initializers), "weight"))
			var missing []string
			for _, o := range operators(m.Source()) {
				if !o.Implemented {
					missing = append(missing, domainName(o.Domain)+"."+o.Op)
				}
			}
			if missing != nil {
				return graph.Mark(graph.ErrUnsupported, "%s: not implemented: %s", args[0], strings.Join(missing, ", "))
			}
			s, err := m.NewSession(nacre.Options{Threads: 1})
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s: can run; takes %s; gives %s\n", args[0], valueList(s.Inputs()), valueList(s.Outputs()))
			return s.Close()
		},
	}
}
