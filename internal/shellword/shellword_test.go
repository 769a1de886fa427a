package shellword

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/internal/text"
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
		out, err := exec.Command(bash, "-c", "printf %s "+Quote(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("quote(%q) = %s, bash reads %q, %v", s, Quote(s), out, err)
		}
		if stored := text.ToValidUTF8(s); Quote(stored) != Quote(s) {
			t.Errorf("%q is stored as %q and quoted %s, want %s", s, stored, Quote(stored), Quote(s))
		}
	}
}

// TestQuoteIsOneWord pastes words into other shells than bash: one that does not know all of the quotes reads another word, but
// never a command.
func TestQuoteIsOneWord(t *testing.T) {
	tried := 0
	for _, shell := range []string{"bash", "dash", "busybox"} {
		binary, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		args := []string{"-c"}
		if shell == "busybox" {
			args = []string{"sh", "-c"}
		}
		for _, s := range []string{
			"/mnt/\xe9'; echo marked #", "/mnt/\n'\necho marked #", `/mnt/'; echo marked #`, `/mnt/\'; echo marked #`, "/mnt/\x1b\\'`echo marked`'", "/mnt/\u202e'$(echo marked)'",
		} {
			tried++
			out, err := exec.Command(binary, append(args, "printf '<%s>' "+Quote(s))...).Output()
			if got := string(out); err != nil || strings.Count(got, "<") != 1 || strings.Contains(strings.ReplaceAll(got, "echo marked", ""), "marked") {
				t.Errorf("%s reads %s as %q, %v", shell, Quote(s), got, err)
			}
		}
	}
	if tried == 0 {
		t.Skip("needs a shell")
	}
}

// TestJoin lets bash take a line apart again.
func TestJoin(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash: ", err)
	}
	args := []string{"printf", "<%s>", "a b", "", "it's", "*", "-n", "\n", "=x", "$(echo marked)"}
	out, err := exec.Command(bash, "-c", Join(args)).Output()
	if want := "<a b><><it's><*><-n><\n><=x><$(echo marked)>"; err != nil || string(out) != want {
		t.Errorf("bash reads %s as %q, %v, want %q", Join(args), out, err, want)
	}
	if got, want := Join([]string{"umount", "-c", "/a/b"}), "umount -c /a/b"; got != want {
		t.Errorf("%s, want %s: what needs no quotes has none", got, want)
	}
}
