package checks

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/procs"
)

// TestLazyUnmounts has the options of umount(8) and fusermount(1), which use the same letters for different things.
func TestLazyUnmounts(t *testing.T) {
	for command, want := range map[string]bool{
		"umount /x": false, "umount -f /x": false, "umount -l /x": true, "umount -fl /x": true, "umount --lazy /x": true, "umount -z /x": false,
		"umount -t nfsl /x": false, "umount -tglusterfs /x": false,
		"fusermount -u /x": false, "fusermount -z /x": true, "fusermount -uz /x": true, "fusermount -u -z /x": true, "fusermount --lazy /x": true,
		"fusermount3 -u /x": false, "fusermount3 -uz /x": true, "fusermount3 -l /x": false,
	} {
		words := strings.Fields(command)
		if got := isLazy(procs.Process{Comm: path.Base(words[0]), Command: words}); got != want {
			t.Errorf("%s: %t", command, got)
		}
	}
}

// TestUnmountBusySaysWhatIsMissing has each of the two things that tell who holds a mount missing, with a log beside it: the
// check runs, but its outcome says so.
func TestUnmountBusySaysWhatIsMissing(t *testing.T) {
	for _, source := range []string{forensics.SourceMounts, forensics.SourceHolders} {
		e := wellNode(t)
		e.Coverage = slices.DeleteFunc(e.Coverage, func(s forensics.Source) bool { return s.Source == source })
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceDenied, Detail: "permission denied"})
		outcome := forensics.Analyze(&e, []forensics.Check{UnmountBusy}).Outcomes[0]
		if outcome.Status != forensics.OutcomeNotChecked || !strings.Contains(outcome.Reason, "who holds a mount was not judged: "+source+" ") {
			t.Errorf("without %s: %+v", source, outcome)
		}
	}
}
