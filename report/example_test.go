package report_test

import (
	"fmt"
	"maps"
	"os"
	"slices"

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
			fmt.Printf("> first: %s\n", d.Remedies[0])
		}
	}
	// Output:
	// *critical* on worker-7: CephFS 10.0.0.5:6789:/k8s has not responded for 46 min; kubelet is hun…
	// > first: kubectl cordon worker-7
	// *warning* on worker-7: 1 orphaned pod directory: kubelet 1.17 does not remove a leftover vol_…
	// > first: rmdir /var/lib/kubelet/pods/002d97dc-9f1e-4c57-a6f3-1f9a40c7be10/volumes/kubernetes.io~csi/pvc-91b0
	// *warning* on worker-7: SSHFS backup@10.0.0.7:/srv is slow: it responded after 3.4 s…
}

// Add a section of one's own to a report: here to its text, and in the same way to its page and its JSON.
func ExampleSection() {
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
	counts := map[string]int{}
	for _, m := range r.Evidence.Mounts.Mounts {
		counts[m.FSType]++
	}
	section := report.Section{Title: "Mounts by file system", Columns: []string{"type", "mounts"}}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		section.Rows = append(section.Rows, []string{name, fmt.Sprint(counts[name])})
	}
	r.Sections = append(r.Sections, section)
	if err := report.Text(os.Stdout, r, report.TextOptions{Width: 80}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// worker-3, kubelet 1.34.4, kernel 6.18.0, 2026-11-20 10:46:12 UTC
	//
	// CLEAN  No problem found
	//   13 checks found no problem. 3 checks could not be made: this report says
	//   nothing about them.
	//
	// Mounts by file system
	//   - type cgroup2, mounts 1
	//   - type ext4, mounts 2
	//   - type nfs4, mounts 1
	//   - type proc, mounts 1
	//   - type sysfs, mounts 1
	//   - type tmpfs, mounts 1
	//
	// Not checked: 3 of 16 checks. Goroutines need root or --token-file (README).
}
