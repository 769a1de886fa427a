package forensics

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/headline"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// A Check judges one kind of trouble. It is a plain value; the list of all is checks.All.
type Check struct {
	// ID never changes, because automation depends on it. Lower case words joined by dashes.
	ID string
	// Title says in a few words what the check finds. Doc says what that means, on which evidence it rests, for which kubelet and kernel
	// versions it is valid, and where it can be wrong.
	Title string
	Doc   string
	// Severity is the worst that it reports.
	Severity Severity
	// Needs are the sources without which it says "not checked".
	Needs []Need
	Run   func(*Pass)
}

// Need is met by any one of its sources.
type Need []string

func (n Need) String() string { return strings.Join(n, " or ") }

// Pass is one run of one check. A check reads Evidence and Model and calls Report; it has no other effect.
type Pass struct {
	Check    Check
	Evidence *Evidence
	Model    *Model

	findings []Finding
	partly   []string
	broken   error // what the check may not report
	said     map[string]bool
	alike    map[alikeKey]*alikeFinding
	known    map[string]any
}

// Once computes a value only once in a pass. The key is for that value alone; callers must not change it.
func Once[T any](p *Pass, key string, compute func() T) T {
	if v, ok := p.known[key].(T); ok {
		return v
	}
	v := compute()
	if p.known == nil {
		p.known = map[string]any{}
	}
	p.known[key] = v
	return v
}

// Report records a finding. It sets the ID, and an empty Confidence to [Possible]. The check fails if a finding is more severe than the
// check declares, or if a remedy has no action, or neither or both of command and instruction.
func (p *Pass) Report(f Finding) { p.findings = append(p.findings, p.checked(f)) }

// checked is a finding as it is recorded.
func (p *Pass) checked(f Finding) Finding {
	f.ID = p.Check.ID
	if f.Confidence == "" {
		f.Confidence = Possible
	}
	if f.Severity.Rank() > p.Check.Severity.Rank() {
		p.broken = fmt.Errorf("reports %s, but declares %s", f.Severity, p.Check.Severity)
	}
	for _, r := range f.Remedies {
		if err := r.problem(); err != nil && p.broken == nil {
			p.broken = err
		}
	}
	doubtClaims(p.Evidence, &f)
	f.setTitle(f.Title)
	return f.filled()
}

// setTitle makes a text the headline. A title that had to be cut is in the detail in full.
func (f *Finding) setTitle(title string) {
	f.Title = headline.Fit(title)
	if f.Title != title {
		f.Detail = strings.TrimSpace(title + ". " + f.Detail)
	}
}

// ReportAlike records a finding that many things may share, and merges equal ones into one. The merged finding has the subjects, references
// and pods of all, the detail of the first and the steps of the first few. Findings are equal if they have the same key, severity,
// confidence, causes, kind of subject and kinds of steps. The key is what else they have in common, as facts (ids, classes) that can be
// compared, never a sentence. title is the headline for n things; a single one keeps its own title.
func (p *Pass) ReportAlike(key any, title func(n int) string, f Finding) {
	f = p.checked(f)
	k := alikeKey{key, f.Severity, f.Confidence, f.Subject.Kind, fmt.Sprint(f.Because), f.actions()}
	if a := p.alike[k]; a != nil {
		a.add(&p.findings[a.at], f)
		return
	}
	if p.alike == nil {
		p.alike = map[alikeKey]*alikeFinding{}
	}
	p.alike[k] = &alikeFinding{at: len(p.findings), title: title, details: []string{f.Detail}}
	p.findings = append(p.findings, f)
}

// alikeKey is what merged findings have in common.
type alikeKey struct {
	key            any
	severity       Severity
	confidence     Confidence
	kind           Kind
	because, steps string
}

// actions are the kinds of a finding's steps, in their order.
func (f Finding) actions() string {
	var all []Action
	for _, r := range f.Remedies {
		all = append(all, r.Action)
	}
	return fmt.Sprint(all)
}

// alikeFinding is a finding that others may be merged into.
type alikeFinding struct {
	at      int // in Pass.findings
	title   func(n int) string
	details []string // of the first few things, in the order of the subjects
	differ  bool     // some have another detail than the first
}

// maxAlikeSteps is how many of the merged things have steps of their own: those for the others are the same.
const maxAlikeSteps = 3

// add merges another finding, about another subject, into this one.
func (a *alikeFinding) add(f *Finding, o Finding) {
	if len(f.Subjects) == 0 {
		f.Subjects = f.About()
	}
	few := len(f.Subjects) < maxAlikeSteps && !slices.Contains(f.Subjects, o.Subject)
	f.Subjects = append(f.Subjects, o.About()...)
	f.Since = earlier(f.Since, o.Since)
	f.Refs, f.Pods = append(f.Refs, o.Refs...), append(f.Pods, o.Pods...)
	if few {
		f.Remedies = append(f.Remedies, o.Remedies...)
		a.details = append(a.details, o.Detail)
	}
	a.differ = a.differ || o.Detail != f.Detail
}

// finish writes the titles and details of merged findings.
func (p *Pass) finish() {
	for _, a := range p.alike {
		f := &p.findings[a.at]
		f.Subjects, f.Pods, f.Refs, f.Remedies = distinct(f.Subjects), distinct(f.Pods), distinct(f.Refs), inOrder(f.Remedies)
		if len(f.Subjects) < 2 {
			f.Subjects = nil // the same was reported twice of one thing
			continue
		}
		f.Title = headline.Fit(a.title(len(f.Subjects)))
		if a.differ {
			f.Detail = p.each(f.Subjects, a.details)
		} else {
			f.Detail = strings.TrimSpace(f.Detail + " Found for: " + p.names(f.Subjects) + ".")
		}
	}
}

// each has the details of the first few things and the names of the others.
func (p *Pass) each(list []Entity, details []string) string {
	var parts []string
	for i, detail := range details[:min(len(details), len(list))] {
		parts = append(parts, "For "+p.names(list[i:i+1])+": "+detail)
	}
	if others := list[len(parts):]; len(others) > 0 {
		parts = append(parts, "Also found for: "+p.names(others)+".")
	}
	return strings.Join(parts, " ")
}

// names lists the first few things: pods by their names, mounts by their mount points, processes by their commands.
func (p *Pass) names(list []Entity) string {
	named := slices.Clone(list[:min(len(list), maxNamed)])
	for i, e := range named {
		number, _ := strconv.Atoi(e.ID)
		switch e.Kind {
		case KindPod:
			named[i].ID = p.Model.Pod(e.ID).label()
		case KindMount:
			if mount, ok := p.Model.Mount(number); ok {
				named[i].ID = fmt.Sprintf("%s (mount %s)", mount.MountPoint, e.ID)
			}
		case KindProcess:
			if process, ok := p.Model.Process(number); ok {
				named[i].ID = fmt.Sprintf("%s (pid %s)", process.Comm, e.ID)
			}
		}
	}
	return ids(named, len(list))
}

// distinct removes repeated elements.
func distinct[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	return sorting.Delete(list, func(x T) bool {
		again := seen[x]
		seen[x] = true
		return again
	})
}

// filled replaces nil slices: arrays are never null in JSON.
func (f Finding) filled() Finding {
	f.Because = append([]Entity{}, f.Because...)
	f.Refs = append([]Ref{}, f.Refs...)
	f.Remedies = append([]Remedy{}, f.Remedies...)
	f.Pods = append([]string{}, f.Pods...)
	return f
}

// maxUnjudged is how many reasons of [Pass.Unjudged] are kept.
const maxUnjudged = 20

// Unjudged records that a part could not be judged, and why. Without a finding the outcome is then "not checked", not "clean".
func (p *Pass) Unjudged(format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if p.said[why] {
		return
	}
	if p.said == nil {
		p.said = map[string]bool{}
	}
	p.said[why] = true
	if len(p.partly) < maxUnjudged {
		p.partly = append(p.partly, why)
	}
}

// missing lists the needs that the evidence does not meet.
func (c Check) missing(e *Evidence) (lacks []string) {
	for _, need := range c.Needs {
		if !slices.ContainsFunc(need, func(source string) bool { ok, _ := e.Saw(source); return ok }) {
			lacks = append(lacks, need.lack(e))
		}
	}
	return lacks
}

func (n Need) lack(e *Evidence) string {
	var why []string
	for _, source := range n {
		_, reason := e.Saw(source)
		why = append(why, source+" "+reason)
	}
	return strings.Join(why, ", ")
}

var checkID = pattern.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate rejects badly declared checks: a missing or repeated id, no text, no Run, no severity.
func Validate(checks []Check) error {
	var errs []error
	seen := map[string]bool{}
	for i, c := range checks {
		err := c.problem()
		if err == nil && seen[c.ID] {
			err = errors.New("declared twice")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("check %d (%q): %w", i, c.ID, err))
		}
		seen[c.ID] = true
	}
	return errors.Join(errs...)
}

func (c Check) problem() error {
	switch {
	case !checkID.MatchString(c.ID):
		return errors.New("bad id")
	case c.Title == "" || c.Doc == "":
		return errors.New("no title or documentation")
	case c.Severity.Rank() == 0:
		return errors.New("no severity")
	case c.Run == nil:
		return errors.New("no Run")
	case len(c.Needs) == 0:
		return errors.New("needs nothing: then it cannot say \"not checked\"")
	}
	return nil
}
