package logs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

func stage(s StartStage) func(*entry, *occurrence) bool {
	return func(_ *entry, o *occurrence) bool {
		o.Subject = Subject{Reason: string(s)}
		return true
	}
}

// started distinguishes the kubelet's own message from that of systemd about the unit.
func started(e *entry, o *occurrence) bool {
	if e.Origin == "systemd" || e.Source == "" && strings.TrimSuffix(e.Message, ".") != "Started kubelet" {
		o.Kind = kindKubeletStarting
		return wholeMessage(e, o)
	}
	return stage(StartServer)(e, o)
}

// kubeletVersion reads kubeletVersion="v1.34.4" and `Kubelet version: v1.20.4`, and of older ones `Version: v1.17.4`.
func kubeletVersion(e *entry, o *occurrence) bool {
	if e.Source == "main.go" { // of a sidecar of a CSI driver, and of others
		return false
	}
	v := e.Get("kubeletVersion")
	if v == "" {
		_, v, _ = strings.Cut(e.Message, "ersion: ")
	}
	o.Subject = Subject{Reason: cut(v, maxName)}
	return strings.HasPrefix(v, "v")
}

// saidOver reads a sentence such as "Since then (22 days) not a single line in dmesg". One that goes on with a "but" says the opposite.
func saidOver(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	return e.Bare && notSince.MatchString(e.Message) && !oncemore.MatchString(e.Message)
}

// solvedWords begin or are what people write when a trouble is over, in the languages in which they write tickets.
var solvedWords = []string{
	"works as intended", "working as intended", "has been resolved", "have been resolved", "is resolved now", "is fixed now", "no recurrence", "has not recurred", "did not come back",
	"has not come back", "hasn't come back", "not been seen since", "back to normal", "went away by itself", "went away on its own", "went away without ", "all good now", "all fine now", "issue can be closed", "issue resolved", "problem solved", "problem resolved", "ticket can be closed",
	"rentré dans l'ordre", "plus aucune erreur", "clore le ticket", "trat nicht mehr auf", "nicht mehr auf.", "nicht mehr aufgetreten", "ist behoben", "wurde behoben", "Ticket geschlossen",
	"quedó resuelto", "está resuelto", "no ha vuelto a", "foi resolvido", "está resolvido", "não voltou a", "è stato risolto",
	"больше не повторя", "проблема решена", "已经解决", "问题已解决", "没有再出现", "未再出现", "解決しました", "再発していません", "復旧を確認", "해결되었", "재발하지 않",
}

// saidSolved are the rules of sentences that say so.
func saidSolved() (rules []rule) {
	for _, words := range solvedWords {
		rules = append(rules, rule{has: words, find: words, prose: true, fill: solved})
	}
	return rules
}

// repeatedWords are what people write of a line of which they show one or two, in the languages in which they write tickets.
var repeatedWords = []string{
	"over and over", "again and again", "keep appearing", "keeps appearing", "keep repeating", "keeps repeating", "keeps logging", "keeps printing", "is repeated", "repeats every",
	"constantly", "continuously", "repeatedly", "all the time", "flooded with", "full of these", "full with thousands", "a lot of this", "a lot of these", "lots of this", "lots of these", "tons of these", "hundreds of these", "thousands of these", "every few seconds", "flooding the", "spamming the", "immer wieder", "ständig diese", "en boucle dans", "sans arrêt", "continuamente", "constantemente",
	"una y otra vez", "постоянно", "снова и снова", "不断出现", "不断的打", "不断打印", "一直报错", "一直打印", "反复出现", "繰り返し出力", "繰り返され", "계속 반복",
}

// saidRepeated are the rules of sentences that say so.
func saidRepeated() (rules []rule) {
	for _, words := range repeatedWords {
		rules = append(rules, rule{has: words, find: words, prose: true, fill: repeated})
	}
	return rules
}

// repeated reads a sentence that says that a line comes again and again, now.
func repeated(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	return e.Bare && e.Source == "" && len(e.Message) < 300 && !past.MatchString(e.Message)
}

// past is a word of a sentence about what was, or may be.
var past = pattern.New(`(?i)\b(?:was|were|had|used to|before|earlier|previous\w*|last|ago|once|until|no longer|fixed|gone|example|if|would|could|should|not|never|harmless|test\w*)\b`)

// doubted is a word of a sentence that takes back what it says of a solution, or asks for one.
var doubted = pattern.New(`(?i)[?？]|\b(?:but|however|until|till|except|again|yet|should|would|could|hope\w*|if|when|whether|only|temporar\w*|partly|not fixed|not resolved|not solved|aber|jedoch|wieder|mais|pero|mas|però)\b|но |однако|снова|但|却|しかし|ただし`)

// solved reads a sentence that says that a trouble is over.
func solved(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	return e.Bare && len(e.Message) < 1000 && !doubted.MatchString(e.Message)
}

var (
	notSince = pattern.New(`(?i)\bsince then\b[^.:;]{0,24}\b(?:(?:not a single|no(?: such| more| further)?) (?:line|message|error|hang|hung task|reset|timeout|kill|recurrence|trouble|problem|issue)s?|(?:has|have|did|had)(?: not|n't) (?:happen|occur|recur|appear|come back|been seen)|never (?:again|seen|happened|came back)|quiet|all (?:is |was )?(?:well|quiet|fine|good))`)
	oncemore = pattern.New(`(?i)\b(?:but|however|until|till|except|today|yesterday|anyway|again since)\b`)
)

// verbosityFlag reads the dump of the flags, `FLAG: --v="4"`.
func verbosityFlag(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	o.Number = number(strings.Trim(strings.TrimPrefix(e.Message, "FLAG: --v="), `"`))
	return true
}

// goPanic takes the crash of a program that writes into its own log. A program that is known not to be a kubelet is
// passed over.
func goPanic(e *entry, o *occurrence) bool {
	o.Reason, o.Code = cut(e.Message, maxReason), ""
	if e.Bare && e.Origin == "" && (strings.HasPrefix(e.Message, "goroutine ") || e.Message == "fatal error: newosproc") {
		return false // any dump begins so, of any program, and whoever starts one more, like kubectl, may meet the limit of threads
	}
	return kubeletish(e)
}

func goSignal(e *entry, o *occurrence) bool {
	o.Subject = Subject{Code: strings.TrimSuffix(firstWord(e.Message), ":")}
	return kubeletish(e)
}

// unitExited reads `kubelet.service: Main process exited, code=killed, status=9/KILL`.
func unitExited(e *entry, o *occurrence) bool {
	o.Reason = cut(e.Message, maxReason)
	o.Code = cut(cmp.Or(word(e.Message, "status=", " ,"), word(e.Message, ": exit code ", " (")), maxName)
	return true
}

// otherUnits are units that hold a kubelet under another name.
var otherUnits = []string{"k3s", "rke2-server", "rke2-agent", "kubelite", "k0s", "hyperkube", "kubelet", "origin-node", "atomic-openshift-node"}

func otherUnitExited(e *entry, o *occurrence) bool { return holdsKubelet(e) && unitExited(e, o) }

// holdsKubelet says whether a message begins with a unit that holds a kubelet.
func holdsKubelet(e *entry) bool {
	unit := firstWord(e.Message)
	return slices.ContainsFunc(otherUnits, func(u string) bool { return strings.Contains(unit, u) })
}

// unitRestarts reads "kubelet.service: Scheduled restart job, restart counter is at 12.", NRestarts of systemctl(1). The number is the counter.
func unitRestarts(e *entry, o *occurrence) bool {
	o.Subject = Subject{Reason: cut(e.Message, maxReason)}
	o.Number = number(word(e.Message, "counter is at ", ". "))
	if strings.HasPrefix(e.Message, byEvents) {
		o.Code = "events"
		return true
	}
	return holdsKubelet(e)
}

// byEvents begins what internal/kubectl makes of events that report the starts of a kubelet.
const byEvents = "kubelet: restart counter"

// unitStopping is systemd's word alone.
func unitStopping(e *entry, o *occurrence) bool {
	o.Reason, o.Code = cut(e.Message, maxReason), ""
	return e.Source == ""
}

// kubeletOrigin says whether a program holds a kubelet.
func kubeletOrigin(name string) bool {
	switch name {
	case "kubelet", "k3s", "rke2", "hyperkube", "kubelite", "k0s", "microk8s.daemon-kubelite", "localkube", "origin-node", "atomic-openshift-node":
		return true
	}
	return strings.Contains(name, "kubelet") || strings.Contains(name, "kubelite")
}

// observedPanic takes the panic of an API server in one process with the kubelet for its certificate, if that is why.
func observedPanic(e *entry, o *occurrence) bool {
	if strings.Contains(e.Message, "certificate has expired or is not yet valid") {
		o.Kind = KindCertExpired
		wholeMessage(e, o)
		o.Code = "panic"
		return true
	}
	return wholeMessage(e, o)
}

// kubeletish says whether a line may be a kubelet's: it says so, or nothing says otherwise.
func kubeletish(e *entry) bool {
	return kubeletOrigin(e.Origin) || e.Origin == "" || e.Origin == "unknown"
}
