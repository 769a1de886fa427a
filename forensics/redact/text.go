package redact

import (
	"cmp"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// maxPasses is how often a text is gone through until nothing is found any more. Twice is enough for anything but texts
// that were made to need more.
const maxPasses = 32

// Text masks secrets in free text: log lines, error messages, configuration files, dumps. A text without any is
// returned as it is. What is masked once stays as it is if it is masked again. Of a text of more than 32 KiB the end is
// cut off, and so it is where one was made to take very long; it then ends in "…(cut: N bytes not shown)".
func (r *Redactor) Text(where, s string) string { return r.text(where, s, newFuel(s)) }

func (r *Redactor) text(where, s string, fuel *int) string {
	s, missing := takeNote(s)
	all := len(s)
	shown := shownOf(s)
	s = s[:min(all, fieldBudget)]
	for range maxPasses {
		f := look(r, s, 0, 0, fuel)
		if f != nil && f.cut < shown {
			shown = f.cut
			*fuel = stepsPerByte / 4 * len(s) // for what is left of it
		}
		secrets := f.before(&shown)
		missing += all - shown
		s = s[:shown]
		if len(secrets) == 0 {
			break
		}
		s = r.replace(where, s, secrets)
		shown, all = len(s), len(s)
	}
	if missing > 0 {
		s += cutNote(missing)
	}
	return s
}

// before returns the secrets that begin in what is shown; one that goes on beyond it is taken as a whole.
func (f *finding) before(shown *int) []secret {
	if f == nil || len(f.secrets) == 0 {
		return nil
	}
	list := f.merged()
	for n, x := range list {
		if x.from >= *shown {
			return list[:n]
		}
		*shown = max(*shown, x.to)
	}
	return list
}

func (r *Redactor) replace(where, s string, secrets []secret) string {
	var b strings.Builder
	end := 0
	for _, x := range secrets {
		b.WriteString(s[end:x.from])
		b.WriteString(r.mask(where, x.rule, s[x.from:x.to]))
		end = x.to
	}
	b.WriteString(s[end:])
	return b.String()
}

// A secret is a place in a text.
type secret struct {
	from, to int
	rule     string
}

// A finding is what one pass over a text has found.
type finding struct {
	s string
	r *Redactor
	// hit says that there was a trigger that is not common in text.
	hit bool
	// noUser is a place before which no URL with a user begins, as far as is known.
	noUser int
	// layer counts the escapes that were undone to get s, depth how often it was base64.
	layer, depth int
	secrets      []secret
	// last is the secret that ends last, masked the end of the last placeholder.
	last   secret
	masked int
	// word is the last range that [finding.wordEnd] went through.
	word struct{ from, to int }
	// code is the last word that was taken for base64. The ends of the last structure, command line and object are where
	// the next one can begin.
	code                         struct{ from, to int }
	structured, commanded, kinds int
	// fuel is how many steps are left; where it ran out, the text is cut.
	fuel *int
	cut  int
}

// reach is how far the name and the separator may be from a secret that follows them. A trigger that is deeper than that
// in a secret needs no closer look, which keeps the time linear in texts that consist of triggers.
const reach = 64

// look finds the secrets in a text and below its escapes. It returns nil where there is no trigger.
func look(r *Redactor, s string, layer, depth int, fuel *int) *finding {
	var f *finding
	*fuel -= len(s)
	r.machine.scan(s, func(index, end int) bool {
		t := &r.machine.triggers[index]
		from := end - len(t.word)
		if t.fits != nil && !t.fits(s, from, end) {
			return true
		}
		if f == nil {
			f = &finding{s: s, r: r, layer: layer, depth: depth, fuel: fuel, cut: len(s)}
		}
		if *fuel < 0 {
			f.cut = from
			return false
		}
		f.hit = f.hit || t.fits == nil
		if f.wants(from, end) {
			f.spend(stepsPerTrigger)
			t.find(f, from, end)
		}
		return true
	})
	if f != nil && f.hit && f.cut == len(s) {
		f.layers()
	}
	return f
}

func (f *finding) wants(from, to int) bool {
	return from >= f.masked && (from < f.last.from || to+reach >= f.last.to)
}

// add notes a secret, unless it is nothing but a placeholder.
func (f *finding) add(rule string, from, to int) {
	f.spend(to - from + stepsPerSecret)
	if from >= to || placeholderAt(f.s, from) == to {
		return
	}
	f.secrets = append(f.secrets, secret{from, to, rule})
	if to > f.last.to {
		f.last = f.secrets[len(f.secrets)-1]
	}
}

// placeholder notes that something has been masked already.
func (f *finding) placeholder(from, _ int) {
	f.masked = max(f.masked, placeholderAt(f.s, from))
}

// merged returns the secrets in order, those that overlap as one.
func (f *finding) merged() []secret {
	sorting.Stable(f.secrets, func(a, b secret) int { return cmp.Or(a.from-b.from, b.to-a.to) })
	merged := f.secrets[:1]
	for _, x := range f.secrets[1:] {
		if last := &merged[len(merged)-1]; x.from < last.to {
			last.to = max(last.to, x.to)
		} else {
			merged = append(merged, x)
		}
	}
	return merged
}
