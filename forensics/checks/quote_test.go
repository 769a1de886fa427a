package checks

import (
	"os/exec"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestQuote lets bash read the words back.
func TestQuote(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash: ", err)
	}
	for _, s := range []string{
		"", "/var/lib/kubelet/pods/5c94/volumes/kubernetes.io~csi/x/mount", "a b", "it's", "$(reboot)", "`reboot`", "a\nb",
		"\x1b[31m", "ünï", "\xff\xfe", `\`, "-rf", "~root", "a;b", "\u202e", "'\n'",
	} {
		out, err := exec.Command(bash, "-c", "printf %s "+quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("quote(%q) = %s, bash reads %q, %v", s, quote(s), out, err)
		}
		if stored := forensics.ToValidUTF8(s); quote(stored) != quote(s) {
			t.Errorf("%q is stored as %q and quoted %s, want %s", s, stored, quote(stored), quote(s))
		}
	}
}
