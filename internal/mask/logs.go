package mask

import (
	"slices"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// Logs masks a copy of a story: the quotes, what stands in the words of a message, and names, which may be anything that
// is written into the log.
func Logs(r *redact.Redactor, story *logs.Story) *logs.Story {
	const where = "logs"
	s := *story
	subject := func(x *logs.Subject) {
		x.Path = r.URL(where, x.Path)
		x.Image = r.URL(where, x.Image)
		x.Server = r.URL(where, x.Server)
	}
	s.Events = slices.Clone(s.Events)
	for i := range s.Events {
		subject(&s.Events[i].Subject)
	}
	s.Operations = slices.Clone(s.Operations)
	for i := range s.Operations {
		subject(&s.Operations[i].Subject)
	}
	Strings(&s, where, r.Text)
	return &s
}
