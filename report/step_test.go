package report

import (
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// TestStepText quotes commands, whatever is in their arguments, and takes what has none for prose unless it is from a report of v1.
func TestStepText(t *testing.T) {
	for _, tt := range []struct {
		remedy forensics.Remedy
		want   string
		prose  bool
	}{
		{forensics.Remedy{Action: "unmount", Command: []string{"umount", "-c", "/a b"}}, "umount -c '/a b'", false},
		{forensics.Remedy{Action: "look", Command: []string{"Look", "at"}}, "Look at", false},
		{forensics.Remedy{Action: "unmount", Command: []string{"umount", "/a\n\x1b[31m`x`\u202e"}}, "umount $'/a\\x0a\\x1b[31m`x`\\xe2\\x80\\xae'", false},
		{forensics.Remedy{Action: "look", Instruction: "Look at it"}, "Look at it", true},
		{forensics.Remedy{Action: "look", Instruction: "kubectl shows it"}, "kubectl shows it", true},
		{forensics.Remedy{Action: "look", Instruction: "Look at \x1b[31m"}, `Look at \x1b[31m`, true},
		{forensics.Remedy{Instruction: "Look at it"}, "Look at it", true},
		{forensics.Remedy{Instruction: "dmesg -T | tail -n 200"}, "dmesg -T | tail -n 200", false},
	} {
		if got, prose := stepText(tt.remedy); got != tt.want || prose != tt.prose {
			t.Errorf("%+v: %s, prose %v; want %s, %v", tt.remedy.Command, got, prose, tt.want, tt.prose)
		}
	}
	long, prose := stepText(forensics.Remedy{Action: "unmount", Command: []string{"umount", strings.Repeat("/a", maxCommand)}})
	if !prose || !strings.Contains(long, "the JSON report holds it") {
		t.Errorf("a command that is too long: %.100s", long)
	}
}

func TestSentence(t *testing.T) {
	for command, want := range map[string]bool{
		"kubectl cordon worker-7":       false,
		"umount -f /x":                  false,
		"/usr/bin/true":                 false,
		"PATH=/bin umount /x":           false,
		"Bring the server back":         true,
		"Restart":                       true,
		"":                              false,
		"echo 1 > /sys/fs/fuse/5/abort": false,
	} {
		if got := sentence(command); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}
