package checks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// silent are the kinds of messages that no check mentions, with the reason: none of them is trouble by itself, or another kind says it.
// A kind that is trouble belongs to a check.
var silent = map[string]string{
	// The start of something that is followed: Story.Operations has those that do not end.
	"attach-started": "start", "attach-verify-started": "start", "attach-waiting": "start", "mount-started": "start", "unmount-started": "start",
	"device-unmount-started": "start",
	// Operations that fail: Story.Operations has those whose last try failed, and volume-mount-failing and volume-attach-failing report them.
	"mount-failed": "operation", "device-mount-failed": "operation", "attach-failed": "operation",
	// Success.
	"attach-done": "success", "attach-waited": "success", "device-mounted": "success",
	"pod-scheduled":         "start",
	"orphan-volume-removed": "success",
	// The stages of a deletion: Story.Deletions has those that do not end, and pod-terminating-stuck reports them.
	"container-exited": "stage", "container-killing": "stage", "prestop-unfinished": "stage", "pod-cgroup-removed": "stage", "pod-containers-stopped": "stage",
	"pod-forgotten": "stage", "pod-removed-from-api": "stage", "pod-status-final": "stage", "pod-sync-cancelled": "stage", "pod-teardown": "stage",
	"pod-terminated-sync": "stage", "pod-terminating": "stage", "pod-volume-paths-clean": "stage", "pod-volumes-unmounted": "stage",
	// The runs of the kubelet: Story.Lives has them, and kubelet-restarting reports how they end.
	"kubelet-panic": "run", "kubelet-signal": "run", "kubelet-stage": "run", "kubelet-stopping": "run", "kubelet-verbosity": "run", "kubelet-version": "run", "kubelet-watchdog": "run", "watchdog-withheld": "run",
	// The sync loop: Story.Loop has its silence, and kubelet-syncloop-stalled reports it.
	"syncloop-add": "loop", "syncloop-housekeeping": "loop", "syncloop-housekeeping-end": "loop", "syncloop-not-ready": "loop",
	"syncloop-pleg": "loop", "syncloop-probe": "loop", "syncloop-remove": "loop", "syncloop-restore": "loop",
	"syncloop-started": "loop", "syncloop-sync": "loop",
	// The next try after a sandbox that failed: it makes that failure last, see logs/parse_events.go.
	"sandbox-changed": "step",
	// A step before what is reported.
	"eviction-ranked": "step",
	// Chatter that says little of the node.
	"exec-failed":    "the command of a probe or hook failed: it tells of the application",
	"node-not-found": "a Node that was deleted, is not yet registered, or could not be read: an API server that is unreachable is reported",
	"pleg-ignored":   "PLEG tries the pod again in its next round; a runtime that does not respond is reported",
}

// TestNoEventIsMute holds that every kind of message is mentioned by a check, or that a reason stands here.
func TestNoEventIsMute(t *testing.T) {
	kinds, names := allKinds(t)
	said := mentioned(t, kinds, names)
	for kind := range kinds {
		_, exempt := silent[kind]
		switch noise := strings.HasPrefix(kind, "noise-"); {
		case noise: // log-noise has all of them
		case !said[kind] && !exempt:
			t.Errorf("%s (%s): no check mentions it, and no reason is given", kind, logs.Words(logs.Kind(kind)))
		case said[kind] && exempt:
			t.Errorf("%s: a check mentions it; it needs no reason", kind)
		}
	}
	for kind := range silent {
		if !kinds[kind] {
			t.Errorf("%s: no such kind", kind)
		}
	}
}

var (
	constant = regexp.MustCompile(`(?m)^\s*([kK]ind\w+)\s+Kind\s*=\s*"([^"]+)"`)
	row      = regexp.MustCompile(`(?m)\bkind:\s*"([^"]+)"`)
	exported = regexp.MustCompile(`\blogs\.(Kind[A-Z]\w+)`)
	ownID    = regexp.MustCompile(`(?m)^\s*ID:\s*"[^"]+"`)
	literal  = regexp.MustCompile(`"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)"`)
)

// allKinds reads the table of kinds, and the constants that name them.
func allKinds(t *testing.T) (kinds map[string]bool, names map[string]string) {
	t.Helper()
	kinds, names = map[string]bool{}, map[string]string{}
	for _, text := range sourcesIn(t, "../logs", "kinds_*.go") {
		for _, m := range constant.FindAllStringSubmatch(text, -1) {
			kinds[m[2]], names[m[1]] = true, m[2]
		}
		for _, m := range row.FindAllStringSubmatch(text, -1) {
			kinds[m[1]] = true
		}
	}
	if len(kinds) < 150 {
		t.Fatalf("%d kinds; the table was not read", len(kinds))
	}
	return kinds, names
}

// mentioned are the kinds that the checks and what they share name.
func mentioned(t *testing.T, kinds map[string]bool, names map[string]string) map[string]bool {
	t.Helper()
	said := map[string]bool{}
	for _, dir := range []string{".", "internal/*"} {
		for _, text := range sourcesIn(t, dir, "*.go") {
			for _, m := range exported.FindAllStringSubmatch(text, -1) {
				said[names[m[1]]] = true
			}
			for _, m := range literal.FindAllStringSubmatch(ownID.ReplaceAllString(text, ""), -1) { // some checks are called like a kind
				said[m[1]] = said[m[1]] || kinds[m[1]]
			}
		}
	}
	return said
}

func sourcesIn(t *testing.T, dir, pattern string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
