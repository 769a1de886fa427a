package read_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/read"
)

const (
	orphanOf = `kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see them." err="orphaned pod \"8d12c02b-73d8-49f0-a4ae-3bcd02f3ee51\" found, but error not a directory occurred when trying to remove the volumes dir" numErrs=2`
	plegOf   = `kubelet.go:2347] "Skipping pod synchronization" err="PLEG is not healthy: pleg was last seen active 5m41.2s ago; threshold is 3m0s"`
	nfsOf    = "nfs: server 192.0.2.4 not responding, still trying"
)

// at is a line of klog.
func at(clock string, pid int, message string) string {
	return fmt.Sprintf("E1120 %s.000001 %7d %s\n", clock, pid, message)
}

// on is a line of the journal.
func on(host, clock string, pid int, message string) string {
	return fmt.Sprintf("Nov 20 %s %s kubelet[%d]: %s", clock, host, pid, at(clock, pid, message))
}

// kernel is one of the kernel's.
func kernel(host, clock, message string) string {
	return fmt.Sprintf("Nov 20 %s %s kernel: %s\n", clock, host, message)
}

// saved are files as somebody gives them.
func saved(files ...string) (list []read.File) {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1]), ModTime: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Mode: fs.ModePerm}
		list = append(list, read.FSFile(fsys, files[i]))
	}
	return list
}

// said is what the evidence says of each node: the kinds of its events, its dumps and its objects.
func said(nodes []forensics.Evidence) map[string]string {
	all := map[string]string{}
	for _, e := range nodes {
		var words []string
		if e.Logs != nil {
			for _, ev := range e.Logs.Events {
				if ev.Kind != "kubelet-stage" {
					words = append(words, fmt.Sprintf("%s %d", ev.Kind, ev.Count))
				}
			}
		}
		for range e.Dumps {
			words = append(words, "dump")
		}
		if len(e.Mounts.Mounts) > 0 {
			words = append(words, "mounts")
		}
		if e.Cluster != nil {
			for _, p := range e.Cluster.Pods {
				words = append(words, "pod "+p.Name)
			}
			for _, c := range e.Cluster.Claims {
				words = append(words, "claim "+c.Name)
			}
		}
		slices.Sort(words)
		all[e.Node.Name] = strings.Join(words, ", ")
	}
	return all
}

// Rule 7: lines of two kubelets belong to two stories. What names no node belongs to the only one there is.
func TestNodesAreToldApart(t *testing.T) {
	const orphan, pleg, nfs = "orphan", "pleg-unhealthy", "kernel-nfs-down"
	nodeA := on("node-a", "10:02:45", 2588, orphanOf) + on("node-a", "10:02:47", 2588, orphanOf)
	nodeB := on("node-b", "10:02:11", 801, plegOf) + on("node-b", "10:04:11", 801, plegOf)
	bareA := at("10:02:45", 2588, orphanOf) + at("10:03:47", 2588, orphanOf)
	bareB := at("10:02:11", 801, plegOf) + at("10:04:11", 801, plegOf)
	registers := `kubelet_node_status.go:78] "Successfully registered node" node="%s"`
	objects := `{"apiVersion":"v1","kind":"List","items":[
		{"kind":"Pod","metadata":{"name":"p-a","namespace":"x","uid":"1"},"spec":{"nodeName":"node-a","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c-a"}}]}},
		{"kind":"Pod","metadata":{"name":"p-b","namespace":"x","uid":"2"},"spec":{"nodeName":"node-b.example.com"}},
		{"kind":"Pod","metadata":{"name":"p-c","namespace":"x","uid":"3"},"spec":{"nodeName":"node-c"}},
		{"kind":"PersistentVolumeClaim","metadata":{"name":"c-a","namespace":"x","uid":"4"}},
		{"kind":"PersistentVolumeClaim","metadata":{"name":"c-x","namespace":"x","uid":"5"}}]}`
	report := `{"schema":"nodeforensics.evidence/v1","collected":"2026-11-20T10:00:00Z","node":{"name":"%s"}}`
	for _, tt := range []struct {
		name  string
		files []read.File
		want  map[string]string
	}{
		{"one node", saved("a", nodeA), map[string]string{"node-a": orphan + " 2"}},
		{"two files", saved("a", nodeA, "b", nodeB), map[string]string{"node-a": orphan + " 2", "node-b": pleg + " 2"}},
		{"one file", saved("ab", nodeA+"and on the other:\n"+nodeB), map[string]string{"node-a": orphan + " 2", "node-b": pleg + " 2"}},
		{"mixed lines", saved("ab", nodeA+nodeB+nodeA), map[string]string{"node-a": orphan + " 4", "node-b": pleg + " 2"}},
		{"with and without a domain", saved("a", nodeA, "b", strings.ReplaceAll(nodeA, "node-a", "node-a.example.com")), map[string]string{"node-a": orphan + " 4"}},
		{"no host, one node", saved("a", nodeA, "dmesg", "[30221.120001] "+nfsOf+"\n"), map[string]string{"node-a": nfs + " 1, " + orphan + " 2"}},
		{
			"no host, two nodes", saved("a", nodeA, "b", nodeB, "dmesg", "[30221.120001] "+nfsOf+"\n"),
			map[string]string{"node-a": orphan + " 2", "node-b": pleg + " 2", "": nfs + " 1"},
		},
		{
			"no host, the path tells", saved("a", nodeA, "b", nodeB, "bundle/node-b/dmesg", "[30221.120001] "+nfsOf+"\n"),
			map[string]string{"node-a": orphan + " 2", "node-b": nfs + " 1, " + pleg + " 2"},
		},
		{
			"must-gather", saved("nodes/node-a/node-a_logs_kubelet", bareA, "nodes/node-b/node-b_logs_kubelet", bareB),
			map[string]string{"node-a": orphan + " 2", "node-b": pleg + " 2"},
		},
		{"sos", saved("sosreport-node-a-2026-11-20-abcdefg/sos_commands/kernel/dmesg", "[30221.120001] "+nfsOf+"\n"), map[string]string{"node-a": nfs + " 1"}},
		{"a directory of the analyst", saved("home/nodes/cases/kubelet.log", bareA), map[string]string{"": orphan + " 2"}},
		{
			"the kubelets' own names", saved("a", at("10:02:00", 2588, fmt.Sprintf(registers, "node-a"))+bareA, "b", at("10:02:00", 801, fmt.Sprintf(registers, "node-b"))+bareB),
			map[string]string{"node-a": orphan + " 2", "node-b": pleg + " 2"},
		},
		{
			"hostname-override", saved("a", on("h5", "10:02:00", 2588, fmt.Sprintf(registers, "worker-5"))+on("h5", "10:02:45", 2588, orphanOf), "b", at("10:02:50", 2588, `kubelet_node_status.go:78] "Successfully registered node" node="worker-5"`)+bareA),
			map[string]string{"h5": orphan + " 3"},
		},
		{
			"two kubelets at the same time, two files", saved("a.log", bareA, "b.log", bareB),
			map[string]string{"unknown (a.log)": orphan + " 2", "unknown (b.log)": pleg + " 2"},
		},
		{
			"two kubelets at the same time, one file", saved("ab", bareA+bareB),
			map[string]string{"unknown (kubelet 2588)": orphan + " 2", "unknown (kubelet 801)": pleg + " 2"},
		},
		{"a kubelet that was restarted", saved("a", bareA+at("10:05:11", 2901, plegOf)), map[string]string{"": orphan + " 2, " + pleg + " 1"}},
		{"a rotated log", saved("b", at("10:05:11", 2588, plegOf), "a", bareA), map[string]string{"": orphan + " 2, " + pleg + " 1"}},
		{"no host is set", saved("a", strings.ReplaceAll(nodeA, "node-a", "localhost"), "b", nodeB), map[string]string{"node-b": orphan + " 2, " + pleg + " 2"}},
		{
			"levels are no hosts", saved("a", nodeA, "b", "2026-11-20T10:00:00Z INFO controller: reconciled\n2026-11-20T10:00:01Z ERROR controller: "+nfsOf+"\n"),
			map[string]string{"node-a": orphan + " 2"},
		},
		{"a dump in a log", saved("a", nodeA, "b", nodeB+stack), map[string]string{"node-a": orphan + " 2", "node-b": "dump, " + pleg + " 2"}},
		{
			"objects for each", saved("a", nodeA, "b", nodeB, "objects.json", objects),
			map[string]string{"node-a": "claim c-a, " + orphan + " 2, pod p-a", "node-b.example.com": pleg + " 2, pod p-b", "": "claim c-x, pod p-c"},
		},
		{"objects of all, one node", saved("a", nodeA, "objects.json", objects), map[string]string{"": "claim c-a, claim c-x, " + orphan + " 2, pod p-a, pod p-b, pod p-c"}},
		{"a mount table of one of two", saved("a", nodeA, "b", nodeB, "node-a/mountinfo", mountLine), map[string]string{"node-a": "mounts, " + orphan + " 2", "node-b": pleg + " 2"}},
		{"saved examinations", saved("1", fmt.Sprintf(report, "node-a"), "2", fmt.Sprintf(report, "node-b"), "b", nodeB), map[string]string{"node-a": "", "node-b": pleg + " 2"}},
		{"a saved examination and a log", saved("1", fmt.Sprintf(report, "node-a"), "a", bareA), map[string]string{"node-a": orphan + " 2"}},
	} {
		nodes, results := read.Files(t.Context(), read.Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, tt.files...)
		got := said(nodes)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || len(nodes) != len(tt.want) {
			t.Errorf("%s:\n got %v\nwant %v\n%+v", tt.name, got, tt.want, results)
		}
	}
}

// The members of an archive that cannot be read twice are told apart, too, and told in the order of time.
func TestNodesInAnArchive(t *testing.T) {
	bundle := gzipOf(tarOf(t,
		packed{"x/late", on("node-a", "11:00:00", 2901, plegOf)}, packed{"x/b", on("node-b", "10:02:11", 801, plegOf)},
		packed{"x/early", on("node-a", "10:00:00", 2588, orphanOf)}, packed{"x/k", kernel("node-b", "10:00:00", nfsOf)},
	))
	for _, open := range []func(name, text string) read.File{onDisk, piped} {
		nodes, results := read.Files(t.Context(), read.Options{Now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}, open("b.tgz", bundle))
		if len(nodes) != 2 || len(results) != 4 {
			t.Fatalf("%d nodes, %+v", len(nodes), results)
		}
		for _, e := range nodes {
			if e.Node.Name == "node-a" {
				if l := e.Logs.Lives; len(l) != 2 || l[0].PID != 2588 || l[1].PID != 2901 {
					t.Errorf("lives: %+v", l)
				}
			}
		}
	}
}
