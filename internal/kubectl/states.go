package kubectl

import (
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

var (
	// unitHeading begins what "systemctl status" prints of a unit. Old ones print no sign, and people lose it.
	unitHeading = pattern.New(`^(?:[^\w\s] ?|\* )?([\w@-]+)\.service(?: - |$)`)
	// unitRuns is how long a unit has been active.
	unitRuns = pattern.New(`^\s*Active: active \(running\) since .*; ([\w ]+) ago`)
	// unitEnded is that one is not active.
	unitEnded = pattern.New(`^\s*Active: (inactive \(dead\)|failed)(?:\s|$)`)
	// restarts is a property of a unit as "systemctl show" prints it, property any other, and unitShown is the command.
	restarts  = pattern.New(`^NRestarts=([1-9]\d{0,8})$`)
	property  = pattern.New(`^(\w+)=`)
	unitShown = pattern.New(`\bsystemctl\b.* show\b.*?\s(?:-- )?([\w@-]+)(?:\.service)?(?:\s|$)`)
	// cutOff is a question to a runtime, which answers it at once, and after which timeout(1) has killed the client.
	cutOff   = pattern.New(`(?:[#$>] |^)(?:sudo )?timeout (?:-\S+ (?:[A-Z]+ )?)*([1-9]\d+)s? (?:sudo )?((?:crictl|docker|ctr|nerdctl)\b(?: -\S+ \S+?)*? (?:ps|pods|info|version|images|tasks? ls|c(?:ontainers?)? ls)\b[^;&|]*?)\s*(?:;\s*echo\b.*\$\?.*)?$`)
	timedOut = pattern.New(`^\s*(?:(?:rc|exit(?: code| status)?|status|ret)\s*[=:]?\s*)?(?:124|137|Killed|Terminated)\s*$`)
	// cutOffSaid is the same in a sentence, with the status that timeout(1) has returned.
	cutOffSaid = pattern.New("`(?:sudo )?timeout (?:-\\S+ (?:[A-Z]+ )?)*([1-9]\\d+)s? (?:sudo )?((?:crictl|docker|ctr|nerdctl)\\b(?: -\\S+ \\S+?)*? (?:ps|pods|info|version|images|tasks? ls|c(?:ontainers?)? ls)\\b[^;&|`]*?)\\s*(?:;\\s*echo\\b[^`]*\\$\\?[^`]*)?`,? (?:(?:\\w+ ){0,2}(?:prints?|says?|returns?|returned|gives?|exits?|exited|ends?|printed|gave)(?: (?:with|rc|code|status))*|-+>|=>|=|:) (?:124|137)\\b")
	// thinPool is a pool without space, as "docker info" or lvs(8) shows it: LV VG Attr LSize [Pool Origin] Data% Meta%.
	thinPool = pattern.New(`^\s*\**(?:Data|Metadata) Space Available: 0 ?B\**\s*$|^\s*\S+\s+\S+\s+twi[\w-]{7}\s+\S+\s+(?:\S+\s+){0,2}?\**(?:100\.00|99\.[5-9]\d)\**(?:\s|$)`)
	// componentDown is a row of "kubectl get componentstatuses" whose certificate is refused: NAME STATUS MESSAGE ERROR.
	componentDown = pattern.New(`^\s*[a-z][\w-]*\s+Unhealthy\s+(Get \S+ x509: certificate has expired or is not yet valid\b.*?)\s*$`)
	// mountLister is a command that lists or counts mounts of NFS, or those whose line has a word.
	mountLister = pattern.New("[#$>] (?:sudo )?(?:" +
		`(?:grep|egrep)(?: -[ciEw]+)* ['"]?([\w./:-]+)['"]? /(?:proc/(?:self/)?mount(?:s|info)|etc/mtab)` +
		`|mount \| (?:grep|egrep)(?: -[ciEw]+)* ['"]?([\w./:-]+)['"]?` +
		`|(?:mount -t|findmnt -n?t) (nfs4?(?:,nfs4?)?))\s*$`)
)

// runtimeUnits are services of container runtimes.
var runtimeUnits = []string{"containerd", "crio", "docker"}

// kubeletUnits are services that run a kubelet.
var kubeletUnits = []string{"kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "k0sworker", "k0scontroller", "snap.microk8s.daemon-kubelite"}

const (
	// kubeletRuns is a kubelet that systemd shows as running, for longer than one runs that cannot start.
	kubeletRuns = "KubeletRuns"
	runsAtLeast = time.Minute
	// kubeletRestarts is one that ends and is started again, by the properties of its unit.
	kubeletRestarts = "KubeletRestarts"
	// thinPoolFull is one that has no space left.
	thinPoolFull = "ThinPoolFull"
	// runtimeSilent is a question that a runtime has not answered in the seconds that somebody gave it.
	runtimeSilent = "RuntimeSilent"
	// runtimeStopped is a runtime that systemd shows as ended.
	runtimeStopped = "RuntimeStopped"
	// componentRefused is a component of the control plane whose certificate is refused.
	componentRefused = "ComponentRefused"
	// noMount is an empty list of mounts; the message is what was looked for.
	noMount = "NoMount"
)

// state takes what shows that a trouble is over: a kubelet that has been running since, and a list of mounts that is empty. Neither has a
// time: it ends what stands above.
func (p *page) state(i int) int {
	line := p.lines[i]
	if len(line) > maxRow {
		return 0
	}
	if m := unitHeading.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
		p.unit = m[1]
		return 0
	}
	e := Event{Type: "Normal", Count: 1, Component: "systemd"}
	if m := unitRuns.FindStringSubmatch(line); m != nil {
		if !slices.Contains(kubeletUnits, p.unit) || active(m[1]) < runsAtLeast {
			return 0
		}
		e.Reason = kubeletRuns
	} else if m := unitEnded.FindStringSubmatch(line); m != nil && slices.Contains(runtimeUnits, p.unit) {
		e.Type, e.Reason, e.Message = "Warning", runtimeStopped, p.unit+".service is "+m[1]
	} else if m := restarts.FindStringSubmatch(line); m != nil {
		unit := p.restartingUnit(i)
		if unit == "" {
			return 0
		}
		e.Reason, e.Message = kubeletRestarts, unit+".service: restart counter is at "+m[1]
	} else if m := componentDown.FindStringSubmatch(line); m != nil {
		e.Type, e.Reason, e.Message, e.Component = "Warning", componentRefused, m[1], "kubectl"
	} else if thinPool.MatchString(line) {
		e.Reason, e.Message, e.Component = thinPoolFull, strings.ReplaceAll(strings.TrimSpace(line), "**", ""), "lvs"
	} else if m := p.killed(i); m != nil {
		e.Reason, e.Message, e.Component = runtimeSilent, m[2]+": no answer within "+m[1]+" s", "crictl"
	} else {
		m := mountLister.FindStringSubmatch(line)
		if m == nil || !p.nothing(i+1) {
			return 0
		}
		e.Reason, e.Message, e.Component = noMount, m[1]+m[2]+m[3], "mount"
	}
	p.events = append(p.events, found{e, i, -1, ""})
	p.lines[i] = ""
	return 1
}

// startedOften adds the event of a kubelet that has reported its start again and again within an hour.
func (p *page) startedOften() {
	const often, most = 3, time.Hour
	var starts []found
	for _, e := range p.events {
		if e.Reason == "Starting" && strings.HasPrefix(e.Message, "Starting kubelet") && !e.Last.IsZero() && (len(starts) == 0 || e.Host == starts[0].Host) {
			starts = append(starts, e)
		}
	}
	if len(starts) < often {
		return
	}
	byTime := func(a, b found) int { return a.Last.Compare(b.Last) }
	first, last := slices.MinFunc(starts, byTime), slices.MaxFunc(starts, byTime)
	if last.Last.Sub(first.Last) > most || slices.ContainsFunc(p.events, func(e found) bool { return e.Reason == "NodeReady" && !e.Last.Before(last.Last) }) {
		return
	}
	last.Reason, last.Type, last.Component, last.Message = kubeletRestarts, "Warning", "kubelet", "kubelet: restart counter is at "+decimal(int64(len(starts)))
	for i := range p.events {
		if p.events[i].line == last.line {
			p.events[i].Event = last.Event
		}
	}
}

// restartingUnit is the unit of a kubelet whose properties stand around a line, if it has ended and is to be started again; "" otherwise.
func (p *page) restartingUnit(i int) string {
	from, to := i, i
	for from > 0 && property.MatchString(p.lines[from-1]) {
		from--
	}
	for to < len(p.lines) && property.MatchString(p.lines[to]) {
		to++
	}
	unit, ended := "", false
	if from > 0 {
		if m := unitShown.FindStringSubmatch(p.lines[from-1]); m != nil {
			unit = m[1]
		}
	}
	for _, line := range p.lines[from:to] {
		switch name, value, _ := strings.Cut(line, "="); name {
		case "Id":
			unit = strings.TrimSuffix(value, ".service")
		case "SubState", "ActiveState":
			ended = ended || value == "auto-restart" || value == "failed"
		}
	}
	if !ended || !slices.Contains(kubeletUnits, unit) {
		return ""
	}
	return unit
}

// partAnswer is how many lines a client of a runtime prints of itself, before the runtime answers.
const partAnswer = 10

// killed finds a question to a runtime after which timeout(1) has killed the client: for how long it had waited, and the command.
func (p *page) killed(i int) []string {
	if m := cutOffSaid.FindStringSubmatch(p.lines[i]); m != nil {
		return m
	}
	m := cutOff.FindStringSubmatch(p.lines[i])
	if m == nil {
		return nil
	}
	for at := i + 1; at < len(p.lines) && at <= i+partAnswer && !p.nothing(at); at++ {
		if timedOut.MatchString(p.lines[at]) {
			return m
		}
		if strings.Contains(p.lines[at], "Server") {
			break // it has answered
		}
	}
	return nil
}

// active is the length of a time as systemd writes it: "2h 3min", "1 day 4h", "1 month 2 days". Of weeks and months, only that they are long.
func active(s string) time.Duration {
	return length(strings.NewReplacer(" ", "", "min", "m", "week", "d").Replace(s))
}

// nothing says whether the answer to a command is empty, or zero: the next prompt follows, or a block ends.
func (p *page) nothing(i int) bool {
	if i >= len(p.lines) {
		return false // it may not be copied
	}
	text := strings.TrimSpace(p.lines[i])
	prompt := strings.IndexAny(text, "#$")
	return text == "0" || prompt >= 0 && !strings.Contains(strings.TrimSpace(text[:prompt]), " ") || strings.HasPrefix(text, "```")
}

var (
	asksFor  = pattern.New(`(?:kubectl|oc|k)\b.*\bget\b.* (po|pv)(?:ds?|(c))?(?: |$)`)
	notFound = pattern.New(`\(NotFound\): (pods|persistentvolumeclaims|persistentvolumes) "([\w.-]+)" not found`)
)

// gone forgets the rows of objects that a later answer of the API server does not have any more.
func (p *page) gone(line string) {
	if m := asksFor.FindStringSubmatch(line); m != nil {
		p.listed = map[string]string{"po": "Pod", "pv": "PersistentVolume"}[m[1]]
		if m[2] != "" {
			p.listed = "PersistentVolumeClaim"
		}
		return
	}
	kind, name := "", ""
	if m := notFound.FindStringSubmatch(line); m != nil {
		kind, name = kindOf(strings.TrimSuffix(m[1], "s")), m[2]
	} else if strings.HasPrefix(strings.TrimSpace(line), "No resources found") {
		kind = p.listed
	}
	for i := range p.rows {
		if d := &p.rows[i]; kind != "" && d.kind == kind && (name == "" && (p.namespace == "" || d.namespace == p.namespace) || name == d.name) {
			d.kind = ""
		}
	}
}
