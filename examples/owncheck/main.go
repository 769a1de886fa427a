// Command owncheck uses nodeforensics as a library, with a check of its own: it reports every NFS mount below the
// kubelet's directory that is mounted soft, since such a mount turns a slow server into I/O errors.
//
//	sudo go run ./examples/owncheck            examine this node
//	go run ./examples/owncheck REPORT.json     judge a saved report
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/report"
)

// softNFS is a check like those of nodeforensics: a plain value.
var softNFS = forensics.Check{
	ID:       "example-nfs-soft",
	Title:    "An NFS volume is mounted soft",
	Doc:      "A soft NFS mount answers EIO when the server is slow; applications that do not expect that lose data.",
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceMounts}},
	Run: func(p *forensics.Pass) {
		for _, m := range p.Evidence.Mounts.Mounts {
			soft := slices.Contains(strings.Split(m.SuperOptions, ","), "soft")
			if !strings.HasPrefix(m.FSType, "nfs") || !soft || !p.Model.BelowKubelet(m.MountPoint) {
				continue
			}
			p.Report(forensics.Finding{
				Severity: forensics.Warning, Subject: forensics.MountEntity(m.ID), Confidence: forensics.Certain,
				Title:         fmt.Sprintf("%s at %s is mounted soft", m.Source, m.MountPoint),
				ConfidenceWhy: "the options of the superblock say so",
				Refs:          []forensics.Ref{{Source: forensics.SourceMounts, Excerpt: m.SuperOptions}},
			})
		}
	},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "owncheck:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	evidence, err := load(args)
	if err != nil {
		return err
	}
	analysis := forensics.Analyze(&evidence, append(checks.All(), softNFS))
	r := report.New(report.Tool{Name: "owncheck", Version: "example"}, evidence, analysis)
	return report.Text(os.Stdout, r, report.TextOptions{Width: 80})
}

// load takes the evidence from a saved report, or collects it here. The nodeforensics command collects in a child
// process, because a thread that is stuck on a dead mount keeps its process from ending; this example does not.
func load(args []string) (forensics.Evidence, error) {
	if len(args) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return collect.Collect(ctx, collect.Options{})
	}
	f, err := os.Open(args[0])
	if err != nil {
		return forensics.Evidence{}, err
	}
	defer func() { _ = f.Close() }()
	r, err := report.Read(f)
	return r.Evidence, err
}
