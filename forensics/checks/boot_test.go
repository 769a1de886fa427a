package checks

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

// What the kernel reported is over when the machine was started again, unless the new kernel reports it, too.
func TestABootEndsWhatTheKernelReported(t *testing.T) {
	const (
		lost    = "nfs: server 10.0.0.5 not responding, still trying"
		hung    = "INFO: task umount:312 blocked for more than 120 seconds."
		started = "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1"
	)
	boot := kernelSays(1, "10:11:00", started)
	for name, tt := range map[string]struct {
		text string
		want forensics.Severity
	}{
		"no boot":                {kernelSays(10, "10:10:30", lost) + kernelSays(10, "10:10:40", hung), forensics.Warning},
		"a boot":                 {kernelSays(10, "10:10:30", lost) + kernelSays(10, "10:10:40", hung) + boot, forensics.Info},
		"a boot before":          {boot + kernelSays(1, "10:11:30", lost) + kernelSays(1, "10:11:40", hung), forensics.Warning},
		"again after the boot":   {kernelSays(3, "10:10:30", lost) + kernelSays(3, "10:10:40", hung) + boot + kernelSays(1, "10:11:50", lost) + kernelSays(1, "10:11:55", hung), forensics.Warning},
		"a user says so":         {kernelSays(10, "10:10:30", lost) + kernelSays(10, "10:10:40", hung) + says(1, "10:11:00", started), forensics.Warning},
		"a message that says so": {kernelSays(10, "10:10:30", lost) + kernelSays(10, "10:10:40", hung) + kernelSays(1, "10:11:00", "x: wants a "+started), forensics.Warning},
	} {
		e := pasted(tt.text, kernelSays(1, "10:12:12", "a line of the kernel"), says(2, "10:12:20", goesOn))(t)
		for id, subject := range map[string]string{"kernel-server-unresponsive": "server 10.0.0.5", "kernel-hung-task": "process 312"} {
			found := false
			for _, f := range forensics.Analyze(&e, All()).Findings {
				if f.ID == id {
					found = true
					if f.Severity != tt.want || f.Subject.String() != subject {
						t.Errorf("%s: %s %s %s: %s", name, id, f.Severity, f.Subject, f.Detail)
					}
				}
			}
			if !found {
				t.Errorf("%s: %s found nothing", name, id)
			}
		}
	}
}

// A boot ends what its own node showed, wherever the lines were saved, and nothing of another node.
func TestABootIsOfOneNode(t *testing.T) {
	const lost = "nfs: server 10.0.0.5 not responding, still trying"
	boot := kernelSays(1, "10:11:00", "Linux version 6.1.0-18-amd64 (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1")
	other := func(text string) string { return strings.ReplaceAll(text, "node-1", "node-2") }
	before, after, end := kernelSays(10, "10:10:30", lost), kernelSays(2, "10:11:50", lost), kernelSays(1, "10:12:12", "a line of the kernel")
	for name, tt := range map[string]struct {
		files []string
		want  map[string]forensics.Severity // by the node
	}{
		"another node started, in its file":   {[]string{before + end, other(boot + end)}, map[string]forensics.Severity{"node-1": forensics.Warning}},
		"another node started, in one file":   {[]string{before + other(boot) + end + other(end)}, map[string]forensics.Severity{"node-1": forensics.Warning}},
		"one of two nodes started":            {[]string{before + boot + end, other(before + end)}, map[string]forensics.Severity{"node-1": forensics.Info, "node-2": forensics.Warning}},
		"the boot is in another file":         {[]string{before, boot + end}, map[string]forensics.Severity{"node-1": forensics.Info}},
		"again, and the boot in another file": {[]string{before, boot + after + end}, map[string]forensics.Severity{"node-1": forensics.Warning}},
		"again, and the newer file first":     {[]string{boot + after + end, before}, map[string]forensics.Severity{"node-1": forensics.Warning}},
		"again, on one of two nodes":          {[]string{before + boot + after + end, other(before + boot + end)}, map[string]forensics.Severity{"node-1": forensics.Warning, "node-2": forensics.Info}},
	} {
		var files []read.File
		for i, text := range tt.files {
			path := "kern.log." + string(rune('0'+i))
			files = append(files, read.FSFile(fstest.MapFS{path: {Data: []byte(text), ModTime: *at("10:12:30")}}, path))
		}
		nodes, _ := read.Files(t.Context(), read.Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, files...)
		got := map[string]forensics.Severity{}
		for _, e := range nodes {
			for _, f := range forensics.Analyze(&e, All()).Findings {
				if f.ID == "kernel-server-unresponsive" {
					got[e.Node.Name] = f.Severity
				}
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
