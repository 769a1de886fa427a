package kubectl

import (
	"bytes"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// stopSilent is a command that is to stop or to remove a container, and does not return.
const stopSilent = "StopSilent"

// possible is a word of a sentence about what may be.
var possible = pattern.New(`\bmay\b|(?i)\b(?:if|can|could|might|when|whenever|guide|how to|why do|stories)\b`)

// busyRemoval is a sentence about a container that cannot be removed, since a mount of it is in use.
var busyRemoval = pattern.New(`(?i)\b(?:docker|podman) rm\b[^.。！!\n]{0,60}\bdevice (?:or resource )?(?:is )?busy`)

// Hearsay returns a text with the first line that tells of a command or a pod that is stuck, in somebody's own words, replaced by an event of
// that; nil if there is none, or if the text shows more.
func Hearsay(text []byte) []byte {
	ofCommand := slices.ContainsFunc([]string{"docker ", "crictl ", "nerdctl ", "ctr "}, func(s string) bool { return bytes.Contains(text, []byte(s)) })
	ofPod := bytes.Contains(text, []byte("erminati"))
	if !ofCommand && !ofPod || hearsay.ShowsMore(text) {
		return nil
	}
	ofPod = ofPod && hearsay.IsProse(text) && !mayWait.Match(text)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		e := Event{Type: "Warning", Count: 1}
		c, ok := hearsay.Hanging(line)
		if !ok && ofCommand {
			c, ok = hearsay.HangingBelow(lines, i)
		}
		if ofCommand && ok && c.Verb != "" {
			if e.Reason, e.Component = runtimeSilent, hearsay.Origin; c.Verb == "stop" || c.Verb == "kill" || c.Verb == "rm" {
				e.Reason = stopSilent
			}
			e.Message = "the text says that it does not return: " + c.String()
		} else if ofCommand && busyRemoval.MatchString(line) {
			e.Reason, e.Component, e.Message = stopSilent, hearsay.Origin, "the text says that it is busy: "+strings.TrimSpace(line)
		} else if ofPod && saysStuck.MatchString(line) && !possible.MatchString(line) {
			e.Reason, e.Kind, e.Name, e.Message = StuckTerminating, "Pod", "unnamed", strings.TrimSpace(line)
		} else {
			continue
		}
		lines[i] = strings.TrimSuffix(string(e.Line()), "\n")
		return []byte(strings.Join(lines, "\n"))
	}
	return nil
}
