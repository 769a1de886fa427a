package checks

import (
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
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
