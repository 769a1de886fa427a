package logs

import (
	"bytes"
	"cmp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/nodeforensics/nodeforensics/internal/hearsay"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

const (
	minQuotedMessage = 32   // bytes; people put names and single words between quotes, too
	maxSentence      = 4096 // what is longer has nobody written
	maxQuotations    = 4
)

// A brief text has so many lines and bytes at most.
const (
	briefLines = 3
	briefBytes = 2 << 10
)

// aboutWords are words of who writes about a message, and does not show one that they have seen.
var aboutWords = pattern.New(`(?i)[?？](?:\s|$)|\b(?:(?:never|yesterday|fixed|solved|resolved|example|e\.g|if (?:you|we|the)|whenever|means|meaning|docs?|documentation|grep|todo|they had|last (?:week|month|night|year))\b|(?:alert|expr|summary|description):)`)

// isBrief says whether a text is a few lines in which somebody shows a message, without what programs write before it.
func isBrief(text []byte) bool {
	if len(text) > briefBytes {
		return false
	}
	lines := 0
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			lines++
		}
	}
	return lines <= briefLines && !aboutWords.Match(text)
}

// look learns from the beginning of a log, or from all of it, which lines somebody shows for what they say.
func (p *lineParser) look(text []byte, whole bool) {
	p.brief = whole && isBrief(text)
	p.shown, p.lenient = nil, false
	if whole && !p.brief {
		p.shown = shownLines(text)
	}
	p.lenient = whole && p.origin == "" && len(text) <= maxLenient && wordsWithin().next(text, 0) >= 0 && !hearsay.IsDocument(text) && !p.knows(text)
}

// maxLenient is how many bytes a text has at most in which messages are looked for in sentences.
const maxLenient = 8 << 10

// knows says whether a text has a line that is known.
func (p *lineParser) knows(text []byte) bool {
	for line := range bytes.Lines(text) {
		if wordsOfAll().next(line, 0) < 0 {
			continue
		}
		e, _ := p.parse(string(line))
		if o, ok := classify(&e); ok && o.Kind != kindSaidRepeated {
			return true
		}
	}
	return false
}

// wordsWithin finds what messages begin with, or hold, that may stand in a sentence.
var wordsWithin = sync.OnceValue(func() *matcher {
	words := make([]string, len(book.within))
	for i, r := range book.within {
		words[i] = cmp.Or(r.start, r.has)
	}
	return newMatcher(words, nil)
})

// minWithin is how long the words are at least by which a message is known in a sentence that does not quote it.
const minWithin = 25

// isValue is a key of YAML with a quoted value.
var isValue = pattern.New(`^\s*(?:- )?[a-z]\w*: ['"|>]`)

// findWithin finds the rule for a message that stands in a sentence, in a text in which nothing else is known.
func (b *rulebook) findWithin(e *entry, o *occurrence) (known, bool) {
	if !e.Lenient || e.Origin != "" || len(e.Message) > maxSentence || isValue.MatchString(e.Message) || wordsWithin().next([]byte(e.Message), 0) < 0 {
		return known{}, false
	}
	sentence, fields, brief := e.Message, e.Fields, e.Brief
	for i := range b.within {
		r := &b.within[i]
		before, behind, ok := strings.Cut(sentence, cmp.Or(r.start, r.has))
		if !ok || strings.Count(before, "`")%2 > 0 || strings.HasSuffix(before, `"`) || past.MatchString(lastSentence(before)) || overBehind.MatchString(behind) {
			continue
		}
		e.Fields, e.Brief = nil, true
		e.message(strings.TrimRight(cmp.Or(r.start, r.has)+behind, "`'\"”"), nil)
		if found, ok := firstFit(b.within[i:i+1], e, o); ok {
			return found, true
		}
	}
	e.Message, e.Fields, e.Brief = sentence, fields, brief
	return known{}, false
}

// fence is what package pasted leaves of the fences around a few lines.
const fence = "```"

// shownLines are the lines between fences, if those are as few as a brief text has.
func shownLines(text []byte) (list []string) {
	if len(text) > maxProse || !bytes.Contains(text, []byte(fence)) {
		return nil
	}
	inside, size := false, 0
	for line := range bytes.Lines(text) {
		switch line = bytes.TrimRight(line, "\r\n"); {
		case string(line) == fence:
			inside = !inside
		case inside && len(bytes.TrimSpace(line)) > 0:
			list, size = append(list, string(line)), size+len(line)
		}
		if len(list) > briefLines || size > briefBytes || inside && aboutWords.Match(line) {
			return nil
		}
	}
	return list
}

// overBehind is what follows a quoted message in a sentence that says that it means nothing, or that it is over.
var overBehind = pattern.New(`(?i)^[ ,]*(?:(?:is|are|was|were|has been|have been|can be|could be|may be)(?: \w+)? (?:fixed|solved|resolved|gone|harmless|normal|expected|ignored|misleading|logged|found)|of (?:yesterday|last)|(?:went|goes) away|no longer|disappeared)\b`)

// says is the end of a sentence that goes on with what a program says.
var says = pattern.New(`(?i)\b(?:with|\w*errors?|messages?|logs?|events?(?: on the pod)?|says?|shows?|prints?|reports?|returns?|gives?|gets?|got|getting|sees?|seeing|finds?|fails?|failing|stuck|start(?:s|ed)?)(?: (?:is|like|that|this|at))?(?: [\w.-]+)?:? $|(?:[\w,.'-]+ ){4}[\w'-]+: $`)

// quotedMessages are what a sentence has between quotes or backticks, where it speaks of the present.
func quotedMessages(e *entry) (list []string) {
	if !e.Bare || e.Source != "" || e.Origin != "" || len(e.Message) > maxSentence {
		return nil
	}
	text := e.Message
	for at := 0; at < len(text) && len(list) < maxQuotations; at++ {
		mark := text[at]
		if mark != '"' && mark != '`' && mark != '\'' || at == 0 || text[at-1] != ' ' {
			continue
		}
		inner := text[at+1:]
		end := closingMark(inner, mark)
		if end < minQuotedMessage {
			continue
		}
		if leadsTo(text[:at]) && !overBehind.MatchString(inner[end+1:]) {
			list = append(list, inner[:end])
		}
		at += end + 1
	}
	for _, start := range unmistakable {
		if before, behind, ok := strings.Cut(text, start); ok && leadsTo(before) && !strings.ContainsAny(before, quoting) && !aboutWords.MatchString(text) {
			list = append(list, start+behind)
		}
	}
	return list
}

// unmistakable are the beginnings of messages that stand in sentences without quotes, too, and mean nothing else there.
var unmistakable = []string{`MountVolume.SetUp failed for volume "`, `MountVolume.MountDevice failed for volume "`, `AttachVolume.Attach failed for volume "`}

// leadsTo says whether the beginning of a sentence goes on with what a program says now. Languages of East Asia put no blank there.
func leadsTo(before string) bool {
	before = lastSentence(before)
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, " :"))
	return (says.MatchString(before) || last >= '\u2e80' && last != utf8.RuneError) && !past.MatchString(before)
}

// closingMark is where the last mark is that a blank, punctuation or nothing follows; -1 if there is none.
func closingMark(text string, mark byte) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == mark && (i+1 == len(text) || strings.IndexByte(" .,;:!?)", text[i+1]) >= 0) {
			return i
		}
	}
	return -1
}

// lastSentence is what stands behind the last sign that ends a sentence.
func lastSentence(text string) string {
	for i := len(text) - 2; i > 0; i-- {
		if text[i] == ' ' && strings.IndexByte(".!?", text[i-1]) >= 0 {
			return text[i+1:]
		}
	}
	return text
}

// findQuoted finds the rule for a message that a sentence quotes, which is the entry's message then.
func (b *rulebook) findQuoted(e *entry, o *occurrence) (known, bool) {
	sentence, fields := e.Message, e.Fields
	for _, text := range quotedMessages(e) {
		e.Fields = nil
		e.message(text, nil)
		if r, ok := b.find(e, o); ok && !r.prose {
			return r, true
		}
	}
	e.Message, e.Fields = sentence, fields
	return known{}, false
}
