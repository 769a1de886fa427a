package mask

import (
	"reflect"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/cri"
)

// strictText masks names in evidence whose secrets are masked, and returns what masks both in further texts.
func strictText(r *redact.Redactor, e *forensics.Evidence) func(where, s string) string {
	names := namesIn(r, e)
	maskNames(names, e)
	v, _ := mapStrings(reflect.ValueOf(*e), "", names.Text)
	*e = v.Interface().(forensics.Evidence)
	return func(where, s string) string { return names.Text(where, r.Text(where, s)) }
}

// namesIn learns what the evidence calls by name: first where a field says what it is, then from texts.
func namesIn(r *redact.Redactor, e *forensics.Evidence) *redact.Identities {
	names := r.Identities(ownWords(e)...)
	names.Learn(redact.Host, e.Node.Name)
	if k := e.Kubelet; k != nil {
		names.Learn(redact.Host, k.NodeName)
		names.Learn(redact.Host, k.Flags["hostname-override"])
	}
	if e.Cluster != nil {
		learnObjects(names, e.Cluster)
	}
	for _, p := range e.Pods {
		names.Learn(redact.Namespace, p.Namespace)
		names.Learn(redact.Pod, p.Name)
	}
	for _, d := range e.PodDirs {
		names.Learn(redact.Pod, d.HostName)
	}
	for _, table := range append([]mounts.Table{e.Mounts}, e.Namespaces...) {
		for _, m := range table.Mounts {
			if m.Class == mounts.ClassNetwork || m.Class == mounts.ClassFUSE || strings.Contains(m.Source, "//") {
				names.ReadSource(m.Source)
				names.ReadOptions(m.Options)
				names.ReadOptions(m.SuperOptions)
			}
		}
	}
	mapStrings(reflect.ValueOf(*e), "", func(_, s string) string {
		names.Read(s)
		return s
	})
	return names
}

// learnObjects learns what objects of the API are called. What owns pods gives them the beginning of their names.
func learnObjects(names *redact.Identities, d *apidump.Dump) {
	for _, n := range d.Nodes {
		names.Learn(redact.Host, n.Name)
	}
	for _, p := range d.Pods {
		names.Learn(redact.Host, p.Node)
	}
	for _, p := range d.Pods {
		names.Learn(redact.Namespace, p.Namespace)
		names.Learn(redact.Pod, p.Name)
		for _, o := range p.Owners {
			if o.Kind != "Node" {
				names.Learn(redact.Pod, o.Name)
			}
		}
	}
	for _, o := range d.Owners {
		names.Learn(redact.Namespace, o.Namespace)
		names.Learn(redact.Pod, o.Name)
	}
	for _, c := range d.Claims {
		names.Learn(redact.Namespace, c.Namespace)
	}
}

// maskNames masks the fields that are a name as a whole, also one that is too common a word to be masked in texts.
func maskNames(names *redact.Identities, e *forensics.Evidence) {
	e.Pods = slices.Clone(e.Pods)
	for i := range e.Pods {
		p := &e.Pods[i]
		p.Namespace, p.Name = names.Name("pods", redact.Namespace, p.Namespace), names.Name("pods", redact.Pod, p.Name)
	}
	if e.Cluster != nil {
		d := *e.Cluster
		d.Pods = slices.Clone(d.Pods)
		for i := range d.Pods {
			p := &d.Pods[i]
			p.Namespace, p.Name = names.Name("cluster", redact.Namespace, p.Namespace), names.Name("cluster", redact.Pod, p.Name)
			p.Node = names.Name("cluster", redact.Host, p.Node)
		}
		e.Cluster = &d
	}
	e.PodDirs = slices.Clone(e.PodDirs)
	for i := range e.PodDirs {
		e.PodDirs[i].HostName = names.Name("pod_dirs", redact.Pod, e.PodDirs[i].HostName)
	}
	e.Node.Name = names.Name("node", redact.Host, e.Node.Name)
	if e.Kubelet != nil {
		k := *e.Kubelet
		k.NodeName = names.Name("kubelet", redact.Host, k.NodeName)
		e.Kubelet = &k
	}
}

// ownWords are words that mean something to the checks. A namespace may be called "ceph" and a pod "kubelet".
func ownWords(e *forensics.Evidence) []string {
	words := strings.Fields(`kubelet runc ceph cephfs nfs nfs4 cifs fuse rbd overlay tmpfs proc
		sysfs volume volumes mount mounts pods node nodes plugins csi var lib run log etc mnt data dev host root syncloop
		housekeeping pleg goroutine goroutines thread threads process processes health metrics coverage`)
	words = append(words,
		forensics.SourceNode, forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceThreads, forensics.SourceHealth, forensics.SourceKubelet, forensics.SourceKubeletHealth,
		forensics.SourceKubeletPods, forensics.SourceMetrics, forensics.SourceGoroutines, forensics.SourceOtherGoroutines, forensics.SourceCPUProfile, forensics.SourceCredentials, forensics.SourcePodDirs,
		forensics.SourceStaticPods, forensics.SourceCgroups, forensics.SourcePodLogs, forensics.SourceHolders, forensics.SourceCollector, forensics.SourceAnalysis)
	for _, r := range cri.Runtimes() {
		words = append(words, r.Name, r.Process)
	}
	for _, m := range e.Mounts.Mounts {
		words = append(words, m.FSType)
	}
	for _, d := range e.PodDirs { // drivers may be named like hosts
		for _, v := range d.Volumes {
			if v.VolData != nil {
				words = append(words, v.VolData.Driver)
			}
		}
	}
	if e.Cluster != nil {
		for _, v := range e.Cluster.Volumes {
			words = append(words, v.Driver)
		}
	}
	return words
}
