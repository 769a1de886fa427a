package report

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// tone is how something is marked: by a word and a shape first, by colour in addition.
type tone string

const (
	toneBad   tone = "bad"   // a proven problem
	toneWarn  tone = "warn"  // a problem that can pass, or a doubt
	toneNote  tone = "note"  // worth knowing
	toneGood  tone = "good"  // checked and healthy
	toneQuiet tone = "quiet" // nothing is known
)

// rank orders tones, worst first.
func (t tone) rank() int {
	switch t {
	case toneBad:
		return 0
	case toneWarn:
		return 1
	case toneNote:
		return 2
	case toneGood:
		return 4
	}
	return 3
}

func severityTone(s forensics.Severity) tone {
	switch s {
	case forensics.Critical:
		return toneBad
	case forensics.Warning:
		return toneWarn
	case forensics.Info:
		return toneNote
	}
	return toneQuiet
}

func outcomeTone(s forensics.OutcomeStatus) tone {
	switch s {
	case forensics.OutcomeFound:
		return toneWarn
	case forensics.OutcomeClean:
		return toneGood
	case forensics.OutcomeFailed:
		return toneBad
	}
	return toneQuiet
}

func sourceTone(s forensics.SourceStatus) tone {
	switch s {
	case forensics.SourceRead:
		return toneGood
	case forensics.SourceAbsent:
		return toneQuiet
	}
	return toneWarn
}

// healthWords is the status of a mount in a word or two, and its tone.
func healthWords(s mounts.Status) (string, tone) {
	switch s {
	case mounts.StatusOK:
		return "responding", toneGood
	case mounts.StatusSlow:
		return "slow", toneWarn
	case mounts.StatusHung:
		return "hung", toneBad
	case mounts.StatusUnanswered:
		return "no response yet", toneWarn
	case mounts.StatusFrozen:
		return "frozen", toneBad
	case mounts.StatusStale:
		return "stale", toneBad
	case mounts.StatusDisconnected:
		return "disconnected", toneBad
	case mounts.StatusIOError:
		return "I/O error", toneBad
	case mounts.StatusDenied:
		return "not permitted", toneQuiet
	case mounts.StatusRecovered:
		return "recovered", toneWarn
	case mounts.StatusNotProbed:
		return "not probed", toneQuiet
	}
	return string(s), toneQuiet
}
