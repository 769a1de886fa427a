package collect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/collect"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

const kubeletLog = `E1120 10:00:02.000001    2588 kubelet_volumes.go:154] Orphaned pod "` + deadPod + `" found, but volume paths are still present on disk : There were a total of 7 errors similar to this. Turn up verbosity to see them.
E1120 10:00:03.000001    2588 server.go:1] "command failed" err="failed to run Kubelet: Authorization: Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6IiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJlc2lnbmF0dXJl"
`

// withLog is the disk of a node that wrote a kubelet's log and died a month ago.
func withLog(t testing.TB) (root string, died time.Time) {
	t.Helper()
	root = writeTree(t, map[string]string{"var/log/kubelet.log": kubeletLog, "etc/localtime": "no zone"})
	died = time.Date(2026, 11, 20, 10, 0, 4, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, "var/log/kubelet.log"), died, died); err != nil {
		t.Fatal(err)
	}
	return root, died
}

func collectLogs(t testing.TB, opt collect.Options) forensics.Evidence {
	t.Helper()
	opt.Now = func() time.Time { return time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC) }
	e, err := collect.Collect(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func status(e forensics.Evidence, source string) forensics.SourceStatus {
	for _, s := range e.Coverage {
		if s.Source == source {
			return s.Status
		}
	}
	return ""
}

func TestCollectReadsLogs(t *testing.T) {
	root, died := withLog(t)
	e := collectLogs(t, collect.Options{Root: root})
	if e.Logs == nil || e.Logs.Last == nil || died.Sub(*e.Logs.Last) > time.Second {
		t.Fatalf("the story is %+v", e.Logs)
	}
	kinds := map[logs.Kind]bool{}
	for _, event := range e.Logs.Events {
		kinds[event.Kind] = true
		for _, q := range event.Quotes {
			if strings.Contains(q.Text+event.Reason, "eyJpc3Mi") {
				t.Errorf("a token is quoted: %s", q.Text)
			}
		}
	}
	if !kinds[logs.KindOrphan] || !kinds["kubelet-fatal"] {
		t.Errorf("%v", kinds)
	}
	if len(e.Redactions) == 0 {
		t.Error("nothing was masked")
	}
	for source, want := range map[string]forensics.SourceStatus{
		"logs": forensics.SourceRead, "logs:/var/log/kubelet.log": forensics.SourceRead, "logs:journal": forensics.SourceAbsent, "logs:kernel": forensics.SourceAbsent,
	} {
		if got := status(e, source); got != want {
			t.Errorf("%s is %q, want %q", source, got, want)
		}
	}
}

func TestCollectReadsTheLogsThatAreGivenAndNoOthers(t *testing.T) {
	root, _ := withLog(t)
	given := filepath.Join(t.TempDir(), "other.log")
	if err := os.WriteFile(given, []byte(strings.ReplaceAll(kubeletLog, "command failed", "nothing")), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing.log")
	e := collectLogs(t, collect.Options{Root: root, Logs: []string{given, missing}})
	if len(e.Logs.Events) != 1 {
		t.Errorf("events %+v", e.Logs.Events)
	}
	if len(e.Logs.Files) != 2 || e.Logs.Files[0].Path != given || status(e, "logs:"+missing) != forensics.SourceAbsent || status(e, "logs") != forensics.SourceRead {
		t.Errorf("%+v\n%+v", e.Logs.Files, e.Coverage)
	}
}

func TestCollectReadsNoLogsIfToldSo(t *testing.T) {
	root, _ := withLog(t)
	e := collectLogs(t, collect.Options{Root: root, NoLogs: true})
	if e.Logs != nil || status(e, "logs") != forensics.SourceAbsent {
		t.Errorf("%v, %q", e.Logs, status(e, "logs"))
	}
}

func TestCollectWithoutAnyLogSaysSo(t *testing.T) {
	e := collectLogs(t, collect.Options{Root: t.TempDir()})
	if e.Logs == nil || status(e, "logs") != forensics.SourceAbsent || status(e, "logs:kubelet") != forensics.SourceAbsent {
		t.Errorf("%v, %+v", e.Logs, e.Coverage)
	}
}
