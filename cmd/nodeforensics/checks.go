package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
)

func (a *app) checksCommand() *cobra.Command {
	return &cobra.Command{
		Use: "checks [ID]", Short: "List the checks, or explain one", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, c := range checks.All() {
				switch {
				case len(args) == 0:
					a.out.printf("%-30s %-9s %s\n", c.ID, c.Severity, c.Title)
				case c.ID == args[0]:
					a.out.printf("%s (%s at most): %s\n\n%s\n\nNeeds: %s\n", c.ID, c.Severity, c.Title, c.Doc, needs(c))
					return nil
				}
			}
			if len(args) > 0 {
				return usagef("checks: no check %q; nodeforensics checks lists them", args[0])
			}
			return nil
		},
	}
}

func needs(c forensics.Check) string {
	var all []string
	for _, n := range c.Needs {
		all = append(all, n.String())
	}
	return strings.Join(all, "; ")
}
