package logs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/logline"
)

// json reads a line that is one JSON object: a record of the journal, of docker's json-file, or of klog.
func (p *lineParser) json(e *entry, s *shape, text string) (string, bool) {
	fields, ok := jsonFields(text)
	if !ok {
		return text, false
	}
	record := entry{Fields: fields}
	at := record.Get("__REALTIME_TIMESTAMP")
	if at != "" || s.depth == 0 && record.Get("MESSAGE") != "" && (record.Get("SYSLOG_IDENTIFIER") != "" || record.Get("_TRANSPORT") != "") { // jq may have taken the time away
		return p.journal(e, s, &record, at), true
	}
	if at, stream := record.Get("time"), record.Get("stream"); at != "" && (stream == "stdout" || stream == "stderr") {
		t, _, zoned := p.rfc3339(at)
		s.stamp(e, t, zoned)
		s.push(layerDocker)
		s.stream = stream[3]
		log := record.Get("log")
		s.partial = !strings.HasSuffix(log, "\n")
		return log, true
	}
	if log := record.Get("log"); log != "" && len(fields) == 1 && s.depth == 0 { // of docker's record, somebody kept the text alone
		s.push(layerDocker)
		return log, true
	}
	if record.Get("kind") == "Event" && s.depth == 0 && p.origin == "" { // what a container prints is not of the API
		return "", p.event(e, s, text)
	}
	if payload := record.Get("jsonPayload"); payload != "" && s.depth == 0 && p.origin == "" {
		return p.exported(e, s, &record, payload)
	}
	level := record.Get("level") // which klog does not write
	switch {
	case level == "" && record.Get("ts") != "" && record.Get("msg") != "":
		p.klogJSON(e, s, fields)
	case level != "" && (record.Get("msg") != "" || record.Get("message") != ""):
		p.levelled(e, s, fields)
	default:
		return text, false
	}
	return e.Message, true
}

// exported reads an entry of Google Cloud Logging (LogEntry of its API): of a node's journal, or of the events of a cluster.
func (p *lineParser) exported(e *entry, s *shape, record *entry, payload string) (string, bool) {
	fields, ok := jsonFields(payload)
	if !ok {
		return "", false
	}
	inner := entry{Fields: fields}
	if inner.Get("involvedObject") != "" && inner.Get("reason") != "" {
		if inner.Get("kind") == "" { // which some tools leave out
			payload = `{"kind":"Event",` + strings.TrimLeft(payload, "{ ")
		}
		return "", p.event(e, s, payload)
	}
	message, name := inner.Get("MESSAGE"), inner.Get("SYSLOG_IDENTIFIER")
	if message == "" || name == "" {
		return "", false
	}
	s.push(layerJournal)
	if t, _, zoned := p.rfc3339(record.Get("timestamp")); !t.IsZero() {
		s.stamp(e, t, zoned)
	}
	e.Origin = journalWriter(&inner, p.unit)
	e.on(inner.Get("_HOSTNAME"), true)
	return message, true
}

// levelled reads a record of logrus, as container runtimes can write it, or of another library. Of what is neither known to be a runtime's
// nor has logrus's three fields, an application is the writer.
func (p *lineParser) levelled(e *entry, s *shape, fields []field) {
	s.push(layerLogfmt)
	s.head = true
	e.Severity = 'I'
	logrus := false
	for _, f := range fields {
		switch f.Key {
		case "time":
			if t, _, zoned := p.rfc3339(f.Value); !t.IsZero() {
				s.stamp(e, t, zoned)
				logrus = true
			}
		case "level":
			e.Severity = cmp.Or(logrusLevels[strings.ToUpper(f.Value[:min(len(f.Value), 4)])], 'I')
		case "msg", "message":
			e.Message = f.Value
		default:
			e.Fields = append(e.Fields, f)
		}
	}
	switch inside := s.has(layerCRI) || s.has(layerDocker); {
	case e.Origin != "":
	case inside:
		e.Origin = fromContainer
	case !logrus:
		e.Origin = ofApplication
		if i := slices.IndexFunc(e.Fields, func(f field) bool { return f.Key == "reason" }); i >= 0 { // of KubeVirt
			e.Fields[i].Key = "err"
		}
	}
}

// journal reads a record as journalctl -o json writes it (systemd.journal-fields(7)).
func (p *lineParser) journal(e *entry, s *shape, record *entry, at string) string {
	s.push(layerJournal)
	if micros, err := strconv.ParseInt(at, 10, 64); err == nil {
		s.stamp(e, time.UnixMicro(micros-delay(record)).UTC(), true)
	}
	if e.Origin == "" {
		e.Origin = journalWriter(record, p.unit)
	}
	e.on(record.Get("_HOSTNAME"), true)
	if pid, err := strconv.Atoi(record.Get("_PID")); err == nil {
		e.PID = pid
	}
	if level, err := strconv.Atoi(record.Get("PRIORITY")); err == nil {
		e.Severity = severity(level)
	}
	message := record.Get("MESSAGE")
	if strings.HasPrefix(message, "[") { // the bytes as numbers, since they are not all printable
		if text, ok := logline.JournalBytes([]byte(message)); ok {
			return text
		}
	}
	return message
}

// KubeletUnits are the systemd services that run a kubelet.
var KubeletUnits = []string{
	"kubelet", "k3s", "k3s-agent", "rke2-server", "rke2-agent", "k0sworker", "k0scontroller", "hyperkube", "origin-node", "atomic-openshift-node",
	"snap.microk8s.daemon-kubelite", "snap.microk8s.daemon-kubelet", "snap.kubelet-eks.daemon",
}

// fromContainer is the origin of what a container wrote: it is nobody's word about the node.
const fromContainer = "container"

// ofApplication is the origin of lines in the formats of libraries that neither kubelets nor runtimes log with, pasted without a
// container's prefix. Of what they say, only what a file system or a limit of the node answered is taken.
const ofApplication = "application"

// journalWriter is who wrote a record. The name that a record gives itself (SYSLOG_IDENTIFIER) is what its writer chose,
// and of a container whose logs docker sends to the journal it may be an image's label (its option tag). So the fields
// that journald or docker's daemon sets decide: systemd.journal-fields(7), "Trusted Journal Fields". A kubelet may run in a service of
// another name than the usual ones, which is given then.
func journalWriter(record *entry, kubelet string) string {
	name := program(cmp.Or(record.Get("SYSLOG_IDENTIFIER"), record.Get("_COMM")))
	unit := strings.TrimSuffix(record.Get("_SYSTEMD_UNIT"), ".service")
	switch {
	case record.Get("_TRANSPORT") == "kernel":
		return "kernel"
	case record.Get("CONTAINER_ID") != "":
		return fromContainer
	case name == "kernel" && record.Get("_TRANSPORT") != "":
		return cmp.Or(unit, "unknown program")
	case name == "systemd" && record.Get("_PID") != "" && record.Get("_PID") != "1":
		return "systemd --user"
	case unit != "" && ofDiskPaths(name) && unit != name:
		return unit
	case unit != "" && kubeletOrigin(name) && unit != kubelet && !slices.Contains(KubeletUnits, unit):
		return unit
	}
	return name
}

// delay is how many microseconds after it was written a message of the kernel was taken into the journal: at boot, and
// whenever the journal's daemon starts, it takes all that the kernel still has.
func delay(record *entry) int64 {
	taken, err1 := strconv.ParseInt(record.Get("__MONOTONIC_TIMESTAMP"), 10, 64)
	written, err2 := strconv.ParseInt(record.Get("_SOURCE_MONOTONIC_TIMESTAMP"), 10, 64)
	if err1 != nil || err2 != nil || record.Get("_TRANSPORT") != "kernel" {
		return 0
	}
	return max(taken-written, 0)
}

// severity translates a level of syslog(3).
func severity(level int) byte {
	switch {
	case level <= 3:
		return 'E'
	case level == 4:
		return 'W'
	}
	return 'I'
}

// klogJSON reads a record of --logging-format=json. "ts" are milliseconds with a fraction; "v" is there on info lines
// only.
func (p *lineParser) klogJSON(e *entry, s *shape, fields []field) {
	s.push(layerKlogJSON)
	s.head = true
	verbose, failed := false, false
	for _, f := range fields {
		switch f.Key {
		case "ts":
			if t, _, zoned := p.rfc3339(f.Value); !t.IsZero() {
				s.stamp(e, t, zoned)
			} else if ms, err := strconv.ParseFloat(f.Value, 64); err == nil && ms > 0 && ms < 1e14 {
				s.stamp(e, time.UnixMicro(int64(ms*1000+0.5)).UTC(), true)
			}
		case "caller":
			e.source(f.Value)
		case "msg":
			e.Message = f.Value
		case "v":
			verbose = true
		default:
			failed = failed || f.Key == "err"
			e.Fields = append(e.Fields, f)
		}
	}
	e.Severity = 'I'
	if failed && !verbose {
		e.Severity = 'E'
	}
}

// jsonFields reads the members of one object, in their order. Strings are unquoted; references to API objects become
// "namespace/name", as klog writes them in text; other values stay as they are written.
func jsonFields(s string) ([]field, bool) {
	s = strings.TrimRight(s, " \t")
	if len(s) < 2 || s[0] != '{' || s[len(s)-1] != '}' {
		return nil, false
	}
	i := 1
	fields := make([]field, 0, 8)
	for len(fields) < maxFields {
		i = blanks(s, i)
		if s[i] == '}' {
			return fields, true
		}
		end := jsonEnd(s, i)
		if s[i] != '"' || end < 0 {
			return nil, false
		}
		key := jsonString(s[i:end])
		if i = blanks(s, end); s[i] != ':' {
			return nil, false
		}
		i = blanks(s, i+1)
		if end = jsonEnd(s, i); end < 0 || end >= len(s) {
			return nil, false
		}
		fields = append(fields, field{key, jsonValue(s[i:end])})
		if i = blanks(s, end); s[i] == ',' {
			i++
		}
	}
	return fields, true
}

// blanks returns the first position from i on that is no blank; the last byte of an object is none.
func blanks(s string, i int) int {
	for i < len(s)-1 && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// jsonEnd returns where the value ends that begins at i, -1 if it does not.
func jsonEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
			if i >= len(s) {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 { // of the object around a bare value
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
		if depth == 0 && (s[i-1] == '"' || s[i-1] == '}' || s[i-1] == ']') {
			return i
		}
	}
	return -1
}

func jsonString(quoted string) string {
	inner := quoted[1 : len(quoted)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	if json.Unmarshal([]byte(quoted), &text) != nil {
		return inner
	}
	return text
}

func jsonValue(raw string) string {
	switch {
	case raw == "":
		return ""
	case raw[0] == '"':
		return jsonString(raw)
	case raw[0] == '{':
		if name, ok := objectName(raw); ok {
			return name
		}
	case strings.HasPrefix(raw, `[{"name":`):
		var objects []struct{ Name, Namespace string }
		if json.Unmarshal([]byte(raw), &objects) == nil {
			names := make([]string, 0, len(objects))
			for _, o := range objects {
				names = append(names, strconv.Quote(o.Namespace+"/"+o.Name))
			}
			return "[" + strings.Join(names, ",") + "]"
		}
	}
	return strings.TrimRight(raw, " \t")
}

// objectName is "namespace/name" for {"name":…,"namespace":…}.
func objectName(raw string) (string, bool) {
	if !strings.Contains(raw, `"namespace"`) {
		return "", false
	}
	var o struct{ Name, Namespace string }
	if json.Unmarshal([]byte(raw), &o) != nil || o.Name == "" {
		return "", false
	}
	return o.Namespace + "/" + o.Name, true
}
