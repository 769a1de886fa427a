package kubectl

import (
	"fmt"
	"testing"
	"time"
)

// TestWellAgain has what a text says of a node first and later: what is over is not said, and what is of another node ends nothing.
func TestWellAgain(t *testing.T) {
	row := func(node, status string) string { return node + "   " + status + "   <none>   210d   v1.29.6\n" }
	condition := func(kind, status, since string) string {
		return fmt.Sprintf("  %s   %s   Wed, 12 Nov 2025 11:00:00 +0000   Wed, 12 Nov 2025 %s:00 +0000   Reason   words\n", kind, status, since)
	}
	silent := func(kind string) string {
		return fmt.Sprintf("  %s   Unknown   Wed, 12 Nov 2025 11:00:00 +0000   Wed, 12 Nov 2025 11:01:00 +0000   NodeStatusUnknown   Kubelet stopped posting node status.\n", kind)
	}
	name := func(node string) string { return "Name:               " + node + "\nRoles:              <none>\n" }
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"a row, then Ready", row("w1", "NotReady") + row("w1", "Ready"), 0},
		{"a node in an upgrade, then Ready but cordoned", row("w1", "NotReady,SchedulingDisabled") + row("w1", "Ready,SchedulingDisabled"), 0},
		{"Ready, then not", row("w1", "Ready") + row("w1", "NotReady"), 1},
		{"another node is Ready", row("w1", "NotReady") + row("w2", "Ready"), 1},
		{"a node whose name begins as another", row("w1", "NotReady") + row("w11", "Ready"), 1},
		{"described, then a row", name("w1") + condition("Ready", "False", "10:00") + row("w1", "Ready"), 0},
		{"described twice", name("w1") + condition("Ready", "False", "10:00") + name("w1") + condition("Ready", "True", "10:20"), 0},
		{"another node described for comparison", name("w1") + condition("Ready", "False", "10:00") + name("w2") + condition("Ready", "True", "10:20"), 1},
		{"conditions of two nodes without their names", condition("Ready", "False", "10:00") + condition("Ready", "True", "02:20"), 1},
		{"a disk that was cleaned", condition("DiskPressure", "True", "10:00") + condition("DiskPressure", "False", "10:20"), 0},
		{"another pressure that ended", condition("DiskPressure", "True", "10:00") + condition("MemoryPressure", "False", "10:20"), 1},
		{"a node that is Ready under pressure", condition("DiskPressure", "True", "10:00") + condition("Ready", "True", "10:20"), 1},
		{"a table that is cut above Ready", name("w1") + silent("OutOfDisk") + silent("MemoryPressure"), 1},
		{"the whole table", name("w1") + silent("MemoryPressure") + silent("Ready"), 1},
		{"two nodes, cut", name("w1") + silent("MemoryPressure") + name("w2") + silent("PIDPressure"), 2},
		{"one that is back", name("w1") + silent("MemoryPressure") + row("w1", "Ready"), 0},
		{"an event that the API server has stored", "3m   Normal   NodeNotReady   node/w1   Node w1 status is now: NodeNotReady\n" + row("w1", "Ready"), 1},
	} {
		if got := events(t, "Type  Status  LastHeartbeatTime  LastTransitionTime  Reason  Message\n"+c.text); len(got) != c.want {
			t.Errorf("%s: %d events, want %d: %+v", c.name, len(got), c.want, got)
		}
	}
}

// TestGone has claims that a later answer does not have any more.
func TestGone(t *testing.T) {
	const claim = "$ kubectl get pvc\nNAME     STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   AGE\ndata-0   Terminating   pvc-01   10Gi       RWO            gp3            51d\n"
	for _, c := range []struct {
		name, later string
		gone        bool
	}{
		{"a list that is empty", "$ kubectl get pvc\nNo resources found in default namespace.\n", true},
		{"one that is not found", "Error from server (NotFound): persistentvolumeclaims \"data-0\" not found\n", true},
		{"another that is not found", "Error from server (NotFound): persistentvolumeclaims \"data-1\" not found\n", false},
		{"a volume of its name", "Error from server (NotFound): persistentvolumes \"data-0\" not found\n", false},
		{"a list of others that is empty", "$ kubectl get pods\nNo resources found in default namespace.\n", false},
		{"a list of another namespace that is empty", "$ kubectl -n other get pvc\nNo resources found in other namespace.\n", false},
		{"a request to delete it", "persistentvolumeclaim \"data-0\" deleted\n", false},
	} {
		if _, _, shown := Lines([]byte(claim+c.later), saved); (shown == nil) != c.gone {
			t.Errorf("%s: %s", c.name, shown)
		}
	}
}

// TestListedAgain has a table that was printed again: ages count from when a table was printed, so that only the last one tells when an event was.
func TestListedAgain(t *testing.T) {
	row := func(age, reason string) string {
		return "  Warning  " + reason + "  " + age + "  kubelet  it failed\n"
	}
	const heading = "  Type     Reason  Age  From  Message\n"
	for _, c := range []struct {
		name, text string
		want       []time.Duration
	}{
		{"once", heading + row("2m", "FailedMount"), []time.Duration{2 * minute}},
		{"again, later", heading + row("2m", "FailedMount") + heading + row("5m", "FailedMount"), []time.Duration{5 * minute}},
		{"again, in a chat", row("2m", "FailedMount") + "[09:16] ada: look\n" + row("5m", "FailedMount"), []time.Duration{5 * minute}},
		{"again, at the next prompt", row("2m", "FailedMount") + "$ kubectl describe pod\n" + row("5m", "FailedMount"), []time.Duration{5 * minute}},
		{"twice in one table", heading + row("2m", "FailedMount") + row("5m", "FailedMount"), []time.Duration{2 * minute, 5 * minute}},
		{"with the same age", heading + row("2m", "FailedMount") + heading + row("2m", "FailedMount"), []time.Duration{2 * minute, 2 * minute}},
		{"newest first", heading + row("5m", "FailedMount") + heading + row("2m", "FailedMount"), []time.Duration{5 * minute, 2 * minute}},
		{"another reason", heading + row("2m", "FailedMount") + heading + row("5m", "FailedAttachVolume"), []time.Duration{2 * minute, 5 * minute}},
		{"more often before", heading + row("2m (x9 over 4m)", "FailedMount") + heading + row("5m", "FailedMount"), []time.Duration{2 * minute, 5 * minute}},
	} {
		var ages []time.Duration
		for _, e := range events(t, c.text) {
			ages = append(ages, saved.Sub(e.Last))
		}
		if fmt.Sprint(ages) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, ages, c.want)
		}
	}
}
