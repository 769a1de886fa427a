package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// kindWords is the name of a kind of entity.
func kindWords(k forensics.Kind) string {
	switch k {
	case forensics.KindSuperblock:
		return "file system"
	case forensics.KindSubsystem:
		return "kubelet component"
	case forensics.KindCSIDriver:
		return "CSI driver"
	}
	return string(k)
}

// entityWords names an entity: "thread 9825/9839".
func entityWords(e forensics.Entity) string {
	switch {
	case e.Kind == forensics.KindKubelet && e.ID != "kubelet":
		return "kubelet (pid " + e.ID + ")"
	case e.ID == string(e.Kind):
		return e.ID
	case e.Kind == forensics.KindSuperblock:
		return "superblock " + e.ID
	case e.Kind == forensics.KindSubsystem:
		return forensics.SubsystemName(e.ID)
	}
	return kindWords(e.Kind) + " " + e.ID
}

// linkWords is the word between two links of a chain.
func linkWords(cause, effect forensics.Link) string {
	if cause.Kind == forensics.KindSubsystem && effect.Kind == forensics.KindSubsystem && effect.ID == "image-gc" {
		return "triggers" // eviction does not stall it: it has images removed
	}
	return edgeWords(cause.Kind, effect.Kind)
}

// edgeWords is the word between a cause and its effect.
func edgeWords(cause, effect forensics.Kind) string {
	switch [2]forensics.Kind{cause, effect} {
	case [2]forensics.Kind{forensics.KindSuperblock, forensics.KindMount}:
		return "is mounted as"
	case [2]forensics.Kind{forensics.KindMount, forensics.KindThread},
		[2]forensics.Kind{forensics.KindSuperblock, forensics.KindThread},
		[2]forensics.Kind{forensics.KindThread, forensics.KindSubsystem},
		[2]forensics.Kind{forensics.KindMount, forensics.KindSubsystem},
		[2]forensics.Kind{forensics.KindSuperblock, forensics.KindSubsystem},
		[2]forensics.Kind{forensics.KindRuntime, forensics.KindSubsystem}:
		return "blocks"
	case [2]forensics.Kind{forensics.KindThread, forensics.KindGoroutine}:
		return "runs"
	case [2]forensics.Kind{forensics.KindGoroutine, forensics.KindSubsystem}:
		return "runs"
	case [2]forensics.Kind{forensics.KindSubsystem, forensics.KindSubsystem}:
		return "stalls"
	case [2]forensics.Kind{forensics.KindSubsystem, forensics.KindKubelet}:
		return "stalls"
	case [2]forensics.Kind{forensics.KindProcess, forensics.KindThread},
		[2]forensics.Kind{forensics.KindProcess, forensics.KindSuperblock}:
		return "serves"
	case [2]forensics.Kind{forensics.KindProcess, forensics.KindMount}:
		return "uses"
	}
	switch effect {
	case forensics.KindPod:
		return podEdge(cause)
	case forensics.KindProcess, forensics.KindThread, forensics.KindContainer:
		return "blocks"
	case forensics.KindVolume, forensics.KindPath:
		return "is used by"
	}
	return "leads to"
}

func podEdge(cause forensics.Kind) string {
	switch cause {
	case forensics.KindMount, forensics.KindSuperblock, forensics.KindVolume:
		return "is a volume of"
	case forensics.KindKubelet, forensics.KindSubsystem, forensics.KindRuntime:
		return "blocks"
	}
	return "affects"
}

// count is "1 pod", "3,000 pods".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "y") {
		return grouped(int64(n)) + " " + strings.TrimSuffix(thing, "y") + "ies"
	}
	if strings.HasSuffix(thing, "s") {
		return grouped(int64(n)) + " " + thing + "es"
	}
	return grouped(int64(n)) + " " + thing + "s"
}

// segment is a part of a sentence; code has another font.
type segment struct {
	Text shown
	Code bool
}

// prose sets long paths and addresses in a sentence as code.
func prose(s shown) []segment {
	var list []segment
	add := func(text string, code bool) {
		if text == "" {
			return
		}
		if n := len(list); n > 0 && list[n-1].Code == code {
			list[n-1].Text += shown(text)
			return
		}
		list = append(list, segment{shown(text), code})
	}
	for word := range strings.SplitAfterSeq(string(s), " ") {
		core := strings.Trim(word, " .,;:")
		if len(core) < 12 || strings.Count(core, "/") < 2 {
			add(word, false)
			continue
		}
		before, after, _ := strings.Cut(word, core)
		add(before, false)
		add(core, true)
		add(after, false)
	}
	return list
}

// grouped writes thousands with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// bytesWords is "64.0 MiB".
func bytesWords(n int64) string {
	if n < 1024 {
		return grouped(n) + " B"
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < 4 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, "KMGTP"[unit])
}

// age is the time from t to now: "46 min"; "" where t is later than now.
func age(t, now time.Time) string {
	if now.IsZero() || t.After(now) {
		return ""
	}
	return text.Duration(now.Sub(t).Seconds())
}

// capital starts a sentence with a capital, unless its first word is a name, a path or a command.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	for _, c := range []byte(strings.TrimRight(first, ".,:;")) {
		if c < 'a' || c > 'z' {
			return s
		}
	}
	if first == "" || slices.Contains(commandWords, first) {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// commandWords are names of programs, which have no capital.
var commandWords = []string{"umount", "mount", "rmdir", "kubectl", "systemctl", "kubelet", "containerd", "crictl", "ctr", "docker", "kill", "echo", "rm", "fuser", "lsof", "df"}
