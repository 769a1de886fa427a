package live

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestASavedJournalIsRead wants the file handed over open, all its records, and the name of the machine.
func TestASavedJournalIsRead(t *testing.T) {
	saved, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = saved.Close() }()
	said := filepath.Join(t.TempDir(), "said")
	r, err := FindOptions{Journalctl: journalctl(t, `echo "$*" >> `+said+`; echo '{"MESSAGE":"x"}'`)}.Journal(t.Context(), saved)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if string(text) != "{\"MESSAGE\":\"x\"}\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	_ = r.Close()
	args, _ := os.ReadFile(said)
	if words := strings.Fields(string(args)); !slices.Contains(words, "--file=/proc/self/fd/3") || !strings.Contains(string(args), ",_HOSTNAME") || strings.Contains(string(args), "--since") {
		t.Errorf("arguments %q", args)
	}
	for _, script := range []string{"echo 'Failed to open files: Bad message' >&2; exit 1", "exit 0"} {
		if _, err := (FindOptions{Journalctl: journalctl(t, script)}).Journal(t.Context(), saved); err == nil {
			t.Errorf("%q is no error", script)
		}
	}
}
