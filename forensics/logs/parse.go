package logs

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/cri"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// A layer is one way in which a line is wrapped or written.
type layer uint8

const (
	layerNone layer = iota
	layerJournal
	layerSyslog
	layerCRI
	layerDocker
	layerKlog
	layerKlogJSON
	layerKmsg
	layerDmesg
	layerLogfmt
	layerStamped
	layerEvent
)

var layerNames = [...]string{
	layerJournal: "journal", layerSyslog: "syslog", layerCRI: "cri", layerDocker: "docker", layerKlog: "klog",
	layerKlogJSON: "klog-json", layerKmsg: "kmsg", layerDmesg: "dmesg", layerLogfmt: "logfmt", layerStamped: "time",
	layerEvent: "event",
}

// maxLayers is how deep prefixes may be nested: a journal's copy of a syslog's copy of a container's log.
const maxLayers = 4

// A shape is how a line was written, and what had to be guessed to understand it.
type shape struct {
	layers [maxLayers]layer
	depth  int
	// timed says that a layer told the time with year and zone; the other two say what was guessed.
	timed, guessedYear, guessedZone bool
	// head says that the text behind the prefixes begins a message, and is no later line of one.
	head bool
	// partial says that the text goes on in the next line (CRI tag P, a docker record without newline); stream is the
	// CRI's, 'o' or 'e'.
	partial bool
	stream  byte
	// inner is the text inside of the outermost record.
	inner string
}

func (s *shape) push(l layer) {
	if s.depth < maxLayers {
		s.layers[s.depth] = l
		s.depth++
	}
}

// String joins the layers by "+", from the outside in; "" where none was known.
func (s *shape) String() string {
	names := make([]string, 0, maxLayers)
	for _, l := range s.layers[:s.depth] {
		names = append(names, layerNames[l])
	}
	return strings.Join(names, "+")
}

// has says whether a layer is among those of the line.
func (s *shape) has(l layer) bool {
	for _, have := range s.layers[:s.depth] {
		if have == l {
			return true
		}
	}
	return false
}

// A lineParser understands lines of any format. It has no state: lines are parsed at the same time, in any order.
type lineParser struct {
	// latest is a time that no line is later than, but for the difference of two clocks; years follow from it.
	latest time.Time
	zone   *time.Location
	// boot is what the kernel's own seconds count from; zero when unknown.
	boot time.Time
	// origin is the writer of lines that name none; "" when unknown.
	origin string
	// unit is the service that the node's kubelet runs in, besides those of the usual names.
	unit string
	// crashed says that what crashed, in lines that name no writer, is no kubelet.
	crashed bool
	// brief says that the lines are all of a text in which somebody shows a message, see [isBrief].
	brief bool
	// shown are the lines of another text that are shown so.
	shown []string
	// lenient says that the lines are all of a text in which nothing is known, unless it stands in a sentence.
	lenient bool
}

// parse understands an entry of one line, or of several of which the later ones belong to the message. The strings of
// the entry are parts of the lines where possible.
func (p *lineParser) parse(lines ...string) (entry, shape) {
	var e entry
	var s shape
	e.Raw = clip(lines[0])
	text := p.unwrap(&e, &s, lines[0])
	if s.has(layerJournal) || s.has(layerDocker) { // a record is not what anybody has written
		e.Raw = clip(s.inner)
	}
	var rest []string
	for _, line := range lines[1:] {
		var other entry
		var wrapped shape
		more := p.unwrap(&other, &wrapped, line)
		if line == "\n" && s.depth > 0 {
			continue
		}
		if s.partial && wrapped.stream == s.stream {
			text += more
			s.partial = wrapped.partial
			continue
		}
		rest = append(rest, more)
	}
	switch {
	case s.has(layerKlogJSON), s.has(layerLogfmt), s.has(layerEvent):
	case p.klog(&e, &s, text):
		e.message(e.Message, rest)
		p.recorded(&e, &s)
	default:
		e.Message = strings.TrimRight(text, " \t")
		if s.depth == 0 {
			e.Lenient = p.lenient
			e.quoted(strings.TrimLeft(e.Message, " \t"), rest, p.brief || len(p.shown) > 0 && slices.Contains(p.shown, strings.TrimRight(lines[0], "\r\n")))
		}
	}
	if e.Bare && e.Time.IsZero() {
		p.tried(&e, &s)
	}
	p.name(&e, &s)
	if year := e.Time.Year(); year < 1 || year > 9999 { // JSON has no such time (RFC 3339), nor has anybody logged then
		e.Time = time.Time{}
	}
	return e, s
}

// quoted reads a line without prefix: what somebody has quoted of a message, with the source file or without it.
func (e *entry) quoted(text string, rest []string, brief bool) {
	e.Bare, e.Brief = true, brief
	if title := strings.TrimLeft(text, "#"); strings.HasPrefix(title, " ") && len(title) > 2 && title[1] >= 'A' && title[1] <= 'Z' { // of an issue that is about a message
		text = title[1:]
	}
	text = strings.TrimPrefix(text, "(combined from similar events): ")
	if inner, ok := strings.CutPrefix(text, `Error: "`); ok { // the end of "Operation for … failed. … Error: "…""
		text = strings.TrimSuffix(strings.ReplaceAll(inner, `\"`, `"`), `"`)
	}
	if where, message, ok := strings.Cut(text, "] "); ok && len(where) < 80 {
		_, n := leadingDigits(where)
		where = strings.TrimLeft(where[n:], " ")
		if file, line, ok := strings.Cut(where, ".go:"); ok && file != "" && !strings.Contains(file, " ") {
			if _, end := leadingDigits(line); end > 0 && end == len(line) {
				e.source(where)
				text = message
			}
		}
	}
	e.message(text, rest)
}

// tried takes the time of a quoted operation that failed from what it says of the next try: that is durationBeforeRetry later.
func (p *lineParser) tried(e *entry, s *shape) {
	_, next, ok := strings.Cut(e.Message, retryText)
	if !ok {
		return
	}
	if at, _, ok := goTime(clip(next)); ok {
		s.stamp(e, at.Add(-time.Duration(seconds(word(next, "durationBeforeRetry ", ")"))*float64(time.Second))), true)
	}
}

// maxRaw bounds what is kept of a line; a message that matters is a fraction of it.
const maxRaw = 16 << 10

func clip(s string) string { return s[:min(len(s), maxRaw)] }

// name settles who wrote a line. The kernel's name in the middle of what another program wrote, or a container, is a quote,
// or a lie.
func (p *lineParser) name(e *entry, s *shape) {
	if p.origin != "" && (e.Origin == "" || e.Origin == "kernel" && s.layers[0] != layerJournal) {
		e.Origin = p.origin
	}
	if contained := s.has(layerCRI) || s.has(layerDocker); contained && (e.Origin == "kernel" || e.Origin == ofTalosInit || ofDiskPaths(e.Origin) || e.Origin == "" && !s.has(layerKlog) && !s.has(layerKlogJSON) && !s.has(layerLogfmt) && !isRuntime(e.Message)) {
		e.Origin = fromContainer
	}
	switch {
	case e.Origin == "" && (p.crashed && isRuntime(e.Message) || failedOther(e)):
		e.Origin = fromContainer
	case e.Origin == "" && (s.has(layerKmsg) || s.has(layerDmesg)):
		e.Origin = "kernel"
	case e.Origin == "" && (s.has(layerKlog) || s.has(layerKlogJSON)):
		e.Origin = "kubelet"
	}
	if e.Origin == "kubelet" && isControllerSource(e.Source) { // one program with both, as k3s
		e.Origin = "kube-controller-manager"
	}
	if e.Origin == "kubelet" && e.Source == "scraper.go" { // its process is no second kubelet
		e.Origin = ofScraper
	}
}

// ofDiskPaths says whether a program is one of the daemons that know the paths to the kernel's disks.
func ofDiskPaths(name string) bool { return name == "multipathd" || name == "iscsid" }

// ofScraper is the origin of what asks kubelets for statistics, and logs their answers.
const ofScraper = "metrics-server"

// failedOther says whether a program of Kubernetes ended that is no kubelet: all log the same words (k8s.io/component-base/cli/run.go), and
// only the errors of the kubelet name it.
func failedOther(e *entry) bool {
	return e.Message == "command failed" && !strings.Contains(errorOf(e), "ubelet")
}

// isControllerSource knows source files of the controller manager that log about pods of a node.
func isControllerSource(file string) bool {
	switch file {
	case "gc_controller.go", "node_lifecycle_controller.go", "taint_manager.go", "taint_eviction.go", "attach_detach_controller.go":
		return true
	}
	return false
}

// program is the name of a writer, normalised: a program that runs the kubelet in itself is called "kubelet".
func program(tag string) string {
	if strings.HasPrefix(tag, "snap.") || strings.HasPrefix(tag, "microk8s.") {
		if strings.Contains(tag, "kubelite") || strings.Contains(tag, "kubelet") {
			return "kubelet"
		}
	}
	tag = strings.TrimSuffix(tag[strings.LastIndexByte(tag, '/')+1:], ".service")
	switch tag {
	case "k3s", "k3s-agent", "k3s-server", "rke2", "rke2-agent", "rke2-server", "kubelite", "hyperkube", "k0s", "k0sworker", "k0scontroller", "kubesolo",
		"kubenswrapper",                        // which OpenShift starts the kubelet with
		"origin-node", "atomic-openshift-node": // and did up to 3.11
		return "kubelet"
	case "sh", "bash", "dash": // a script that starts another program: what that writes tells which
		return ""
	case "kube-controller": // cut to the 15 bytes of comm
		return "kube-controller-manager"
	}
	return tag
}

// isContinuation says whether a line may be a later line of the message above it. That it has no header of its own tells:
// klog writes line breaks in messages as they are, and values of several lines indented (klog's KVListFormat).
func (p *lineParser) isContinuation(text string, e *entry, s *shape) bool {
	if text == "" || s.head || e.Origin == "kernel" || isKlogHead(text) || isPrompt(text) {
		return false
	}
	if strings.HasPrefix(text, "Error: failed to run Kubelet: ") || strings.HasPrefix(text, "kubelet: Exit with error: failed to run Kubelet: ") { // with which it ends
		return false
	}
	for _, word := range beginnings {
		if strings.HasPrefix(text, word) {
			return false
		}
	}
	return true
}

// isPrompt says whether a line is a command of a shell, with what that prints below it.
func isPrompt(text string) bool {
	if strings.HasPrefix(text, "$ ") || strings.HasPrefix(text, "# ") {
		return true
	}
	before, after, ok := strings.Cut(text, "# ")
	if !ok {
		before, after, ok = strings.Cut(text, "$ ")
	}
	return ok && after != "" && len(before) < maxName && (strings.HasSuffix(before, "]") || strings.ContainsRune(before, '~') || strings.ContainsRune(before, '@')) && !strings.ContainsRune(before, '"')
}

// beginnings start lines that are no part of a log message: what the Go runtime prints, glog's file header, flags.
var beginnings = []string{
	"panic:", "fatal error:", "goroutine ", "SIG", "[signal ", "runtime", "created by ", "Flag --", "Log file created at",
	"Running on machine", "Binary:", "Log line format:", "-- ",
}

// unwrap takes all prefixes off a line and notes what they tell. What is left is klog's text, or the message.
func (p *lineParser) unwrap(e *entry, s *shape, line string) string {
	text := trim(line)
	if isKlogHead(text) {
		return text
	}
	if text = withoutPod(text); isKlogHead(text) {
		return text
	}
	for s.depth < maxLayers {
		rest, ok := p.peel(e, s, text)
		if !ok {
			return text
		}
		text = trim(rest)
		if s.inner == "" {
			s.inner = text
		}
		if s.head {
			return text
		}
	}
	return text
}

// peel takes one prefix off.
func (p *lineParser) peel(e *entry, s *shape, text string) (string, bool) {
	if text == "" {
		return text, false
	}
	if s.depth == 0 {
		text = withoutHalfTime(text)
	}
	switch c := text[0]; {
	case c == '{':
		return p.json(e, s, text)
	case c == '<':
		return p.priority(e, s, text)
	case c == '[':
		return p.dmesg(e, s, text)
	case '0' <= c && c <= '9':
		return p.numbered(e, s, text)
	case c == 't' && (strings.HasPrefix(text, `time=`) || strings.HasPrefix(text, `ts=`)), c == 'l' && strings.HasPrefix(text, "level="):
		return p.logfmt(e, s, text)
	case 'A' <= c && c <= 'W' && len(text) > 5 && text[4] == '[' && logrusLevels[text[:4]] != 0:
		return p.logrus(e, s, text)
	case 'A' <= c && c <= 'W' && s.depth == 0 && len(text) > 15 && text[1] < 'a' && ofCloud.MatchString(text):
		return p.numbered(e, s, strings.TrimLeft(text[strings.IndexByte(text, ' '):], " "))
	case 'A' <= c && c <= 'W' && s.depth == 0 && len(text) > 15 && text[3] == ',':
		if at := ofRancher.FindStringIndex(text); at != nil {
			s.push(layerSyslog)
			return text[at[1]:], true
		}
		return text, false
	case 'A' <= c && c <= 'W' && len(text) > 15:
		return p.dated(e, s, text)
	case c == 'k' && (strings.HasPrefix(text, "kern ") || strings.HasPrefix(text, "kern: ")):
		return p.decoded(e, s, text)
	case s.depth == 0 && ofTalos.MatchString(text):
		return p.talos(e, s, text)
	case s.depth == 0 && facility.MatchString(text):
		return p.priority(e, s, text[strings.IndexByte(text, '<'):])
	case (c == ' ' || 'a' <= c && c <= 'z') && s.depth == 0:
		return tagged(e, s, strings.TrimLeft(text, " "))
	}
	return text, false
}

// ofRancher is what Rancher's pages put before a line: the time of the browser.
var ofRancher = pattern.New(`^[A-Z][a-z]{2}, [A-Z][a-z]{2} \d{1,2} \d{4} \d{1,2}:\d\d:\d\d [ap]m \| `)

// ofCloud is a severity before the time, as Google's Cloud Logging shows a line.
var ofCloud = pattern.New(`^(?:DEFAULT|DEBUG|INFO|NOTICE|WARNING|ERROR|CRITICAL|ALERT|EMERGENCY) +\d{4}-\d\d-\d\dT\d`)

// facility is what syslog daemons can write before the number of a priority: "kern.alert <1> ".
var facility = pattern.New(`^(?:kern|user|daemon|syslog|local\d|auth|authpriv|cron)\.(?:emerg|alert|crit|err|error|warn|warning|notice|info|debug) <\d{1,3}> ?`)

// tagged takes "crio[1488]: " off a line whose date and host somebody has cut off. Only programs whose messages are known are taken for
// such: prose has colons, too.
func tagged(e *entry, s *shape, text string) (string, bool) {
	if rest, ok := strings.CutPrefix(text, "kernel:"); ok && rest != "" { // to all terminals, without a blank
		s.push(layerSyslog)
		e.Origin = "kernel"
		return strings.TrimPrefix(rest, " "), true
	}
	tag, rest, ok := strings.Cut(text[:min(len(text), maxTag)], "[")
	pid, _, closed := strings.Cut(rest, "]: ")
	n, err := strconv.Atoi(pid)
	if !ok || !closed || err != nil || n <= 0 || !kubeletOrigin(tag) && !cri.IsLogName(tag) {
		return text, false
	}
	s.push(layerSyslog)
	e.Origin, e.PID = program(tag), n
	return text[len(tag)+len(pid)+len("[]: "):], true
}

// withoutPod takes off what kubectl logs --prefix writes, "[pod/NAME/CONTAINER] ", what kail writes, "NAMESPACE/NAME[CONTAINER]: ", and what stern
// and ansible write before a header of klog: up to three names.
func withoutPod(text string) string {
	if slash := strings.IndexByte(text[:min(len(text), 64)], '/'); slash > 0 && text[0] >= 'a' && text[0] <= 'z' {
		if at := ofKail.FindStringIndex(text); at != nil {
			return text[at[1]:]
		}
	}
	if strings.HasPrefix(text, "[pod/") {
		if _, rest, ok := strings.Cut(text, "] "); ok {
			return rest
		}
		return text
	}
	rest := text
	for range 3 {
		end := 0
		for end < len(rest) && (rest[end] >= 'a' && rest[end] <= 'z' || rest[end] >= '0' && rest[end] <= '9' || rest[end] == '-' || rest[end] == '.') {
			end++
		}
		if end == 0 || end >= len(rest) || rest[end] != ' ' {
			return text
		}
		if rest = rest[end+1:]; isKlogHead(rest) {
			return rest
		}
	}
	return text
}

var ofKail = pattern.New(`^[a-z0-9][a-z0-9-]{0,62}/[a-z0-9][a-z0-9.-]{0,252}\[[a-z][a-z0-9-]{0,62}\]: `)

// withoutHalfTime takes off the end of a time that a line of logfmt begins with, of which somebody has cut off the beginning:
// `5:58.371496964Z" level=warning msg="…"`.
func withoutHalfTime(text string) string {
	half, _, ok := strings.Cut(text[:min(len(text), 48)], `" level=`)
	if !ok || strings.Trim(half, "0123456789-:.+TZ") != "" {
		return text
	}
	return text[len(half)+len(`" `):]
}

// maxTag is the most that a program's name and pid take.
const maxTag = 48

// trim takes off what is around a line: line ends, blocks of NULs that a crash leaves, colours.
func trim(line string) string {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == 0) {
		line = line[:len(line)-1]
	}
	if len(line) > 0 && (line[0] == 0 || line[0] == 0xef || line[0] == 0x1e) { // which stands before each record of json-seq
		line = strings.TrimPrefix(strings.TrimLeft(line, "\x00\x1e"), "\ufeff")
	}
	if strings.IndexByte(line, 0x1b) >= 0 {
		line = withoutColour(line)
	}
	return line
}

// withoutColour takes out the control sequences of ECMA-48 (ESC [ … letter).
func withoutColour(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1b {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '[' {
			for i += 2; i < len(s) && (s[i] < 0x40 || s[i] > 0x7e); i++ {
			}
		}
	}
	return b.String()
}
