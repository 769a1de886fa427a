// Package hearsay finds what people write of a node in their own words, beside what programs print: that a command does not return. It is for texts
// in which somebody tells what happens, and not for documents about what can happen.
package hearsay

import (
	"bytes"
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// ofDocuments are words of texts about messages that no one has just seen: documentation, rules of alerts, source code, proposals; and of
// texts that tell how it ended. Keys are what begins a line of what shows more than a message: tables, descriptions, objects.
var (
	ofDocuments = []string{
		"runbook", "review", "docs", "documentation", "wiki", "solved", "resolved", "fixed", "everyone", "known issue", "workaround", "closing", "draft",
		"if you see", "can be logged", "look for", "summary", "pattern", "expr", "never seen",
	}
	keys = []string{"apiVersion:", "Conditions:", "NAME "}
)

// fewBraces are as many lines with nothing but the end of a block as an excerpt of source code has that somebody shows for what is blocked in it.
const fewBraces = 2

// IsDocument says whether a text is about messages, and tells of no node that is sick now.
func IsDocument(text []byte) bool {
	lower := bytes.ToLower(text)
	if slices.ContainsFunc(ofDocuments, func(word string) bool { return hasWord(lower, word) }) || hasWord(text, "feature") {
		return true
	}
	closing := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch string(bytes.TrimSuffix(line, []byte(","))) {
		case "{", "]":
			return true
		case "}":
			if closing++; closing > fewBraces {
				return true
			}
		}
		if rest, fence := bytes.CutPrefix(line, []byte("```")); fence && len(rest) > 0 && isWord(rest[0]) {
			return true
		}
		if slices.ContainsFunc(keys, func(key string) bool { return bytes.HasPrefix(line, []byte(key)) }) {
			return true
		}
	}
	return false
}

// hasWord says whether a text has a word, and not only a longer one.
func hasWord(text []byte, word string) bool {
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(word))
		if i < 0 {
			return false
		}
		at += i
		end := at + len(word)
		if (at == 0 || !isWord(text[at-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		at = end
	}
}

func isWord(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' }

// ShowsMore says whether a text shows what is stuck, by stacks, so that what somebody tells of it adds nothing.
func ShowsMore(text []byte) bool {
	return IsDocument(text) || bytes.Contains(text, []byte("+0x")) || ofGoroutine.Match(text)
}

// ofGoroutine begins the stack of a goroutine.
var ofGoroutine = pattern.New(`goroutine (?:\d|profile:)`)

// shown is a line that a program has written: with a time, or behind the prompt of a shell.
var shown = pattern.New(`(?m)^[\s>]*(?:[#$] |\S+@\S+[#$:~ ]|\[\S+@|[IWEF]\d{4} \d\d:|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|time=|\[ *\d+\.\d+\]|\| ?-|\{")`)

// IsProse says whether a text has nothing but what somebody has written.
func IsProse(text []byte) bool { return !ShowsMore(text) && !shown.Match(text) }

const (
	// Origin is who reports what a sentence says, in place of a program.
	Origin = "people"
	// Method is how the state of a mount is known then, in place of a probe.
	Method = "hearsay"
	// Unnamed stands for the mount point of a file system that the sentence does not name.
	Unnamed = "unnamed"
	// Says is why it is believed.
	Says = "the text says so in words; nothing else in it shows it"
)

// A Command is one of which somebody says that it does not return.
type Command struct {
	// Program is its name, Verb its first word that is no option, "" without one, and Path its last absolute path, "" without one.
	Program, Verb, Path string
}

// String is the command, as far as it is known.
func (c Command) String() string {
	return strings.Join(strings.Fields(c.Program+" "+c.Verb+" "+c.Path), " ")
}

var (
	// mention is a command in a sentence: of files, or of a container runtime.
	mention = pattern.New(`(?:^|[^\w/.=-])(?:(df|ls|stat|du|lsof|umount|findmnt|mountpoint)\b|(docker|crictl|nerdctl) (ps|info|images|version|pods|stop|kill|rm)\b|(ctr)(?: +-{1,2}[\w-]+(?:[ =][^\s-][^\s]*)?)* +(tasks? (?:ls|list))\b)((?: +-{1,2}[\w=-]+)*)(?: +(/[\w./-]+))?`)
	// hangs is what somebody says behind it, within the sentence.
	hangs = pattern.New("^[`'\"”’)）]*(?:[^.!?。！？；;\n]{0,40}?[ `'\",，、:：])??(?i:" +
		`(?:just |simply |also |both |all |will |always )?(?:hangs?|hung|hanging|stuck|freezes?|frozen|blocks?|blocked|stalls?|stalled)(?:\b|$)` +
		`|(?:does|do|did|would) ?(?:n[o']t|not) (?:return|respond|come back|finish|answer|end)` +
		`|never (?:returns?|returned|comes? back|came back|finish\w*|ends?|answers?)` +
		`|(?:gives?|returns?|with) no (?:response|output|answer)` +
		`|hängt|hängen|зависает|зависла?` + `)` +
		"|^[^.!?。！？；;\n]{0,24}?(?:卡住|卡死|夯住|hang住|无响应|没有响应|没有返回|没反应|응답이 없|멈춥|멈춰|固まる|固まり|返ってこない|応答しない)")
	// unreal is a word of a sentence about what may be, or was; others is one about something else that hangs.
	unreal = pattern.New(`\bmay\b|(?i)\b(?:if|would|could|might|should|example|e\.g|test\w*|used to|no longer|anymore|not hang|n't hang|never hung|kubectl)\b|不再|如果`)
	others = pattern.New(`(?i)\b(?:fine|works?|but|pods?)\b`)
)

// ofHangs are parts of the words of hangs, of which a line has one: looking for them costs less.
var ofHangs = []string{
	"hang", "hung", "stuck", "freez", "froz", "block", "stall", "return", "respond", "come", "came", "finish", "end", "answer", "response", "output", "Hang", "HANG",
	"hängt", "hängen", "завис", "卡", "夯", "响应", "没有", "没反应", "응답", "멈", "固ま", "返って", "応答",
}

// Hanging is the command of which a line says that it does not return.
func Hanging(line string) (c Command, ok bool) {
	if !slices.ContainsFunc(ofHangs, func(word string) bool { return strings.Contains(line, word) }) || shown.MatchString(line) {
		return Command{}, false
	}
	for at := 0; at < len(line); {
		m := mention.FindStringSubmatchIndex(line[at:])
		if m == nil {
			return Command{}, false
		}
		text := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return line[at+m[2*i] : at+m[2*i+1]]
		}
		c = Command{Program: text(1) + text(2) + text(4), Verb: text(3) + text(5), Path: strings.TrimRight(text(7), ".")}
		behind := line[at+m[1]:]
		if said := hangs.FindString(behind); said != "" && !unreal.MatchString(said) && !others.MatchString(said) && !unreal.MatchString(clause(line[:at+m[0]])) {
			return c, true
		}
		at += m[1]
	}
	return Command{}, false
}

// below is a sentence about the command that stands alone above it.
var below = pattern.New(`^(?i:(?:and|but|then|which|now),? )?(?i:it|this|that|(?:the )?command) `)

// HangingBelow is the command in a line of which the next sentence says that it does not return. Fences and empty lines may stand between.
func HangingBelow(lines []string, i int) (c Command, ok bool) {
	command := strings.TrimLeft(lines[i], "$# ")
	if at := mention.FindStringIndex(command); at == nil || at[0] > len("sudo ") || strings.Contains(command, ". ") {
		return Command{}, false
	}
	for _, line := range lines[i+1:] {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "```"):
			continue
		case !below.MatchString(line):
			return Command{}, false
		}
		return Hanging("`" + strings.TrimSpace(command) + "` " + line[len(below.FindString(line)):])
	}
	return Command{}, false
}

var (
	// refused is an error that only a mount answers whose server is gone, and over what a sentence says when it is no more.
	refused = pattern.New(`(?:^|[\s"'` + "`" + `“‘«(（:：,，])([Tt]ransport endpoint is not connected)`)
	over    = pattern.New(`(?i)\b(?:was|were|had|fixed|solved|resolved|before|previous\w*|sometimes|occasional\w*|rare\w*|grep|handle\w* this|feature|propos\w*|return(?:s|ed)? an?|metric|alert|instead of|avoid|prevent|when(?:ever)?|after|until|peer|gluster|socket)\b`)
)

// Refused is the error of a mount without its server that a sentence quotes, as of now; "" if there is none.
func Refused(line string) string {
	if !strings.Contains(line, "ndpoint is not connected") || shown.MatchString(line) {
		return ""
	}
	m := refused.FindStringSubmatch(line)
	if m == nil || over.MatchString(line) || unreal.MatchString(line) || strings.Contains(line, ": ") && strings.Contains(line, "/") || strings.Contains(line, "Errno ") || strings.Contains(line, "Error: ") {
		return ""
	}
	return m[1]
}

// clause is what stands before a command in its sentence.
func clause(before string) string {
	if i := strings.LastIndexAny(before, ".!?;\n"); i >= 0 {
		before = before[i+1:]
	}
	if i := strings.LastIndex(before, "。"); i >= 0 {
		before = before[i:]
	}
	return before
}
