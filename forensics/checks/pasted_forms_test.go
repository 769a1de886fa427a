package checks

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"
)

// inForms are the forms in which people paste a text.
var inForms = []struct {
	name string
	put  func(text string) string
}{
	{"quoted", eachLine(func(_ int, s string) string { return "> " + s })},
	{"behind bars", eachLine(func(_ int, s string) string { return "│ " + s })},
	{"indented", eachLine(func(_ int, s string) string { return "    " + s })},
	{"behind a TAB", eachLine(func(_ int, s string) string { return "\t" + s })},
	{"lines of Windows", eachLine(func(_ int, s string) string { return s + "\r" })},
	{"padded", eachLine(func(_ int, s string) string { return s + "   " })},
	{"numbered", eachLine(func(i int, s string) string { return fmt.Sprintf("%6d\t%s", i+1, s) })},
	{"double-spaced", func(text string) string { return strings.ReplaceAll(text, "\n", "\n\n") }},
	{"no-break spaces", func(text string) string { return strings.ReplaceAll(text, " ", "\u00a0") }},
	{"typographic quotes", strings.NewReplacer(`"`, "”", "'", "’").Replace},
	{"HTML", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace},
	{"no last line end", func(text string) string { return strings.TrimRight(text, "\n") }},
}

func eachLine(put func(i int, line string) string) func(string) string {
	return func(text string) string {
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for i := range lines {
			lines[i] = put(i, lines[i])
		}
		return strings.Join(lines, "\n") + "\n"
	}
}

// TestPastedForms puts every third file into one of the forms, by its name: the first root cause has to be the same. A few texts are in such a
// form already, and cannot be in two.
func TestPastedForms(t *testing.T) {
	files := slices.DeleteFunc(slices.Clone(pastedFiles(t)), func(s pastedFile) bool {
		return hashOf(s.name)/uint32(len(inForms))%3 != 0 || len(s.text) > 4000 // a few texts take as long as all others
	})
	var (
		lock   sync.Mutex
		of     = map[string]int{}
		differ = map[string][]string{}
	)
	atOnce(files, func(s *pastedFile) {
		form := inForms[hashOf(s.name)%uint32(len(inForms))]
		root := rootOf(analyzePasted(t, form.put(s.text)))
		lock.Lock()
		defer lock.Unlock()
		of[form.name]++
		if root != s.root && !slices.Contains(s.want, root) {
			differ[form.name] = append(differ[form.name], fmt.Sprintf("%s: %q, else %q", s.name, root, s.root))
		}
	})
	for _, form := range inForms {
		slices.Sort(differ[form.name])
		t.Logf("%s: %d of %d differ: %q", form.name, len(differ[form.name]), of[form.name], differ[form.name])
		if of[form.name] < 100 || len(differ[form.name])*50 > of[form.name] {
			t.Errorf("%s: %d of %d differ", form.name, len(differ[form.name]), of[form.name])
		}
	}
}

func hashOf(name string) uint32 {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return hash.Sum32()
}

// TestShownBetweenFences has messages that are known where they stand alone, within a text that somebody has written around them.
func TestShownBetweenFences(t *testing.T) {
	for message, want := range map[string]string{
		"kubelet.service: Main process exited, code=exited, status=255/EXCEPTION":                                   "kubelet-restarting",
		"Failed to write policy state file: kubelet fixed: kubelet.service: Main process exited, status=255, fixed": "", // by what it says
	} {
		around := func(fenced string) string {
			return "Hi,\n\nany idea? It was fine before the upgrade.\n\n" + fenced + "\nThanks!\n"
		}
		if got := rootOf(analyzePasted(t, around("```console\n"+message+"\n```\n"))); got != want {
			t.Errorf("%s: between fences %q, want %q", message, got, want)
		}
		if got := rootOf(analyzePasted(t, around("```\n"+message+"\n"+strings.Repeat("a line\n", 4)+"```\n"))); got != "" {
			t.Errorf("%s: among others %q", message, got)
		}
	}
}
