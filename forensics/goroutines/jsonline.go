package goroutines

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/logline"
)

// jsonRecord is a log line in JSON: of docker's json-file, journalctl -o json, klog or zap.
type jsonRecord struct {
	source string
	text   string // the message; may hold several lines
	stacks []string
	whole  bool // false if docker cut the line
}

// parseJSONLine reads one JSON object. It is false if b is none or has no message.
func parseJSONLine(b []byte) (jsonRecord, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(b, &fields) != nil {
		return jsonRecord{}, false
	}
	rec := jsonRecord{whole: true}
	for _, key := range []string{"log", "MESSAGE", "message", "msg"} {
		raw, found := fields[key]
		if !found {
			continue
		}
		rec.text = jsonText(raw)
		rec.whole = key != "log" || strings.HasSuffix(rec.text, "\n")
		delete(fields, key)
		break
	}
	rec.source = jsonSource(fields)
	rec.stacks = jsonStacks(fields)
	return rec, rec.text != "" || len(rec.stacks) > 0
}

// jsonSource names the writer with the fields of the journal, or docker's stream.
func jsonSource(fields map[string]json.RawMessage) string {
	if ident := jsonText(fields["SYSLOG_IDENTIFIER"]); ident != "" {
		return jsonText(fields["_HOSTNAME"]) + " " + ident + "[" + jsonText(fields["_PID"]) + "]"
	}
	return jsonText(fields["stream"])
}

// jsonStacks returns the values that hold stacks, such as "stacktrace", in the order of their keys.
func jsonStacks(fields map[string]json.RawMessage) []string {
	var keys []string
	for key, raw := range fields {
		if bytes.Contains(raw, []byte("goroutine ")) && bytes.Contains(raw, []byte(`\n`)) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	stacks := make([]string, 0, len(keys))
	for _, key := range keys {
		stacks = append(stacks, jsonText(fields[key]))
	}
	return stacks
}

// jsonText returns a string, or the bytes that the journal writes as an array
// of numbers if a message is not printable.
func jsonText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	s, _ = logline.JournalBytes(raw)
	return s
}
