package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// places has the id of everything on the page. Only what is on the page gets a link. An id consists of fixed words and
// numbers, never of text of the node.
type places struct {
	entities map[forensics.Entity]string
	findings map[forensics.Entity]int // by subject, the first
	lines    map[string]string        // of logs, by file and line
	// logs says that there is a section of logs.
	logs bool
	// names has the names of pods; nil where none is known.
	names *podBook
	// shownFindings are the indexes of the findings that are on the page.
	shownFindings map[int]bool
}

func newPlaces() *places {
	return &places{entities: map[forensics.Entity]string{}, findings: map[forensics.Entity]int{}, lines: map[string]string{}, shownFindings: map[int]bool{}}
}

// put records that an entity is shown at an id, if it is not shown before.
func (p *places) put(kind forensics.Kind, id, place string) {
	e := forensics.Entity{Kind: kind, ID: id}
	if _, ok := p.entities[e]; !ok {
		p.entities[e] = place
	}
}

// putLine records that a line of a log is shown at an id, if it is not shown before.
func (p *places) putLine(line, place string) {
	if _, ok := p.lines[line]; line != "" && !ok {
		p.lines[line] = place
	}
}

// href leads to the evidence about an entity; empty where none is on the page.
func (p *places) href(e forensics.Entity) string {
	if id, ok := p.entities[e]; ok {
		return "#" + id
	}
	switch e.Kind {
	case forensics.KindVolume, forensics.KindContainer:
		uid, _, _ := strings.Cut(e.ID, "/")
		return p.hrefOf(forensics.KindPod, uid)
	case forensics.KindKubelet, forensics.KindSubsystem:
		return p.hrefOf(forensics.KindKubelet, "kubelet")
	}
	return ""
}

func (p *places) hrefOf(kind forensics.Kind, id string) string {
	if place, ok := p.entities[forensics.Entity{Kind: kind, ID: id}]; ok {
		return "#" + place
	}
	return ""
}

func (p *places) link(e forensics.Entity) link {
	return link{cell(p.words(e), maxCell), p.href(e)}
}

// words names an entity; a pod by its name and UID where the name is known.
func (p *places) words(e forensics.Entity) string {
	if e.Kind == forensics.KindPod && p.names != nil && !strings.Contains(e.ID, "/") {
		if name := p.names.name(e.ID); name != e.ID {
			return "pod " + name + " (" + e.ID + ")"
		}
	}
	return entityWords(e)
}

// podName is the name of a pod, else its UID.
func (p *places) podName(uid string) string {
	if p.names == nil {
		return uid
	}
	return p.names.name(uid)
}

// findingHref leads to the first finding about an entity.
func (p *places) findingHref(e forensics.Entity) string {
	if i, ok := p.findings[e]; ok {
		return findingID(i, "#")
	}
	return ""
}

func findingID(i int, prefix string) string { return prefix + "finding-" + strconv.Itoa(i+1) }

var refEntity = pattern.New(`\b(goroutine|thread|mount|process|pod|superblock) ([0-9A-Za-z:/-]+)`)

// refHref leads to the evidence of a finding: the entity that the reference names, or else the section.
func (p *places) refHref(source string) string {
	if id, ok := p.lines[string(cell(source, maxCell))]; ok {
		return "#" + id
	}
	name, place, _ := strings.Cut(source, ":")
	if name == forensics.SourceLogs && !p.logs {
		return ""
	}
	if m := refEntity.FindStringSubmatch(place); m != nil {
		if href := p.hrefOf(forensics.Kind(m[1]), m[2]); href != "" {
			return href
		}
	}
	for _, kind := range refKinds(name) {
		if href := p.hrefOf(kind, strings.TrimSpace(place)); href != "" {
			return href
		}
	}
	return sectionOf(name)
}

// refKinds are the kinds of entities that a source is about.
func refKinds(source string) []forensics.Kind {
	switch source {
	case forensics.SourceMounts, forensics.SourceHealth:
		return []forensics.Kind{forensics.KindMount, forensics.KindSuperblock}
	case forensics.SourceThreads:
		return []forensics.Kind{forensics.KindThread}
	case forensics.SourceProcesses:
		return []forensics.Kind{forensics.KindProcess}
	case forensics.SourceGoroutines, forensics.SourceOtherGoroutines:
		return []forensics.Kind{forensics.KindGoroutine}
	}
	if slices.Contains(podSources(), source) {
		return []forensics.Kind{forensics.KindPod}
	}
	return nil
}

func podSources() []string {
	return []string{
		forensics.SourcePodDirs, forensics.SourceCgroups, forensics.SourceStaticPods, forensics.SourcePodLogs,
		forensics.SourceKubeletPods, forensics.SourceRuntime,
	}
}

// sectionOf is the part of the page that shows a source.
func sectionOf(source string) string {
	switch source {
	case forensics.SourceMounts, forensics.SourceHealth:
		return "#mounts"
	case forensics.SourceThreads:
		return "#threads"
	case forensics.SourceProcesses:
		return "#processes"
	case forensics.SourceGoroutines, forensics.SourceOtherGoroutines:
		return "#goroutines"
	case forensics.SourceKubelet, forensics.SourceKubeletHealth, forensics.SourceMetrics:
		return "#kubelet"
	case forensics.SourceLogs:
		return "#logs"
	case forensics.SourceNode, forensics.SourceCollector:
		return "#run"
	}
	if slices.Contains(podSources(), source) {
		return "#pods"
	}
	return ""
}
