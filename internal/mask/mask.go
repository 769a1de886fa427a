// Package mask masks secrets, and names if that is asked for, in evidence: it applies package redact to each of its
// fields as what it is, a command line, the options of a mount, a URL, or text. Packages that collect, read or print
// evidence call it first.
package mask

import (
	"reflect"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/goroutines"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
)

// Part replaces secrets in a part of the evidence. Slices of the part are copied where they are changed, because readers
// may share them.
func Part(r *redact.Redactor, part *forensics.Evidence) {
	maskTable(r, &part.Mounts)
	for i := range part.Namespaces {
		maskTable(r, &part.Namespaces[i])
	}
	for i := range part.Processes {
		p := &part.Processes[i]
		p.Command = r.Args("command lines", p.Command)
	}
	if h := part.MountUse; h != nil {
		for i := range h.Foreign {
			t := mounts.Table{Mounts: []mounts.Mount{h.Foreign[i].Mount}}
			maskTable(r, &t)
			h.Foreign[i].Mount = t.Mounts[0]
		}
	}
	if k := part.Kubelet; k != nil {
		for name, value := range k.Flags {
			if masked := r.Args("kubelet flags", []string{"--" + name + "=" + value}); len(masked) == 1 {
				k.Flags[name] = masked[0][len(name)+3:]
			}
		}
		for i := range k.Endpoints {
			k.Endpoints[i].Detail = r.Text("kubelet answers", k.Endpoints[i].Detail)
			k.Endpoints[i].URL = r.URL("kubelet answers", k.Endpoints[i].URL)
		}
	}
	maskRuntimes(r, part)
	if d := part.Disks; d != nil {
		for i := range d.FileSystems {
			d.FileSystems[i].Source = r.URL("mounts", d.FileSystems[i].Source)
			d.FileSystems[i].Error = r.Text("mounts", d.FileSystems[i].Error)
		}
	}
	for i := range part.Probes {
		part.Probes[i].Error = r.Text("mounts", part.Probes[i].Error)
	}
	if part.Logs != nil {
		part.Logs = Logs(r, part.Logs)
	}
	if part.CPUProfile != nil {
		part.CPUProfile.Source = r.URL("kubelet answers", part.CPUProfile.Source)
	}
	frames := frameMask{text: r.Text, clean: map[string]bool{}}
	for i := range part.Dumps {
		part.Dumps[i].Source = r.URL("kubelet answers", part.Dumps[i].Source)
		part.Dumps[i].Header = r.Text("goroutine dumps", part.Dumps[i].Header)
		frames.maskAll(part.Dumps[i].Goroutines)
		for j := range part.Dumps[i].Goroutines {
			for name, value := range part.Dumps[i].Goroutines[j].Labels {
				part.Dumps[i].Goroutines[j].Labels[name] = r.Text("goroutine labels", value)
			}
		}
	}
	if part.Cluster != nil {
		maskCluster(r, part.Cluster)
	}
	for i := range part.Coverage {
		part.Coverage[i].Detail = r.Text("coverage", part.Coverage[i].Detail)
	}
	part.Collector.Command = r.Args("command lines", part.Collector.Command)
	maskRest(r, part)
}

// maskRest takes every other string for text, also of what is added to the evidence later.
func maskRest(r *redact.Redactor, part *forensics.Evidence) {
	v, _ := mapAllStrings(reflect.ValueOf(*part), "", r.Text)
	*part = v.Interface().(forensics.Evidence)
}

// Strings replaces secrets in every string of a value that is made of evidence, with the function that [Until] returned:
// a saved report, or the output of a command. where is for the ledger.
func Strings[T any](v *T, where string, text func(where, s string) string) {
	m := stringMap{f: func(_, s string) string { return text(where, s) }}
	masked, _ := m.of(reflect.ValueOf(*v), where)
	*v = masked.Interface().(T)
}

// A frameMask masks the words of frames, of which there are millions that are the same.
type frameMask struct {
	text  func(where, s string) string
	clean map[string]bool
}

func (m *frameMask) maskAll(list []goroutines.Goroutine) {
	for i := range list {
		g := &list[i]
		g.Frames = m.frames(g.Frames)
		if g.CreatedBy != nil {
			g.CreatedBy = &m.frames([]goroutines.Frame{*g.CreatedBy})[0]
		}
	}
}

// frames returns the frames, copied if one is changed.
func (m *frameMask) frames(list []goroutines.Frame) []goroutines.Frame {
	copied := false
	for i, f := range list {
		masked := f
		masked.Func, masked.File = m.word("goroutine dumps", f.Func), m.word("goroutine dumps", f.File)
		if !isHexWords(f.Args) {
			masked.Args = m.text("goroutine dumps", f.Args)
		}
		if masked == f {
			continue
		}
		if !copied {
			list, copied = slices.Clone(list), true
		}
		list[i] = masked
	}
	return list
}

// isHexWords says whether arguments are what Go prints: "0x106, {0x63d8, 0x63?}, ...".
func isHexWords(args string) bool {
	return strings.Trim(args, "0123456789abcdefx{}(), ?._+") == ""
}

// maxClean bounds the memory of words without a secret.
const maxClean = 1 << 16

func (m *frameMask) word(where, s string) string {
	if m.clean[s] {
		return s
	}
	masked := m.text(where, s)
	if masked == s && len(m.clean) < maxClean {
		m.clean[s] = true
	}
	return masked
}

func maskTable(r *redact.Redactor, t *mounts.Table) {
	for i := range t.Mounts {
		m := &t.Mounts[i]
		m.FSType = r.Text("mounts", m.FSType)
		where := "mount " + m.FSType
		m.SuperOptions = r.Options(where, m.SuperOptions)
		m.Options = r.Options(where, m.Options)
		m.Source = r.URL(where, m.Source)
	}
}

// maskCluster masks what people and controllers write in words; names are not secret.
func maskCluster(r *redact.Redactor, d *apidump.Dump) {
	for i := range d.Pods {
		p := &d.Pods[i]
		p.Message = r.Text("API objects", p.Message)
		for _, c := range []*apidump.Condition{p.Disrupted, p.Unscheduled} {
			if c != nil {
				c.Message = r.Text("API objects", c.Message)
			}
		}
		for j := range p.Images {
			p.Images[j].Name = r.URL("API objects", p.Images[j].Name)
		}
	}
}

// maskRuntimes replaces secrets in what runtimes say of themselves. Environments, arguments and annotations of containers are
// not read at all.
func maskRuntimes(r *redact.Redactor, part *forensics.Evidence) {
	for i := range part.Runtimes {
		rt := &part.Runtimes[i]
		if rt.Answer != nil {
			answer := *rt.Answer
			answer.Detail = r.Text("runtime answers", answer.Detail)
			rt.Answer = &answer
		}
		rt.Problems = append([]string{}, rt.Problems...)
		for j := range rt.Problems {
			rt.Problems[j] = r.Text("runtime files", rt.Problems[j])
		}
	}
	for i := range part.Containers {
		part.Containers[i].Image = r.URL("runtime files", part.Containers[i].Image)
	}
}
