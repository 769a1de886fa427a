package pasted

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

var (
	testBegins = pattern.New(`^[> \t]*=== (?:RUN|CONT|NAME) +\S`)
	testEnds   = pattern.New(`^[> \t]*(?:--- (?:PASS|FAIL|SKIP): \S|(?:PASS|FAIL)\r?$|(?:ok|FAIL)[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\)))`)
)

// dropTests empties what tests print, from the line with which "go test" begins the first one to its last verdict: the errors there are
// what the tests are about. A test without a verdict may be no test.
func dropTests(lines []string) bool {
	first, last := slices.IndexFunc(lines, testBegins.MatchString), -1
	for i := max(first, 0); first >= 0 && i < len(lines); i++ {
		if testEnds.MatchString(lines[i]) {
			last = i
		}
	}
	if last <= first {
		return false
	}
	clear(lines[first : last+1])
	return true
}

// dropEcho empties a title that quotes one of the messages below it, which would count twice, and as the first.
func dropEcho(lines []string) bool {
	const long = 20 // bytes
	first := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) != "" })
	if first < 0 {
		return false
	}
	title := strings.TrimSpace(lines[first])
	if len(title) < long || begins(title) || !slices.ContainsFunc(lines[first+1:], func(line string) bool {
		before, ok := strings.CutSuffix(strings.TrimRight(line, " \t\r"), title)
		return ok && begins(strings.TrimLeft(before, "> \t"))
	}) {
		return false
	}
	lines[first] = ""
	return true
}

// expected is the heading under which an issue says what should have happened.
var expected = pattern.New(`(?i)^[#*_ \t>]*(?:what (?:did )?you expect(?:ed)?(?: to (?:happen|see))?|expected (?:behaviou?r|results?|outcome))[^a-z0-9]*$`)

// dropExpected empties what an issue expects, which has not happened: the lines below that heading, up to an empty one, but for those of logs.
func dropExpected(lines []string) (changed bool) {
	for i, line := range lines {
		if !expected.MatchString(line) {
			continue
		}
		for n := i + 1; n < len(lines) && (n == i+1 || strings.TrimSpace(lines[n]) != "") && !heading.MatchString(lines[n]); n++ {
			if lines[n] != "" && !begins(strings.TrimLeft(lines[n], "> \t")) {
				lines[n], changed = "", true
			}
		}
	}
	return changed
}

// heading is that of a section of an issue.
var heading = pattern.New("^[ \t]*(?:#{1,6} |\\*\\*[^*]+\\*\\*:?[ \t\r]*$|```)")

var (
	// manual is the heading of instructions, and placeholder what stands there for a name.
	manual    = pattern.New(`(?i)^[#*=> \t]*(?:runbook|playbook|how[ -]?to|sop|(?:troubleshooting|debugging|error) guide|knowledge base|kb[ -]?\d+)\b`)
	aboutWiki = pattern.New(`(?i)(?:^|[^\w/.-])wiki(?:[^\w/.-]|$)`)
	forDocs   = pattern.New(`(?i)(?:\b(?:for|to|in) (?:the |our )?(?:docs|documentation|handbook)\b|\bfür (?:die|unsere) Doku|\bpour la doc|\bpara la documentaci|\bpara a documenta|\bper la documentazione|для документации|ドキュメント用|写进文档)`)
	// fromDocs and neverSeen are a question about a message that somebody knows from reading alone.
	fromDocs    = pattern.New(`(?i)(?:\b(?:docs?|documentation|book|course|Doku|Dokumentation|documentación|documentação|documentazione)\b|документаци|ドキュメント|文档|문서)`)
	neverSeen   = pattern.New(`(?i)(?:\bnever (?:actually |ever )?(?:seen|saw|had|got)\b|\bnie gesehen\b|\bjamais vu\b|\bnunca (?:lo )?(?:he|hemos|vi|vimos)\b|\bmai vist|никогда не вид|見たことがな|从(?:来)?没(?:有)?见|본 적이 없)`)
	section     = pattern.New(`^#{2,4} `)
	proposes    = pattern.New(`(?i)^#{1,4} (?:motivation|goals|non-goals|proposal|user stories|alternatives|risks and mitigations|drawbacks|graduation criteria|test plan)\b`)
	changes     = pattern.New(`(?i)^[#* ]*(?:what this pr does|does this pr introduce|special notes for your reviewer|which issue(?:\(s\))? (?:this pr|does this pr) fix)`)
	quotedPage  = pattern.New(`^> ?#{2,4} `)
	placeholder = pattern.New(`<(?i:pod[ _-]?)?(?i:uid|pv|pvc|node|name|namespace|path|volume|pod|id|host|ip|mountpoint|device)(?i:[ _-](?:name|id|uid))?>`)
	// example is a line that is set apart from the words around it.
	example = pattern.New("^(?:[ \t]*[>|]|    |\t)|`")
)

// dropManual empties instructions for others, but for their heading: their messages are examples. Where they have no names to be filled in, only
// what is set apart is one, and only if nothing has a time.
func dropManual(lines []string) bool {
	first := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) != "" })
	if first < 0 {
		return false
	}
	instructions := manual.MatchString(lines[first])
	switch {
	case instructions && slices.ContainsFunc(lines, placeholder.MatchString):
		clear(lines[first+1:])
		return true
	case countOf(lines, changes) > 1: // a pull request, whose logs are of before and after
	case !instructions && !slices.ContainsFunc(lines, quotedPage.MatchString) && !isWikiPage(lines[first:]) && !isProposal(lines) && !forDocs.MatchString(lines[first]) && !isQuestion(lines),
		slices.ContainsFunc(lines, func(line string) bool { return begins(strings.TrimLeft(line, "> \t`")) }):
		return false
	}
	fenced := false
	for i, line := range lines[first+1:] {
		if fence.MatchString(line) {
			fenced = !fenced
		} else if fenced || example.MatchString(line) {
			lines[first+1+i] = ""
		}
	}
	return true
}

// isProposal says whether a text has sections of one: what it quotes is to show what would change.
func isProposal(lines []string) bool {
	return countOf(lines, proposes) > 1
}

// countOf is how many lines match.
func countOf(lines []string, p *pattern.Pattern) (n int) {
	for _, line := range lines {
		if p.MatchString(line) {
			n++
		}
	}
	return n
}

// isQuestion says whether somebody asks about what the documentation tells, and has not seen himself.
func isQuestion(lines []string) bool {
	const short = 8 // lines: who has a problem, too, tells more
	return len(lines) <= short && slices.ContainsFunc(lines, fromDocs.MatchString) && slices.ContainsFunc(lines, neverSeen.MatchString)
}

// isWikiPage says whether the first line is about a wiki, and what follows is in sections.
func isWikiPage(lines []string) bool {
	return aboutWiki.MatchString(lines[0]) && slices.ContainsFunc(lines, section.MatchString)
}
