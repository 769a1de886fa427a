package read_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// Judge what somebody has saved on a node.
func ExampleFiles() {
	capture := os.DirFS("../../testdata/captures/kubelet-1.34.4-hung-csi")
	var files []read.File
	for _, name := range []string{"goroutine.debug2", "mountinfo", "pods.json", "metrics.txt", "kubelet.log.gz"} {
		files = append(files, read.FSFile(capture, name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	nodes, results := read.Files(ctx, read.Options{Now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}, files...)
	for _, got := range results {
		fmt.Println(got.Name, got.Kind, got.Used, got.Err)
	}
	evidence := nodes[0]                                            // these files are of one node
	if err := read.Redact(ctx, &evidence, nil, false); err != nil { // before anything of it is stored
		fmt.Println(err)
	}
	for _, d := range forensics.Analyze(&evidence, checks.All()).Diagnoses {
		fmt.Printf("%s: %.75s\n", d.Severity, d.Title)
	}
	// Output:
	// goroutine.debug2 goroutines true <nil>
	// mountinfo mounts true <nil>
	// pods.json kubelet-pods true <nil>
	// metrics.txt  false unrecognized format, skipped
	// kubelet.log.gz logs true <nil>
	// critical: kubelet is hung: housekeeping blocked for at least 10 min, possibly by chub
	// warning: Image garbage collection has failed since 2026-11-20 10:18:05 UTC: cannot f
}
