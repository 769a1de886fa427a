package checks

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
)

// dumped is a well node beside a dump of its API, which is edited.
func dumped(edit func(*apidump.Dump)) func(testing.TB) forensics.Evidence {
	return func(tb testing.TB) forensics.Evidence {
		e := wellNode(tb)
		d := apidump.NewDump()
		d.Nodes = []apidump.Node{{Object: apidump.Object{Kind: "Node", Name: "node-1"}, Ready: "True", KubeletVersion: "v1.34.4"}}
		d.Pods = []apidump.Pod{apiPod("web", liveUID)}
		d.Saved = ptr(e.Collected)
		d.Kinds = map[string]int{"Pod": 1, "Node": 1}
		edit(&d)
		e.Cluster = &d
		e.Cover(forensics.Source{Source: forensics.SourceAPIDump + ":pods.json", Status: forensics.SourceRead})
		return e
	}
}

func apiPod(name, uid string, edit ...func(*apidump.Pod)) apidump.Pod {
	p := apidump.Pod{
		Object: apidump.Object{Kind: "Pod", Namespace: "default", Name: name, UID: uid, Created: ptr(time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC))},
		Node:   "node-1", Phase: "Running",
	}
	for _, f := range edit {
		f(&p)
	}
	return p
}

func deletedAt(hour, minute int) func(*apidump.Pod) {
	return func(p *apidump.Pod) { p.Deleting = ptr(time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC)) }
}

func add(pods ...apidump.Pod) func(*apidump.Dump) {
	return func(d *apidump.Dump) { d.Pods = append(d.Pods, pods...) }
}

func ended(n int) func(*apidump.Dump) {
	return func(d *apidump.Dump) {
		for i := range n {
			p := apiPod(fmt.Sprintf("job-%05d", i), fmt.Sprintf("u-%d", i), func(p *apidump.Pod) {
				p.Phase, p.Owners = "Succeeded", []apidump.Owner{{Kind: "Job", Name: "job"}}
			})
			d.Pods = append(d.Pods, p)
		}
	}
}
