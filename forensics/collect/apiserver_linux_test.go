package collect

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// TestTheAPIServerIsAskedOnRequest: without --api nothing is read and nothing said; with it, a process that is perhaps not the kubelet, or
// that is another one by now, gets nothing.
func TestTheAPIServerIsAskedOnRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		api    bool
		k      *kubelet.Instance
		status forensics.SourceStatus
	}{
		"not requested":       {k: &kubelet.Instance{Flags: map[string]string{"kubeconfig": "/absent"}}},
		"no kubelet":          {api: true, status: forensics.SourceAbsent},
		"perhaps the kubelet": {api: true, k: &kubelet.Instance{Unproven: "has another executable", Flags: map[string]string{"kubeconfig": "/absent"}}, status: forensics.SourceDenied},
		"no such file":        {api: true, k: &kubelet.Instance{Flags: map[string]string{"kubeconfig": "/absent"}}, status: forensics.SourceAbsent},
		"a reused pid":        {api: true, k: &kubelet.Instance{PID: os.Getpid(), StartTicks: 1, Flags: map[string]string{"kubeconfig": "/absent"}}, status: forensics.SourceMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newCollector(t.Context(), Options{API: tt.api})
			if err != nil {
				t.Fatal(err)
			}
			c.evidence.Kubelet = tt.k
			c.apiServer(t.Context())
			var got forensics.Source
			for _, s := range c.evidence.Coverage {
				if s.Source == forensics.SourceAPI {
					got = s
				}
			}
			if got.Status != tt.status || c.evidence.Cluster != nil {
				t.Errorf("%+v, want %q", got, tt.status)
			}
		})
	}
}

// TestWhatOfTheAPIServerCounts: a part of a list proves nothing, and an empty one does not stand for the kubelet's.
func TestWhatOfTheAPIServerCounts(t *testing.T) {
	list := func(node string, pods ...string) apidump.Dump {
		d := apidump.NewDump()
		d.NodeName = node
		for _, uid := range pods {
			d.Pods = append(d.Pods, apidump.Pod{Object: apidump.Object{UID: uid}, Node: node})
		}
		return d
	}
	some := errors.New("some error")
	for name, tt := range map[string]struct {
		dump        apidump.Dump
		err         error
		kept, stand bool
	}{
		"a whole list":          {dump: list("node-1", "a"), kept: true, stand: true},
		"and no Node":           {dump: list("node-1", "a"), err: some, kept: true, stand: true},
		"an empty list":         {dump: list("node-1"), kept: true},
		"a part":                {dump: list("", "a"), err: some},
		"more than can be read": {dump: list("", "a"), err: fmt.Errorf("x: %w", nodefs.ErrTruncated)},
	} {
		t.Run(name, func(t *testing.T) {
			part, err := apiObjects(tt.dump, "https://api", time.Now(), tt.err)
			stands := false
			for _, s := range part.Coverage {
				stands = stands || s.Source == forensics.SourceKubeletPods+":api"
			}
			if (part.Cluster != nil) != tt.kept || stands != tt.stand || (err == nil) != tt.kept {
				t.Errorf("%+v, %v", part.Coverage, err)
			}
			if s := statusOf(err); s.Usable() != tt.kept {
				t.Errorf("status %s of %v", s, err)
			}
		})
	}
}
