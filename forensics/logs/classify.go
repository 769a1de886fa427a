package logs

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/nodeforensics/nodeforensics/internal/cri"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A rule knows one message by its words.
type rule struct {
	// event is the reason of the events of the API that the rule is for, of which the other texts may be empty; "" for lines of logs.
	event string
	// start is what the message begins with; empty where it can stand anywhere (has must be set then).
	start string
	// has is what the message, or the text of its error, must hold besides.
	has string
	// err is what the text of the error (the err field, or else the message) must hold besides.
	err string
	// find are what a line of this message is found by, one of them, separated by bars, where none of the texts above is long and rare enough.
	find string
	// fill sets what is particular to the message; it may change the kind, and says false where the line is not what
	// it seems. Before it, fields that all messages share are set.
	fill func(*entry, *occurrence) bool
	// level is the -v that the line proves; 0 for lines that are always written.
	level int8
	// runtime says that container runtimes write it, too, kernel that only the kernel does.
	runtime, kernel bool
	// app says that applications on the node print it, and only those.
	app bool
	// prose says that people write it, within a sentence.
	prose bool
}

// A known is a rule with the kind of its message.
type known struct {
	rule
	kind Kind
}

// rulebook has the messages by kind, and finds rules by the first word of a message, so that a line is compared with a few
// of them.
type rulebook struct {
	messages map[Kind]message
	byWord   map[string][]known
	anywhere []known
	kernel   []known
	apps     []known
	byEvent  map[string][]known
	deep     []known
	within   []known // that may stand in a sentence
}

var book = newRulebook()

// wordsAnywhere finds what messages hold that may begin with anything: it costs a fraction of looking for one after another.
var wordsAnywhere = sync.OnceValue(func() *matcher {
	words := make([]string, len(book.anywhere))
	for i, r := range book.anywhere {
		words[i] = r.has
	}
	return newMatcher(words, nil)
})

// mayHold says whether a message, or its error, holds a word of those that may begin with anything.
func mayHold(e *entry) bool {
	holds := func(text string) bool {
		return wordsAnywhere().next(unsafe.Slice(unsafe.StringData(text), len(text)), 0) >= 0
	}
	if holds(e.Message) {
		return true
	}
	text := errorOf(e)
	return text != e.Message && holds(text)
}

func newRulebook() rulebook {
	b := rulebook{messages: map[Kind]message{}, byWord: map[string][]known{}, byEvent: map[string][]known{}}
	for _, m := range messages() {
		m.summed = m.summed || m.severity == SeverityNoise
		b.messages[m.kind] = m
		for _, r := range m.rules {
			r := known{r, m.kind}
			if m.deep && !r.app && r.event == "" && r.has != "" {
				b.deep = append(b.deep, r)
			}
			if m.lane != "" && m.severity == severityNotice && r.event == "" && !r.app && len(cmp.Or(r.start, r.has)) >= minWithin {
				b.within = append(b.within, r)
			}
			switch word := firstWord(r.start); {
			case r.event != "":
				b.byEvent[r.event] = append(b.byEvent[r.event], r)
			case r.kernel:
				b.kernel = append(b.kernel, r)
			case r.app:
				b.apps = append(b.apps, r)
			case r.start == "":
				b.anywhere = append(b.anywhere, r)
			default:
				b.byWord[word] = append(b.byWord[word], r)
			}
		}
	}
	return b
}

// firstWord is what stands before the first space.
//
//go:noinline
func firstWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// classify says what a parsed line means; it is false for what is not known.
func classify(e *entry) (occurrence, bool) {
	if e.Bare && containsAny(e.Message, sourceCode) {
		return occurrence{}, false
	}
	o := occurrence{Time: e.Time, Entry: e}
	r, ok := book.find(e, &o)
	if !ok {
		r, ok = book.findQuoted(e, &o)
	}
	if !ok {
		r, ok = book.findWithin(e, &o)
	}
	if !ok {
		return occurrence{}, false
	}
	if e.Bare && e.Origin == "" && !r.runtime {
		if e.Origin = "kubelet"; r.kernel {
			e.Origin = "kernel"
		}
	}
	book.deepen(e, &o)
	o.level = int(r.level)
	o.Subject = o.cloned()
	return o, true
}

// speaks says whether the messages that are known here are a program's own. Those of others, as a container or a daemon
// that logs what strangers send it, quote them at best.
func speaks(origin string) bool {
	switch origin {
	case "", "unknown", "systemd", "systemd-logind", "kube-controller-manager", ofScraper:
		return true
	}
	return kubeletOrigin(origin) || cri.IsLogName(origin)
}

// ofSystemBus begins what the D-Bus daemon of the system logs.
const ofSystemBus = "[system]"

// find is the first rule that fits. Lines of the kernel are compared with the kernel's rules alone, and no other
// program's are, since a log of a program may quote the kernel.
func (b *rulebook) find(e *entry, o *occurrence) (known, bool) {
	switch {
	case e.API != nil:
		return b.findEvent(e, o)
	case e.Origin == "kernel", ofDiskPaths(e.Origin):
		return firstFit(b.kernel, e, o)
	case e.Origin == "dbus-daemon" || e.Origin == "dbus": // quotes its clients elsewhere
		if !strings.HasPrefix(e.Message, ofSystemBus) {
			return known{}, false
		}
		return firstFit(b.byWord[ofSystemBus], e, o)
	case e.Origin == ofTalosInit:
		return firstFit(b.byWord[firstWord(e.Message)], e, o)
	case e.Origin == ofApplication:
		return firstFit(b.apps, e, o)
	case !speaks(e.Origin):
		return known{}, false
	}
	onlyRuntime := cri.IsLogName(e.Origin)
	if r, ok := firstFit(b.byWord[firstWord(e.Message)], e, o); ok && (r.runtime || !onlyRuntime) {
		return r, true
	}
	if r, ok := b.fitAnywhere(e, o); ok && (r.runtime || !onlyRuntime) {
		return r, true
	}
	if e.Origin == "" && e.Source == "" {
		return firstFit(b.kernel, e, o)
	}
	return known{}, false
}

func (b *rulebook) fitAnywhere(e *entry, o *occurrence) (known, bool) {
	if !mayHold(e) {
		return known{}, false
	}
	return firstFit(b.anywhere, e, o)
}

// findEvent is the rule for an event of the API: by its reason, or by the words of its message.
func (b *rulebook) findEvent(e *entry, o *occurrence) (known, bool) {
	subject := about(e.API)
	for _, r := range b.byEvent[e.API.Reason] {
		if !r.fits(e) {
			continue
		}
		*o = occurrence{Kind: r.kind, Time: e.Time, Entry: e, Subject: subject}
		if o.PodName == "" && o.PodUID == "" {
			o.PodName, o.PodUID = formattedPod(e.Message)
		}
		o.Reason, o.Code = bothEnds(e.Message, 80), code(e.Message)
		if r.fill == nil || r.fill(e, o) {
			return r, true
		}
	}
	rules := b.byWord[firstWord(e.Message)]
	switch e.Origin {
	case "kernel":
		rules = b.kernel
	case "kubelet", "kube-controller-manager":
	default:
		return known{}, false
	}
	r, ok := firstFit(rules, e, o)
	o.Node = subject.Node
	if o.PodName == "" && o.PodUID == "" {
		o.PodName, o.PodUID = subject.PodName, subject.PodUID
	}
	if o.PodName == "" && o.PodUID == "" {
		o.PodName = podInHalves(e.Message)
	}
	return r, ok
}

// podSteps fail for reasons that are the node's, and nothing of the pod. That a probe's or a hook's command meets a limit is the
// application's, unless the runtime could not run it.
var podSteps = map[Kind]bool{
	KindPodSyncFailed: true, KindSandboxCreateFailed: true, kindCNIAddFailed: true, kindContainerCreateFailed: true, kindContainerStartFailed: true,
	KindShimFailed: true, kindMountFailed: true, KindOperationFailed: true, KindImagePullFailed: true, KindPodKillFailed: true, KindRuntimeCallFailed: true, kindExecFailed: true,
}

// deepen gives a failed step of a pod the kind of its cause, if that is a limit of the node. A volume may itself be full.
func (b *rulebook) deepen(e *entry, o *occurrence) {
	text := errorOf(e)
	if !podSteps[o.Kind] || o.Kind == kindExecFailed && !strings.Contains(text, "exec failed") {
		return
	}
	for i := range b.deep {
		r := &b.deep[i]
		ofVolume := o.Kind == kindMountFailed || o.Kind == KindOperationFailed
		if !strings.Contains(text, r.has) || !strings.Contains(text, r.err) || r.kind == KindDiskFull && (ofVolume || o.Kind == kindExecFailed || strings.Contains(text, "create failed: no space")) {
			continue
		}
		o.Kind = r.kind
		if o.Path == "" {
			o.Path = pathIn(text)
		}
		return
	}
}

// sourceCode is what stands around a message in a program's source.
var sourceCode = []string{"Errorf(", "errors.New(", "klog.", "glog.", "HandleError("}

func firstFit(rules []known, e *entry, o *occurrence) (known, bool) {
	for i := range rules {
		if r := &rules[i]; r.fits(e) && (!e.Bare || e.Origin != "" || e.Source != "" || r.prose || r.begins(e.Message) || e.Brief && !r.quoted(e.Message)) {
			*o = occurrence{Kind: r.kind, Time: e.Time, Entry: e}
			fillShared(e, o, &r.rule)
			if r.fill == nil || r.fill(e, o) {
				return *r, true
			}
		}
	}
	return known{}, false
}

func (r *rule) fits(e *entry) bool {
	if !strings.HasPrefix(e.Message, r.start) {
		return false
	}
	if r.has != "" && !strings.Contains(e.Message, r.has) && (r.start != "" || !strings.Contains(errorOf(e), r.has)) {
		return false
	}
	return r.err == "" || strings.Contains(errorOf(e), r.err)
}

// minBare is how long the words are at least by which a line without any prefix is known; fewer stand in prose, too.
const minBare = 18

// begins says whether a message that nothing else tells to be one begins with the words of the rule, as prose that mentions them
// does not.
func (r *rule) begins(message string) bool {
	if r.start != "" {
		return len(r.start)+len(r.has)+len(r.err) >= minBare || isRuntime(r.start)
	}
	if strings.HasPrefix(message, r.has) && len(r.has)+len(r.err) >= minBare {
		return true
	}
	if before, _, ok := strings.Cut(message, r.has); ok && len(before) < 24 && !strings.ContainsAny(before, quoting) && (strings.HasSuffix(before, ": ") || !strings.Contains(before, " ")) && len(r.has)+len(r.err) >= minBare {
		return true // behind the name of a device or a service
	}
	if before, ok := strings.CutSuffix(strings.TrimRight(message, quoting), r.has); ok && r.has != "" && pathError.MatchString(before) {
		return true
	}
	if r.kernel {
		return slices.ContainsFunc(kernelBeginnings, func(s string) bool { return strings.HasPrefix(message, s) })
	}
	return false
}

// pathError is the beginning of an error of a call with a path, as programs in Go print it, before the cause that ends the line.
var pathError = pattern.New(`(?:^|[\s:"'\[(])(?:l?stat|statfs|open|mkdir|mkdirat|readdirent|unlinkat|remove|read|write|chown|lchown|chmod|fsync|rename) /[^\s:"']+(?: /[^\s:"']+)?: (?:[\w ]{0,20})?$`)

// quoted says whether the words of the rule stand in a sentence about what was, or may be, or within what that quotes.
func (r *rule) quoted(message string) bool {
	before, _, ok := strings.Cut(message, cmp.Or(r.has, r.start))
	return ok && (past.MatchString(lastSentence(before)) || strings.Count(before, `"`)%2 > 0 || strings.Count(before, "`")%2 > 0)
}

// quoting are what stands before words that somebody else has said: those of a sentence, of a value in YAML, of source code.
const quoting = "\"'`“‘«"

// isRuntime knows what the Go runtime prints, always without a prefix.
func isRuntime(start string) bool {
	return slices.ContainsFunc(beginnings, func(s string) bool { return strings.HasPrefix(start, s) })
}

// kernelBeginnings are what messages of the kernel begin with, and sentences do not.
var kernelBeginnings = []string{
	"INFO: task ", "INFO: rcu", "rcu: ", "nfs: server ", "ceph: ", "libceph: ", "CIFS: ", "CIFS VFS: ", "EXT4-fs ", "XFS (", "BTRFS ", "JBD2: ", "Aborting journal on device",
	"Buffer I/O error", "blk_update_request: ", "end_request: ", "print_req_error: ", "I/O error, dev ", "critical ", "nvme ", "sd ", "scsi ", "connection", "session", "ata", "device-mapper: ", "devmapper: ",
	"Kernel panic - not syncing: ", "watchdog: BUG: ", "BUG: soft lockup", "NMI watchdog: ", "oom-kill:", "Out of memory: ", "Memory cgroup out of memory", "Task in /", "cgroup: fork rejected", "SLUB: ", "unregister_netdevice: ",
}

func (s Subject) cloned() Subject {
	for _, p := range []*string{
		&s.PodUID, &s.PodName, &s.Container, &s.Volume, &s.UniqueName, &s.Driver, &s.Image, &s.Path, &s.Device,
		&s.Server, &s.Process, &s.Code, &s.Node,
	} {
		*p = strings.Clone(cut(*p, maxSubject))
	}
	s.Reason = strings.Clone(cut(s.Reason, maxReason))
	return s
}
