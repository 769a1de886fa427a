package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
)

func (a *app) checksCommand() *cobra.Command {
	var out printFlags
	cmd := &cobra.Command{
		Use: "checks [ID]", Short: "List the checks, or explain one", Args: cobra.MaximumNArgs(1),
		Long: `checks lists the checks. Each line has the ID, the highest severity that the
check reports, and what it finds. With an ID it explains that check: what it
finds, on which evidence, with which limits, and which sources it needs.`,
		Example: `  # List all checks.
  nodeforensics checks

  # Explain one check.
  nodeforensics checks mount-hung

  # Print the IDs of all checks.
  nodeforensics checks -o json | jq -r .[].id`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, c := range checks.All() {
				ids = append(ids, c.ID+"\t"+c.Title)
			}
			if len(args) > 0 {
				ids = nil
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.validate(); err != nil {
				return err
			}
			if len(args) == 0 {
				return a.listChecks(out.format)
			}
			return a.explainCheck(out.format, args[0])
		},
	}
	out.register(cmd, dataFormats, formatText)
	out.registerJSON(cmd)
	return cmd
}

// checkAnswer is a check as data.
type checkAnswer struct {
	ID       string             `json:"id"`
	Severity forensics.Severity `json:"max_severity"`
	Title    string             `json:"title"`
	Doc      string             `json:"doc"`
	Needs    [][]string         `json:"needs"` // one of each list
}

func answerOf(c forensics.Check) checkAnswer {
	answer := checkAnswer{ID: c.ID, Severity: c.Severity, Title: c.Title, Doc: c.Doc, Needs: [][]string{}}
	for _, n := range c.Needs {
		answer.Needs = append(answer.Needs, n)
	}
	return answer
}

func (a *app) listChecks(format string) error {
	all := checks.All()
	if format != "" && format != formatText {
		answers := make([]checkAnswer, 0, len(all))
		for _, c := range all {
			answers = append(answers, answerOf(c))
		}
		return a.printData(format, answers)
	}
	for _, c := range all {
		a.out.printf("%-30s %-9s %s\n", c.ID, c.Severity, c.Title)
	}
	return nil
}

func (a *app) explainCheck(format, id string) error {
	all := checks.All()
	i := slices.IndexFunc(all, func(c forensics.Check) bool { return c.ID == id })
	switch {
	case i < 0:
		ids := make([]string, 0, len(all))
		for _, c := range all {
			ids = append(ids, c.ID)
		}
		return usagef("no check %q%s", id, cmp.Or(didYouMean(id, ids, ""), "; to list the checks: nodeforensics checks"))
	case format != "" && format != formatText:
		return a.printData(format, answerOf(all[i]))
	}
	c := all[i]
	a.out.printf("%s (%s at most): %s\n\n%s\n\nNeeds: %s\n", c.ID, c.Severity, c.Title, c.Doc, needs(c))
	return nil
}

func needs(c forensics.Check) string {
	var all []string
	for _, n := range c.Needs {
		all = append(all, n.String())
	}
	return strings.Join(all, "; ")
}
