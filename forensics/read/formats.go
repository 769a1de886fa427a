package read

import (
	"bytes"
	"context"
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/v1"
)

// A format is a sort of file that people save.
type format struct {
	name string // Result.Kind
	is   func(beginning) bool
	// add adds what a file says to the evidence, and says whether there was anything of use. Where nil, files are added
	// together, once all have been looked at.
	add func(*reader, context.Context, document) (used bool, err error)
}

// formats are in the order in which they are tried. What is none of them is tried as a goroutine dump, of which the
// beginning need not say anything.
var formats = []format{
	{forensics.SourceKubelet, isKubeletFile, (*reader).kubeletFile},
	{forensics.SourceMetrics, isMetrics, (*reader).metrics},
	{forensics.SourceLogs, isLog, nil},
	{forensics.SourceAPIDump, isAPIDump, (*reader).apiDump},
	{"report", hasSchema(reportSchema, reportSchemaV1), (*reader).report},
	{"evidence", hasSchema(forensics.EvidenceSchema, v1.Schema), (*reader).savedEvidence},
	{forensics.SourceKubeletPods, isPodList, (*reader).pods},
	{forensics.SourceMounts, isMountinfo, (*reader).mountTable},
}

// A beginning is what formats are told by.
type beginning struct {
	head []byte // of the file, at most headSize
	// schema and kind are what a JSON object says of itself, "" where it does not say so; whole says that all of it was looked
	// at, not only the head.
	schema, kind string
	whole        bool
}

// recognise finds the format of a file; false if it is none of the table.
func recognise(b beginning) (format, bool) {
	if !b.whole && b.isJSON() {
		b.schema, b.kind = labels(b.text())
	}
	for _, f := range formats {
		if f.is(b) {
			return f, true
		}
	}
	return format{}, false
}

// blanks may stand before a document.
const blanks = " \t\r\n\ufeff"

func (b beginning) text() []byte { return bytes.TrimLeft(b.head, blanks) }
func (b beginning) isJSON() bool { return bytes.HasPrefix(b.text(), []byte("{")) }

func isLog(b beginning) bool { return !b.whole && logs.Recognise(b.head) }

func hasSchema(known ...string) func(beginning) bool {
	return func(b beginning) bool { return slices.Contains(known, b.schema) }
}

// isPodList says whether a file is the kubelet's own list, if it is no list of the API.
func isPodList(b beginning) bool { return b.kind == "PodList" }

// isAPIDump says whether a file begins like objects of the API. A list of pods without a resource version is the
// kubelet's own.
func isAPIDump(b beginning) bool {
	if b.whole {
		return b.schema == "" && b.kind != "" && b.kind != "PodList"
	}
	head := bytes.TrimLeft(b.head[:min(len(b.head), 4096)], blanks)
	if !bytes.HasPrefix(head, []byte("{")) || !apiVersion.Match(head) || bytes.Contains(head, []byte(`"schema"`)) {
		return false
	}
	return !podList.Match(head) || bytes.Contains(head, []byte(`"resourceVersion"`))
}

var (
	apiVersion = pattern.New(`"apiVersion"\s*:`)
	podList    = pattern.New(`^\{\s*("apiVersion"\s*:\s*"v1"\s*,\s*)?"kind"\s*:\s*"PodList"`)
)

// isMountinfo says whether the first line has the shape of /proc/PID/mountinfo.
func isMountinfo(b beginning) bool {
	line, _, _ := bytes.Cut(b.text(), []byte("\n"))
	list, errs := mounts.Parse(bytes.NewReader(line))
	return len(list) == 1 && len(errs) == 0
}
