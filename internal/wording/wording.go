// Package wording says what is wrong with a text that people read: words that they would not use, sentences that they have to read
// twice, headlines that are none. It is for tests.
package wording

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/headline"
)

// refused are words that this program does not use, with those to use instead. "%" stands for anything.
var refused = []struct{ pattern, instead string }{
	{`how sure`, "confidence"},
	{`suffers?`, "affected"},
	{`no pod that is known`, "none identified"},
	{`(does|do|did) not go away|goes away`, "stuck in Terminating, is not removed"},
	{`stands? (at|in|on|still)|standing still`, "is stuck at, is stalled, is blocked in"},
	{`(come|comes|came|coming) round`, "is stalled"},
	{`get through its list`, "PLEG relist is blocked"},
	{`goes because of`, "is being deleted by"},
	{`whoever|whoso`, "any process that"},
	{`stops? in the kernel`, "blocks in the kernel"},
	{`held by|holds? (the|this|that|a) (mount|volume|file system)|who holds`, "in use by; open files"},
	{`that could be looked at`, "no open files"},
	{`(was|were|is|are|not) looked at`, "not collected, not read, not checked"},
	{`can have added`, "at least"},
	{`heals?|healed`, "fix"},
	{`walks? into`, "hang on"},
	{`that is known here`, "unrecognized"},
	{`nobody|somebody`, "no process, no one; name who"},
	{`what it cost`, "collection overhead"},
	{`what became of`, "results"},
	{`told apart|tell apart|tells apart`, "distinguished"},
	{`thrown out`, "evicted, blocklisted"},
	{`of old`, "older"},
	{`keeps? waiting`, "blocks"},
	{`as ever`, "as before"},
	{`to be had`, "available"},
	{`in the way`, "blocking"},
	{`at the latest`, "no later than, since"},
	{`for whom|of whom|to whom`, "for which"},
	{`is gone|are gone|has gone|was gone`, "no longer exists"},
	{`looks? well|is well|are well`, "is healthy"},
	{`so long`, "for this time"},
	{`a person`, "you, an operator"},
	{`by hand only`, "must be loaded again by an operator"},
	{`what is left of`, "the rest of"},
	{`kubelet lives?`, "kubelet run"},
	{`the time was up|time is up`, "timed out"},
	{`does not come|do not come`, "is not answered"},
}

var patterns = func() (list []*regexp.Regexp) {
	for _, r := range refused {
		list = append(list, regexp.MustCompile(`(?i)\b(`+r.pattern+`)\b`))
	}
	return list
}()

// Refused are the words of a text that are not to be said, with what to say instead.
func Refused(text string) (problems []string) {
	flat := strings.Join(strings.Fields(text), " ")
	for i, p := range patterns {
		if found := p.FindString(flat); found != "" {
			problems = append(problems, fmt.Sprintf("%q: say %q", found, refused[i].instead))
		}
	}
	return problems
}

// MostWords is how many words a sentence has at most.
const MostWords = 30

var (
	sentenceEnd = regexp.MustCompile(`[.?!:;](?:["')\]]*)(?:\s+|$)|\n\s*\n|\n\s*[-*|] |\n\s*[0-9]+\. `)
	aWord       = regexp.MustCompile(`^[("'\x60\[]*\pL[\pL'’-]*[)"'\x60\],.;:?!]*$`)
)

// Long are the sentences of a text that have more than [MostWords] words. What is behind a colon or a semicolon is a sentence of its
// own. Paths, numbers and commands are no words.
func Long(text string) (problems []string) {
	for _, s := range sentenceEnd.Split(text, -1) {
		n := 0
		for _, w := range strings.Fields(s) {
			if aWord.MatchString(w) {
				n++
			}
		}
		if n > MostWords {
			problems = append(problems, fmt.Sprintf("%d words: %s", n, strings.Join(strings.Fields(s), " ")))
		}
	}
	return problems
}

// The patterns of a headline, by what is broken.
var headlines = []*regexp.Regexp{
	regexp.MustCompile(`^.+ (has|have) not (responded|answered .+) for .+$`),    // dead dependency
	regexp.MustCompile(`^\S.* stuck in .+$`),                                    // stuck object
	regexp.MustCompile(`^.+ (at|of|exceeds?|below|past|reached) .*\d.*[:;].+$`), // limit
	regexp.MustCompile(`^([^:;]|:\S)+ (is|are|was|were|has|have|had|cannot|could not|does not|do not|starts?|did not|may|can|fails?|failed|serves?|answers?|responds?|responded|restarted|waits?|wait|fills?|removes?|removed|differs?|keeps?)\b.*$`), // component
	regexp.MustCompile(`^([^:;]+: )?[\d,]+ [^:;]+(: .+)?(; .+)?$`), // leftover or change
	regexp.MustCompile(`^Known harmless log message: .+ \(.+\)$`),
}

// evidence is what belongs below a headline.
var evidence = regexp.MustCompile(`(?i)\bgoroutine \d|\bthread \d|\bmount \d|\bsuperblock \d|\d bytes\b|\binode \d|\b(newfstatat|fstatat|statx|os\.Stat|syscall\.)|0x[0-9a-f]{6}`)

// Headline says what is wrong with one.
func Headline(title string) (problems []string) {
	if n := utf8.RuneCountInString(title); n > headline.Most {
		problems = append(problems, fmt.Sprintf("%d characters", n))
	}
	if found := evidence.FindString(title); found != "" {
		problems = append(problems, fmt.Sprintf("%q is evidence", found))
	}
	if strings.HasSuffix(title, ".") {
		problems = append(problems, "a full stop")
	}
	for _, p := range headlines {
		if p.MatchString(title) {
			return problems
		}
	}
	return append(problems, "it has none of the patterns")
}
