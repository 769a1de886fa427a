package read

import (
	"fmt"
	"io/fs"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// Logs is a story as a part of the evidence, with what was read and, in the notes, what was not. The error says
// that there was no log at all.
func Logs(story logs.Story, notes ...logs.File) (forensics.Evidence, error) {
	story.Files = append(story.Files, notes...)
	if story.Files == nil {
		story.Files = []logs.File{}
	}
	part := forensics.Evidence{Logs: &story}
	total := forensics.Source{Source: forensics.SourceLogs, Status: forensics.SourceAbsent}
	for _, f := range story.Files {
		s := forensics.Source{Source: forensics.SourceLogs + ":" + f.Path, Status: forensics.SourceStatus(f.Status), Detail: f.Detail, Bytes: f.Bytes}
		part.Coverage = append(part.Coverage, s)
		total.Bytes += f.Bytes
		switch {
		case s.Status == forensics.SourceTimeout && f.Bytes > 0: // its beginning was read
			total.Status = forensics.SourceTruncated
		case s.Status.Usable() && !total.Status.Usable():
			total.Status = s.Status
		case !total.Status.Usable() && s.Status != forensics.SourceAbsent:
			total.Status = s.Status
		}
	}
	var err error
	if !total.Status.Usable() {
		total.Detail = "no log could be read"
		err = fmt.Errorf("%s: %w", total.Detail, fs.ErrNotExist)
	}
	part.Coverage = append(part.Coverage, total)
	return part, err
}
