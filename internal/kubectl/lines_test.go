package kubectl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var saved = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// ago is a time before the text was saved.
func ago(d time.Duration) time.Time { return saved.Add(-d) }

// events are those of a text, without the line that says when it was saved.
func events(t *testing.T, text string) (found []Event) {
	t.Helper()
	lines, objects, _ := Lines([]byte(text), saved)
	if lines != nil && strings.Count(string(lines), "\n") < strings.Count(text, "\n") {
		t.Error("lines are missing")
	}
	for line := range strings.Lines(string(lines) + string(objects)) {
		if e, ok := ParseEvent(line); ok && e.Reason != "" {
			found = append(found, e)
		}
	}
	return found
}

const minute = time.Minute

// TestForms has one event as each version of kubectl prints it, and what surrounds it.
func TestForms(t *testing.T) {
	mount := `MountVolume.SetUp failed for volume "v" : mount failed: exit status 32`
	want := Event{
		Type: "Warning", Reason: "FailedMount", Message: mount, Kind: "Pod", Namespace: "shop", Name: "db-0", Component: "kubelet", Host: "n-1",
		Count: 12, First: ago(25 * minute), Last: ago(3 * minute),
	}
	with := func(change func(*Event)) Event {
		e := want
		change(&e)
		return e
	}
	described := "Name:         db-0\nNamespace:    shop\nNode:         n-1/10.0.0.1\nEvents:\n  Type     Reason       Age                 From     Message\n  ----     ------       ----                ----     -------\n"
	for _, c := range []struct {
		name, text string
		want       Event
	}{
		{"describe", described + "  Warning  FailedMount  3m (x12 over 25m)  kubelet  " + mount + "\n", want},
		{"describe, up to 1.21", described + "  Warning  FailedMount  3m (x12 over 25m)  kubelet, n-1  " + mount + "\n", want},
		{"describe, without who reported it", described + "  Warning  FailedMount  3m (x12 over 25m)   " + mount + "\n", with(func(e *Event) { e.Component = "" })},
		{"describe, blanks collapsed", described + "Warning FailedMount 3m (x12 over 25m) kubelet, n-1 " + mount + "\n", want},
		{"describe, HTML", described + "<p>Warning FailedMount 3m (x12 over 25m) kubelet, n-1 " + mount + "</p>\n", want},
		{"describe, up to 1.5", "Name:\tdb-0\nNamespace:\tshop\nNode:\tn-1/10.0.0.1\n  25m\t\t3m\t\t12\t{kubelet n-1}\t\t\tWarning\t\tFailedMount\t" + mount + "\n", want},
		{"describe, 1.6 to 1.8", described + "  25m\t\t3m\t\t12\tkubelet, n-1\t\t\tWarning\t\tFailedMount\t" + mount + "\n", want},
		{
			"describe, of a container", described + "  25m\t3m\t12\tkubelet, n-1\tspec.containers{db}\tWarning\tFailedMount\t" + mount + "\n",
			with(func(e *Event) { e.Container = "db" }),
		},
		{
			"get events", "$ kubectl get events -n shop\nLAST SEEN   TYPE      REASON        OBJECT     MESSAGE\n3m          Warning   FailedMount   pod/db-0   " + mount + "\n",
			with(func(e *Event) { e.Component, e.Host, e.Count, e.First = "", "", 1, e.Last }),
		},
		{
			"get events -A", "NAMESPACE   LAST SEEN   TYPE      REASON        OBJECT     MESSAGE\nshop        3m          Warning   FailedMount   pod/db-0   " + mount + "\n",
			with(func(e *Event) { e.Component, e.Host, e.Count, e.First = "", "", 1, e.Last }),
		},
		{"get events -A -o wide", "shop   3m   Warning   FailedMount   pod/db-0      kubelet, n-1   " + mount + "   25m   12   db-0.17d2a90b6a1f0c55\n", want},
		{
			"get events, up to 1.13", "NAMESPACE LAST SEEN FIRST SEEN COUNT NAME KIND SUBOBJECT TYPE REASON SOURCE MESSAGE\n" +
				"shop   3m   25m   12   db-0.1573fa51e2f1a0b1   Pod      Warning   FailedMount   kubelet, n-1   " + mount + "\n", want,
		},
		{
			"kubectl events", "LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n3m (x12 over 25m)   Warning   FailedMount   Pod/db-0   " + mount + "\n",
			with(func(e *Event) { e.Component, e.Host, e.Namespace = "", "", "" }),
		},
		{
			"mount's output", described + "  Warning  FailedMount  3m (x12 over 25m)  kubelet  " + mount + "\nMounting command: mount\nMounting arguments: -t nfs a:/b /c\nOutput: mount.nfs: Connection timed out\n\nWhat now?\n",
			with(func(e *Event) {
				e.Message += "\nMounting command: mount\nMounting arguments: -t nfs a:/b /c\nOutput: mount.nfs: Connection timed out"
			}),
		},
		{
			"mount's output ends the text", described + "  Warning  FailedMount  3m (x12 over 25m)  kubelet  " + mount + "\nOutput: mount.nfs: Connection timed out",
			with(func(e *Event) { e.Message += "\nOutput: mount.nfs: Connection timed out" }),
		},
		{"prose below", described + "  Warning  FailedMount  3m (x12 over 25m)  kubelet  " + mount + "\nIt began on Monday.\n", want},
		{"another node", "Name:  other\nRoles: worker\nName:  db-0\nNamespace:  shop\nNode:  n-1/10.0.0.1\n  Warning  FailedMount  3m (x12 over 25m)  kubelet  " + mount + "\n", want},
		{"without a name, but scheduled", "  Normal  Scheduled  25m  default-scheduler  Successfully assigned shop/db-0 to n-1\n  Warning  FailedMount  3m (x12 over 25m)  kubelet  " + mount + "\n", want},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := events(t, c.text)
			if len(found) == 0 {
				t.Fatal("no event")
			}
			if diff := cmp.Diff(c.want, found[len(found)-1]); diff != "" {
				t.Errorf("-want +have\n%s", diff)
			}
		})
	}
}

// TestObjects has the object as text, in a list and alone, with prose around.
func TestObjects(t *testing.T) {
	want := Event{
		Type: "Warning", Reason: "FailedKillPod", Message: "error killing pod: x", Kind: "Pod", Namespace: "ml", Name: "a-0", UID: "u-1", Component: "kubelet", Host: "n-2",
		Count: 57, First: time.Date(2025, 2, 8, 8, 11, 30, 0, time.UTC), Last: time.Date(2025, 2, 8, 10, 2, 13, 0, time.UTC),
	}
	item := "apiVersion: v1\n  count: 57\n  firstTimestamp: \"2025-02-08T08:11:30Z\"\n  involvedObject:\n    kind: Pod\n    name: a-0\n    namespace: ml\n    uid: u-1\n" +
		"  kind: Event\n  lastTimestamp: \"2025-02-08T10:02:13Z\"\n  message: 'error killing\n    pod: x'\n  reason: FailedKillPod\n  source:\n    component: kubelet\n    host: n-2\n  type: Warning\n"
	json := `"count": 57, "firstTimestamp": "2025-02-08T08:11:30Z", "lastTimestamp": "2025-02-08T10:02:13Z", "reason": "FailedKillPod", "type": "Warning", "kind": "Event", "message": "error killing pod: x",
  "involvedObject": {"kind": "Pod", "name": "a-0", "namespace": "ml", "uid": "u-1"}, "source": {"component": "kubelet", "host": "n-2"}}`
	for name, text := range map[string]string{
		"YAML, a list":           "See:\n\napiVersion: v1\nitems:\n- " + item + "kind: List\nmetadata:\n  resourceVersion: \"\"\nThat is all.\n",
		"YAML, members of one":   "- " + item,
		"YAML, indented":         "Text\n\n    " + strings.ReplaceAll(strings.ReplaceAll(item, "\n  ", "\n"), "\n", "\n    ") + "\n",
		"YAML, several":          "---\n" + strings.ReplaceAll(item, "\n  ", "\n") + "---\nkind: Pod\nmetadata:\n  name: x\n",
		"JSON beside prose":      "It says\n{\n  \"apiVersion\": \"v1\", " + json + "\n\nThat is all.\n",
		"JSON, one in each line": `{"apiVersion":"v1",` + strings.ReplaceAll(json, "\n", " ") + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, objects, _ := Lines([]byte(text), saved)
			text := string(objects)
			if i := strings.Index(text, `{"apiVersion":"v1","count"`); i > 0 { // of a list
				text = text[i : strings.LastIndex(text, `"Warning"}`)+len(`"Warning"}`)]
			}
			found, ok := ParseEvent(strings.Split(strings.ReplaceAll(text, "\n ", " "), "\n")[0])
			if !ok {
				t.Fatalf("no event in %s", objects)
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("-want +have\n%s", diff)
			}
		})
	}
}

// TestShown has the objects of which a text shows something.
func TestShown(t *testing.T) {
	pvc := "Name:          data\nNamespace:     shop\nStorageClass:  fast\nStatus:        Terminating (lasts 3h)\nVolume:        pv-7\nFinalizers:    [kubernetes.io/pvc-protection example.com/x]\nAccess Modes:  RWO\n"
	claim := `{"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","deletionTimestamp":"2026-11-20T09:00:00Z","finalizers":["kubernetes.io/pvc-protection","example.com/x"]},"spec":{"volumeName":"pv-7"}}` + "\n"
	user := func(name, phase string) string {
		return `{"kind":"Pod","metadata":{"name":"` + name + `","namespace":"shop"},"spec":{"volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]},"status":{"phase":"` + phase + `"}}` + "\n"
	}
	pod := "Name:         db-0\nNamespace:    shop\nNode:         n-1/10.0.0.1\nStatus:       "
	pending := pod + "Pending\nEvents:\n"
	taint := "0/3 nodes are available: 3 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }."
	unscheduled := `{"kind":"Pod","metadata":{"name":"db-0","namespace":"shop"},"status":{"conditions":[{"lastTransitionTime":"2026-11-20T10:47:00Z","message":"` + taint + `","reason":"Unschedulable","status":"False","type":"PodScheduled"}],"phase":"Pending"}}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"claim, in use":         {pvc + "Used By:       db-0\n               db-1\nEvents:        <none>\n\nNAME   READY   STATUS   RESTARTS   AGE\ndb-1   1/1   Running   2 (3d ago)   8d\n", claim + user("db-0", "Unknown") + user("db-1", "Running")},
		"claim, up to 1.19":     {pvc + "Mounted By:    db-0\nEvents:        <none>\n", claim + user("db-0", "Unknown")},
		"claim, not in use":     {pvc + "Used By:       <none>\nEvents:        <none>\n", claim},
		"claim, not deleted":    {strings.Replace(pvc, "Terminating (lasts 3h)", "Bound", 1) + "Used By: db-0\n", ""},
		"claims, a table":       {"$ kubectl get pvc -n shop\nNAME  STATUS  VOLUME  CAPACITY  ACCESS MODES  STORAGECLASS  AGE\nold   Bound   pv-1   1Gi   RWO   fast   9d\ndata   Terminating   pv-7   1Gi   RWO   fast   9d\n", `{"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","deletionTimestamp":"2026-11-20T12:00:00Z"},"spec":{"volumeName":"pv-7"}}` + "\n"},
		"claims among others":   {"$ kubectl get pvc -n shop\nNAME  STATUS  VOLUME  CAPACITY  ACCESS MODES  STORAGECLASS  AGE\npersistentvolumeclaim/old   Bound   pv-1   1Gi   RWO   fast   9d\npersistentvolumeclaim/data   Terminating   pv-7   1Gi   RWO   fast   9d\n", `{"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","deletionTimestamp":"2026-11-20T12:00:00Z"},"spec":{"volumeName":"pv-7"}}` + "\n"},
		"services among others": {"service/data   Terminating   pv-7   1Gi   RWO   fast   9d\n", ""},
		"volume":                {"Name:            pv-7\nFinalizers:      [kubernetes.io/pv-protection]\nStorageClass:    fast\nStatus:          Terminating (lasts 3h)\nClaim:           shop/data\nReclaim Policy:  Delete\nAccess Modes:    RWO\n", `{"kind":"PersistentVolume","metadata":{"name":"pv-7","deletionTimestamp":"2026-11-20T09:00:00Z","finalizers":["kubernetes.io/pv-protection"]},"spec":{"claimRef":{"name":"data","namespace":"shop"},"persistentVolumeReclaimPolicy":"Delete"}}` + "\n"},
		"volumes, a table":      {"pv-7   1Gi   RWO   Retain   Terminating   shop/data   fast   9d\n", `{"kind":"PersistentVolume","metadata":{"name":"pv-7","deletionTimestamp":"2026-11-20T12:00:00Z"},"spec":{"claimRef":{"name":"data","namespace":"shop"},"persistentVolumeReclaimPolicy":"Retain"}}` + "\n"},
		"volumes among others":  {"persistentvolume/pv-7   1Gi   RWO   Retain   Terminating   shop/data   fast   9d\n", `{"kind":"PersistentVolume","metadata":{"name":"pv-7","deletionTimestamp":"2026-11-20T12:00:00Z"},"spec":{"claimRef":{"name":"data","namespace":"shop"},"persistentVolumeReclaimPolicy":"Retain"}}` + "\n"},
		"pod":                   {pod + "Terminating (lasts 3h)\nVolumes:\n  v:\n    Type:       PersistentVolumeClaim\n    ClaimName:  data\nEvents:  <none>\n", `{"kind":"Pod","metadata":{"name":"db-0","namespace":"shop","deletionTimestamp":"2026-11-20T09:00:00Z"},"spec":{"nodeName":"n-1","volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]},"status":{"phase":"Unknown"}}` + "\n"},
		"pod, an old kubectl":   {pod + "Terminating (expires Fri, 20 Nov 2026 10:00:00 +0100)\nEvents:  <none>\n", `{"kind":"Pod","metadata":{"name":"db-0","namespace":"shop","deletionTimestamp":"2026-11-20T09:00:00Z"},"spec":{"nodeName":"n-1"},"status":{"phase":"Unknown"}}` + "\n"},
		"claim, up to 1.10":     {strings.Replace(pvc, "lasts 3h", "since Fri, 20 Nov 2026 10:00:00 +0100", 1), claim},
		"said after the events": {pending + "  <none>\nStatus:  Terminating (lasts 3h)\n", ""},
		"disk pressure":         {pending + "  Warning  FailedScheduling  3m (x15 over 73m)  default-scheduler  " + taint + "\n", unscheduled},
		"named by the command":  {"$ k describe po db-0 -n shop | tail -3\nEvents:\n  Warning  FailedScheduling  3m (x15 over 73m)  default-scheduler  " + taint + "\n", unscheduled},
		"scheduled since":       {pending + "  Warning  FailedScheduling  3m (x15 over 73m)  default-scheduler  " + taint + "\n  Normal  Scheduled  1m  default-scheduler  Successfully assigned shop/db-0 to n-1\n", ""},
		"a condition alone":     {"status:\n  conditions:\n  - message: '0/1 nodes are available: 1 node(s) had taint {node.kubernetes.io/disk-pressure:\n      }, that the pod didn''t tolerate.'\n    reason: Unschedulable\n", `{"kind":"Pod","metadata":{"name":""},"status":{"conditions":[{"message":"0/1 nodes are available: 1 node(s) had taint {node.kubernetes.io/disk-pressure: }, that the pod didn't tolerate.","reason":"Unschedulable","status":"False","type":"PodScheduled"}],"phase":"Pending"}}` + "\n"},
		"a condition, no room":  {"  - message: '0/1 nodes are available: 1 Insufficient cpu.'\n    reason: Unschedulable\n", ""},
		"a message in prose":    {"It says 0/1 nodes are available: 1 node(s) had taint {node.kubernetes.io/disk-pressure: }.\n", ""},
		"no room":               {pending + "  Warning  FailedScheduling  3m (x15 over 73m)  default-scheduler  0/3 nodes are available: 3 Insufficient cpu.\n", strings.Replace(unscheduled, taint, "0/3 nodes are available: 3 Insufficient cpu.", 1)},
		"no room, a new node":   {pending + "  Warning  FailedScheduling  3m (x5 over 7m)  default-scheduler  0/3 nodes are available: 3 Insufficient cpu.\n  Normal  TriggeredScaleUp  2m  cluster-autoscaler  pod triggered scale-up: [{asg 3->4 (max: 9)}]\n", ""},
		"a node that joins":     {pending + "  Warning  FailedScheduling  1m (x2 over 3m)  default-scheduler  0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.\n", ""},
		"prose":                 {"The claim data is Terminating (lasts 3h).\nStatus: Terminating\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, shown := Lines([]byte(c.text), saved)
			if diff := cmp.Diff(c.want, string(shown)); diff != "" {
				t.Errorf("-want +have\n%s", diff)
			}
		})
	}
}

// TestShownWithoutTime has a text of which nobody knows when it was written: what has no time, and what says its own.
func TestShownWithoutTime(t *testing.T) {
	const claim = "Name:  data\nNamespace:  shop\nStorageClass:  fast\nAccess Modes:  RWO\nStatus:  Terminating (%s)\n"
	for status, want := range map[string]string{
		"lasts 3h":                              "",
		"since Fri, 20 Nov 2026 10:00:00 +0100": `{"kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"shop","deletionTimestamp":"2026-11-20T09:00:00Z"},"spec":{"volumeName":""}}` + "\n",
	} {
		if _, _, shown := Lines(fmt.Appendf(nil, claim, status), time.Time{}); string(shown) != want {
			t.Errorf("%s: %s", status, shown)
		}
	}
}

// TestNodes has what says that a node is in trouble, and what does not.
func TestNodes(t *testing.T) {
	row := func(kind, status, reason, message string) string {
		return "  " + kind + "   " + status + "   Fri, 20 Nov 2026 11:58:00 +0000   Fri, 20 Nov 2026 10:00:00 +0000   " + reason + "   " + message + "\n"
	}
	since := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"not ready":                     {"Name: n-1\nRoles: <none>\n" + row("Ready", "False", "KubeletNotReady", "cni plugin not initialized"), []string{"NodeNotReady n-1 kubelet cni plugin not initialized"}},
		"unknown":                       {"Name: n-1\nRoles: <none>\n" + row("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."), []string{"NodeNotReady n-1 node-controller Kubelet stopped posting node status."}},
		"unknown, without times":        {"Name: n-1\nRoles: <none>\n  Ready            Unknown         NodeStatusUnknown     Kubelet stopped posting node status.\n", []string{"NodeNotReady n-1 node-controller Kubelet stopped posting node status."}},
		"unknown, a condition in JSON":  {"{\n  \"lastTransitionTime\": \"2026-11-20T10:00:00Z\",\n  \"message\": \"Kubelet stopped posting node status.\",\n  \"reason\": \"NodeStatusUnknown\",\n  \"status\": \"Unknown\",\n  \"type\": \"Ready\"\n", []string{"NodeNotReady  node-controller Kubelet stopped posting node status."}},
		"pressure":                      {"Name: n-1\nRoles: <none>\n" + row("DiskPressure", "True", "KubeletHasDiskPressure", "kubelet has disk pressure"), []string{"KubeletHasDiskPressure n-1 kubelet kubelet has disk pressure"}},
		"well":                          {"Name: n-1\nRoles: <none>\n" + row("Ready", "True", "KubeletReady", "kubelet is posting ready status") + row("DiskPressure", "False", "KubeletHasNoDiskPressure", "x"), nil},
		"of a pod":                      {"Name: p\nNamespace: x\nConditions:\n  Type              Status\n  Ready             False\n", nil},
		"a table":                       {"NAME   STATUS     ROLES    AGE    VERSION\nn-1    Ready      <none>   1d     v1.29.3\nn-2    NotReady,SchedulingDisabled   worker   1d2h   v1.29.3\n", []string{"NodeNotReady n-2 kubelet "}},
		"an old table":                  {"NAME      STATUS     AGE       VERSION\nn-2       NotReady   1d        v1.6.4\n", []string{"NodeNotReady n-2 kubelet "}},
		"watched, ready at the end":     {"n-1   Ready   worker   1d   v1.25.8\nn-1   NotReady,SchedulingDisabled   worker   1d   v1.25.8\nn-1   Ready,SchedulingDisabled   worker   1d   v1.26.5\n", nil},
		"watched, another is ready":     {"n-1   NotReady   worker   1d   v1.25.8\nn-2   Ready   worker   1d   v1.25.8\n", []string{"NodeNotReady n-1 kubelet "}},
		"watched, not ready at the end": {"n-1   NotReady   worker   1d   v1.25.8\nn-1   Ready   worker   1d   v1.25.8\nn-1   NotReady   worker   1d   v1.25.8\n", []string{"NodeNotReady n-1 kubelet "}},
		"prose":                         {"The node n-2 is NotReady since the upgrade to v1.29.3. Warning FailedMount appears 3 times a day.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var have []string
			for _, e := range events(t, c.text) {
				have = append(have, e.Reason+" "+e.Name+" "+e.Component+" "+e.Message)
				if !e.First.IsZero() && !e.First.Equal(since) {
					t.Errorf("since %s", e.First)
				}
			}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("-want +have\n%s", diff)
			}
		})
	}
}

// TestRecords has rows and records without a time, and what takes them back.
func TestRecords(t *testing.T) {
	const heading = "CERTIFICATE                EXPIRES                  RESIDUAL TIME   CERTIFICATE AUTHORITY   EXTERNALLY MANAGED\n"
	const status = "Status:         Failed\nReason:         Evicted\nMessage:        The node was low on resource: inodes.\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a certificate":          {heading + "apiserver   Mar 03, 2022 10:16 UTC   <invalid>       ca      no\nca   Mar 01, 2031 10:16 UTC   8y              no\n", []string{"CertificateExpired apiserver expired on Mar 03, 2022 10:16 UTC"}},
		"one that is renewed":    {heading + "apiserver   Mar 03, 2022 10:16 UTC   <invalid>       ca      no\napiserver   Mar 09, 2023 10:16 UTC   364d            ca      no\n", nil},
		"an age that is invalid": {"LAST SEEN   TYPE   REASON   OBJECT   MESSAGE\n<invalid>   Normal   Pulled   pod/a   x\n", nil},
		"evicted, described":     {status, []string{"Evicted The node was low on resource: inodes."}},
		"evicted, in YAML":       {"status:\n  message: 'The node was low on resource: ephemeral-storage. Threshold quantity: 8585029837,\n    available: 7911560Ki. '\n  phase: Failed\n  reason: Evicted\n", []string{"Evicted The node was low on resource: ephemeral-storage. Threshold quantity: 8585029837,"}},
		"evicted when it came":   {"message: 'Pod The node had condition: [DiskPressure]. '\nphase: Failed\nreason: Evicted\n", []string{"Evicted The node had condition: [DiskPressure]."}},
		"evicted, and over":      {status + "Conditions:\n  DiskPressure     False   Tue, 12 Sep 2023 12:40:29 +0000   Wed, 06 Sep 2023 03:22:50 +0000   KubeletHasNoDiskPressure     x\n", nil},
		"evicted, a table":       {"NAME   NAMESPACE   STATUS    NODE   MESSAGE\nweb-0   shop   Evicted   n-1   The node was low on resource: inodes.\nweb-1   shop   Evicted   n-1   Pod The node had condition: [DiskPressure].\n", []string{"Evicted The node was low on resource: inodes.", "Evicted The node had condition: [DiskPressure]."}},
		"evicted, prose":         {"Many got Evicted since The node was low on resource: inodes.\n", nil},
		"an alert":               {"annotations:\n  message: 'The node was low on resource: ephemeral-storage.'\n  severity: page\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var have []string
			for _, e := range events(t, c.text) {
				have = append(have, e.Reason+" "+e.Message)
			}
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Errorf("-want +have\n%s", diff)
			}
		})
	}
}

func TestWrapped(t *testing.T) {
	long := "  Warning  FailedMount  3m (x12 over 25m)  kubelet  MountVolume.MountDevice failed for volume \"pvc-1\" : kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: driver name d.example.com not found in the list of registered CSI drivers"
	var wrapped []string
	for text := long; text != ""; text = text[min(80, len(text)):] {
		wrapped = append(wrapped, text[:min(80, len(text))])
	}
	found := events(t, strings.Join(wrapped, "\n")+"\n\nIs it the driver?\n")
	if len(found) != 1 || !strings.HasSuffix(found[0].Message, "driver name d.example.com not found in the list of registered CSI drivers") {
		t.Errorf("%+v", found)
	}
}

// TestAges: the page shows what there is at the time when it was saved.
func TestAges(t *testing.T) {
	lines, _, _ := Lines([]byte("Warning  FailedMount  42m  kubelet  x\n"), saved)
	last := strings.Split(strings.TrimSpace(string(lines)), "\n")
	if e, ok := ParseEvent(last[len(last)-1]); !ok || !e.Last.Equal(saved) {
		t.Errorf("%s", lines)
	}
	lines, _, _ = Lines([]byte("Warning  FailedMount  42m  kubelet  x\n"), time.Time{})
	if e, ok := ParseEvent(strings.TrimSpace(string(lines))); !ok || !e.Last.IsZero() {
		t.Errorf("%s", lines)
	}
	for text, want := range map[string]time.Duration{"3m10s": 190 * time.Second, "5d4h": 124 * time.Hour, "2y3d": (2*365 + 3) * 24 * time.Hour, "12s": 12 * time.Second, "500ms": time.Second / 2} {
		if have := length(text); have != want {
			t.Errorf("%s: %s, want %s", text, have, want)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("Name: a\nNamespace: b\n Warning FailedMount 3m (x12 over 25m) kubelet x\n- apiVersion: v1\n  kind: Event\n{\n\"kind\":\"Event\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines, _, _ := Lines([]byte(text), saved)
		if lines != nil && strings.Count(string(lines), "\n") < strings.Count(text, "\n") {
			t.Error("lines are missing")
		}
	})
}
