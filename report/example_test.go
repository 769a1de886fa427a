package report_test

import (
	"fmt"
	"os"

	"github.com/nodeforensics/nodeforensics/report"
)

// Make a message for a chat of a report's JSON.
func ExampleRead() {
	f, err := os.Open("testdata/hung-mount.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = f.Close() }()
	r, err := report.Read(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range r.Diagnoses {
		fmt.Printf("*%s* on %s: %.70s…\n", d.Severity, r.Node.Name, d.Title)
		if len(d.Remedies) > 0 {
			fmt.Printf("> first: %s\n", d.Remedies[0].Command)
		}
	}
	// Output:
	// *critical* on worker-7: kubelet 1.17.4 housekeeping has not returned for 46 min: goroutine 142…
	// > first: kubectl cordon worker-7
	// *warning* on worker-7: pod directory 002d97dc-9f1e-4c57-a6f3-1f9a40c7be10 belongs to no pod; …
	// > first: rmdir '/var/lib/kubelet/pods/002d97dc-9f1e-4c57-a6f3-1f9a40c7be10/volumes/kubernetes.io~csi/pvc-91b0'
	// *warning* on worker-7: fuse.sshfs backup@10.0.0.7:/srv (mount 61) answered after 3.4 s…
}

// Write the summary for a terminal, and a section of one's own below it.
func ExampleText() {
	f, err := os.Open("testdata/healthy.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = f.Close() }()
	r, err := report.Read(f)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := report.Text(os.Stdout, r, report.TextOptions{Width: 80}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("Mounts by file system")
	counts := map[string]int{}
	for _, m := range r.Evidence.Mounts.Mounts {
		counts[m.FSType]++
	}
	fmt.Println(" ", counts)
	// Output:
	// worker-3, kubelet 1.34.4, Debian GNU/Linux 12 6.18.0, examined 2026-11-20
	// 10:46:12 UTC
	//
	// CLEAN  Nothing above info was found
	//   13 checks looked and found nothing that needs a person. 3 checks could not
	//   look: of that, this report says nothing.
	//
	// Other findings
	//   info     log-noise: the kubelet's log repeats a harmless line
	//
	// Not checked: 3 of 16 checks
	//   - kubelet-housekeeping-blocked: goroutines denied (403 Forbidden for
	//     system:anonymous; see --token-file)
	//   - pod-podgc, csi-driver-missing: no API dump was given
	//
	// Mounts by file system
	//   map[cgroup2:1 ext4:2 nfs4:1 proc:1 sysfs:1 tmpfs:1]
}
