package checks

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

var _ = scenariosOf("kubelet-start-blocked", kubeletStartBlockedInDumps())

func kubeletStartBlockedInDumps() []scenario {
	return []scenario{
		{
			name: "dead file system", base: wellNode, change: withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount"),
			want: []string{"critical subsystem start"}, says: "calls statfs",
		},
		{name: "mounts of the length are named", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount")(tb, e)
			e.Mounts.Mounts[2].MountPoint = "/mnt/backup-of-db-01"
			e.Probes = e.Probes[:1]
		}, want: []string{"critical subsystem start"}, says: "path of 20 bytes. Mount points of this length, without those that responded: /mnt/backup-of-db-01 (CephFS 10.0.0.5:6789:/k8s, mount 60)"},
		{name: "a mount that answers is none of them", base: wellNode, change: func(tb testing.TB, e *forensics.Evidence) {
			withStack("kubelet-1.22", "A.6 start: statfs of a dead NFS mount")(tb, e)
			e.Mounts.Mounts[2].MountPoint = "/mnt/backup-of-db-01"
		}, want: []string{"critical subsystem start"}, says: "path of 20 bytes"},
		{name: "started", base: wellNode, change: withStack("kubelet-1.34", "A.3 the worker of a pod whose volumes are not gone polls"), outcome: forensics.OutcomeClean},
	}
}

// A start that hangs names how far it came.
func TestStartNamesItsStage(t *testing.T) {
	const stage = "k8s.io/kubernetes/pkg/kubelet/cadvisor.New("
	dump := stackNamed(t, "kubelet-1.22", "A.6 start: statfs of a dead NFS mount").dump
	for function, want := range map[string]string{
		"k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap.LoadClientCert":         "waits for its first client certificate",
		"k8s.io/kubernetes/pkg/kubelet.PreInitRuntimeService":                        "connects to the container runtime",
		"k8s.io/kubernetes/pkg/kubelet/cadvisor.New":                                 "starts cAdvisor",
		"k8s.io/kubernetes/pkg/kubelet/cm.NewContainerManager":                       "starts the container manager",
		"k8s.io/kubernetes/pkg/kubelet.NewMainKubelet":                               "creates the kubelet's components",
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).initializeModules":                 "starts the modules that need no runtime",
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).setupDataDirs":                     "creates its directories",
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).initializeRuntimeDependentModules": "starts the modules that need the runtime",
	} {
		if !strings.Contains(dump, stage) {
			t.Fatal("the stack has no stage to exchange")
		}
		e := wellNode(t)
		addDump(t, &e, strings.Replace(dump, stage, function+"(", 1), 9825)
		f, _ := findingOf(forensics.Analyze(&e, []forensics.Check{kubeletStartBlocked}), kubeletStartBlocked.ID)
		if !strings.Contains(f.Detail, " "+want+" (kubelet ") {
			t.Errorf("%s: %q does not say that it %s", function, f.Detail, want)
		}
	}
}
