// Package pasted undoes what web pages, mail, terminals and pagers do to log lines and goroutine dumps: quotes, fences,
// indentation, list markers, no-break spaces, typographic quotes, HTML entities, wrapped lines, months of other languages, the
// newest line first. What no person has touched is not changed.
package pasted

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/logline"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// MaxSize is how many bytes a text has at most that is put right; what is longer was saved by a program.
const MaxSize = 1 << 20

// Clean returns the text as a program wrote it, with as many lines but where a dump was in one line, and nil if there is
// nothing to change.
func Clean(text []byte) []byte {
	lines := strings.Split(string(text), "\n")
	changed := plain(lines)
	changed = dropEcho(lines) || changed
	changed = dropExpected(lines) || changed
	dropped := dropTests(lines) || dropManual(lines)
	if !dropped && machineWritten(lines) {
		if !changed {
			return nil
		}
		return []byte(strings.Join(lines, "\n"))
	}
	if decode(lines) && !dropped {
		dropped = dropTests(lines) || dropManual(lines) // in which no-break spaces were
		changed = true
	}
	changed = changed || dropped
	changed = unframe(lines) || changed
	changed = unwrap(lines) || changed
	changed = unprefix(lines) || changed
	changed = broadcast(lines) || changed
	changed = plugins(lines) || changed
	changed = inspected(lines) || changed
	changed = multipath(lines) || changed
	changed = strip(lines) || changed
	changed = joinTalos(lines) || changed
	changed = joinUmount(lines) || changed
	changed = joinRetry(lines) || changed
	changed = joinWords(lines, true) || changed
	changed = join(lines) || changed
	changed = joinWords(lines, false) || changed
	changed = withoutPlaces(lines) || changed
	changed = unquoteFields(lines) || changed
	changed = translate(lines) || changed
	changed = reverse(lines) || changed
	changed = split(lines) || changed
	changed = titleTasks(lines) || changed
	if !changed {
		return nil
	}
	return []byte(strings.Join(lines, "\n"))
}

// machineWritten says that the first lines are in order and as programs write them, so that the others need no look.
func machineWritten(lines []string) bool {
	head := lines[:min(len(lines), 200)]
	if len(head) < 20 || newestFirst(head) || dumpUpsideDown(lines) {
		return false
	}
	odd := 0
	for _, line := range head {
		if line != "" && !begins(line) && !location.MatchString(line) && !strings.HasSuffix(line, ")") || strings.Contains(line, "\u00a0") || english(line) != line {
			odd++
		}
	}
	return odd*20 < len(head)
}

// typographic are the characters that web pages and word processors put in place of others.
var typographic = strings.NewReplacer(
	"\u00a0", " ", "\u202f", " ", "\u2007", " ", "\u200b", "", "\u200e", "", "\u2060", "",
	"“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "‘", "'", "’", "'",
	"&quot;", `"`, "&#34;", `"`, "&#39;", "'", "&#x27;", "'", "&apos;", "'", "&lt;", "<", "&gt;", ">", "&nbsp;", " ", "&amp;", "&",
	"<pre>", "", "</pre>", "", "<code>", "", "</code>", "", "<br>", "", "<br/>", "",
)

// widths are the blanks among them, which mean the same within JSON.
var widths = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "\u2007", " ")

func decode(lines []string) (changed bool) {
	for i, line := range lines {
		if strings.HasPrefix(line, "{") && strings.Contains(line, `"`) {
			if plain := widths.Replace(line); plain != line {
				lines[i], changed = plain, true
			}
			continue
		}
		if !strings.ContainsAny(line, "\u00a0\u202f\u2007\u200b\u200e\u2060“”„«»‘’&<") {
			continue
		}
		if plain := typographic.Replace(line); plain != line {
			lines[i], changed = plain, true
		}
	}
	return changed
}

var (
	// marker is what stands before a line in mail and Markdown: "> ", "- ", "1. ".
	marker = pattern.New("^[ \t]*(?:[-*+•] |[0-9]{1,3}[.)] )[ \t]*")
	fence  = pattern.New("^[ \t]*(?:```|~~~)[ \t]*[a-zA-Z]*[ \t]*$")
	// andQuote is a line of code behind a word that joins it to what is above.
	andQuote = pattern.New("^[ \t]*(?:(?i:and|then|also|plus|und|dann|et|puis),? ){1,2}(?:`[^`]{40,}`)[ \t.]*$")
	// introduced is a message at the end of a sentence about the present; once is a word of a sentence about the past or the possible.
	introduced = pattern.New("^(?:[^`\"'{}]{1,80}|[^`\"'{}]{1,60}`[\\w ./-]{1,24}`[^`\"'{}]{1,60}): *(?:`[^`]{50,}`)[ \t.]*$")
	once       = pattern.New(`(?i)\b(?:was|were|had|did|used|before|earlier|previous\w*|last|old|ago|once|back|then|until|no longer|fixed|gone|example|e\.g|like|if|would|could|should|expect\w*|instead|not|never|harmless|test|wrong|other|another|different)\b`)
	// logged is a message at the end of a sentence that says who writes it, and seen one at the beginning of a sentence that says where it is seen.
	logged = pattern.New("^(?:[-*+•][ \t]+)?[^`]{0,400}\\b(?:logs?|prints?|reports?|says?|shows?|complains?|repeats?|found|finds?|sees?|seeing|gets?|getting|got|gives?|throws?|errors?|messages?)\\b(?: [^`]{0,24})?:? (?:`[^`]{40,}`)[ \t.]*$")
	// quoted is the same of an error message that a program has shown, between quotes.
	quoted = pattern.New(`^[^"]{0,200}\b(?:error|message|log|logs)(?: [^"]{0,24})?:? "([^"\s]+\s[^"]{40,})"[ \t.]*$`) // of several words: no path
	seen   = pattern.New("^(?:[-*+•][ \t]+)?(?:`[^`]{40,}`) (?:appears?|shows up|is|repeats)(?: [^`]{0,24})? (?:in|on) (?:[^`]{0,40})\\b(?:logs?|journal|dmesg|console|syslog|output)[ \t.]*$")
	// counted is how often a quoted message came, as kubectl writes it behind the age of an event.
	counted = pattern.New("`[ \t]*\\(x\\d+ over [\\w.]{1,12}\\)[ \t.]*$")
	pager   = pattern.New(`^(?:lines [0-9]+-[0-9]+.*|\(END\)|--More--.*)$`)
)

func strip(lines []string) (changed bool) {
	indent, between := "", ""
	if showsFew(lines) {
		between = "```" // what is between fences is what the text is about
	}
	for i, line := range lines {
		text := strings.TrimSuffix(line, "\r")
		for strings.HasPrefix(text, ">") { // of mail: the blank behind it is part of it
			text = strings.TrimPrefix(text[1:], " ")
		}
		if fence.MatchString(text) {
			changed = changed || line != between
			lines[i] = between
			continue
		}
		if pager.MatchString(text) {
			text = ""
		}
		if andQuote.MatchString(text) || introduced.MatchString(text) && !once.MatchString(text[:lastQuote(text)]) {
			text = text[lastQuote(text):]
		}
		if m := within.FindStringSubmatch(text); m != nil && !begins(text) && !strings.ContainsAny(text[:len(text)-len(m[1])], "\"'`{}|") && !once.MatchString(lastClause(text[:len(text)-len(m[1])])) {
			text = m[1]
		}
		if before, inner, ok := strings.Cut(text, "```"); ok && begins(inner) && !once.MatchString(lastClause(before)) {
			text = strings.TrimSuffix(strings.TrimRight(inner, " \t."), "```")
		}
		if m := quoted.FindStringSubmatch(text); m != nil && !once.MatchString(text[:strings.IndexByte(text, '"')]) && !begins(text) {
			text = m[1]
		}
		if at := strings.IndexByte(text, '`'); at >= 0 && (logged.MatchString(text) && !once.MatchString(lastClause(text[:at])) || seen.MatchString(text) && !once.MatchString(text[strings.LastIndexByte(text, '`'):])) {
			text = text[at : strings.LastIndexByte(text, '`')+1]
		}
		if at := counted.FindStringIndex(text); at != nil {
			text = text[:at[0]+1]
		}
		text = unquote(text)
		if inner, ok := strings.CutPrefix(strings.TrimSpace(text), "**"); ok && strings.Index(inner, "**") == len(inner)-2 && len(inner) > 40 { // a whole line in bold
			text = inner[:len(inner)-2]
		}
		if m := marker.FindString(text); m != "" && !isYAML(lines, i) && (begins(text[len(m):]) || m[0] != ' ' && m[0] != '\t' || strings.Contains(m, "•")) {
			text = unquote(text[len(m):])
		}
		rest := strings.TrimLeft(text, " \t")
		switch blanks := text[:len(text)-len(rest)]; {
		case rest == "":
		case begins(rest):
			indent, text = blanks, rest
		case indent != "" && strings.HasPrefix(text, indent):
			text = text[len(indent):]
		default:
			indent = ""
		}
		if text != strings.TrimSuffix(line, "\r") {
			lines[i], changed = text, true
		}
	}
	return changed
}

// showsFew says whether one to three lines stand between fences, and others around those.
func showsFew(lines []string) bool {
	const most = 3
	fences, within, around := 0, 0, 0
	for _, line := range lines {
		switch text := strings.TrimLeft(line, "> "); {
		case fence.MatchString(text):
			fences++
		case strings.TrimSpace(text) == "":
		case fences%2 > 0:
			within++
		default:
			around++
		}
	}
	return fences > 0 && fences%2 == 0 && within > 0 && within <= most && around > 0
}

// lastClause is what stands behind the last sign of punctuation of a text that is followed by a blank.
func lastClause(text string) string {
	for i := len(text) - 2; i > 0; i-- {
		if text[i] == ' ' && strings.IndexByte(".,;:!?", text[i-1]) >= 0 {
			return text[i+1:]
		}
	}
	return text
}

// within is the message of an event of a volume in a sentence, behind who says so.
var within = pattern.New(`\b(?:logs?|prints?|reports?|says?|shows?|found|sees?|seeing|gets?|getting|got|gives?|errors?|messages?)(?: that)?:? ((?:MountVolume|MapVolume|AttachVolume|UnmountVolume|UnmountDevice)(?:\.\w+)? failed for volume .*)$`)

// lastQuote is where the last quote between backticks begins.
func lastQuote(text string) int {
	return strings.LastIndexByte(text[:strings.LastIndexByte(text, '`')], '`')
}

// unquote takes off the backticks around a line.
func unquote(text string) string {
	rest := strings.TrimLeft(text, " \t`")
	if strings.Contains(text[:len(text)-len(rest)], "`") && (begins(rest) || !isInline(rest)) {
		return strings.TrimRight(rest, "`")
	}
	return text
}

// isInline says whether a line that began with a backtick goes on behind the one that ends the quote: it is a sentence about the words.
func isInline(rest string) bool {
	return strings.Contains(strings.TrimRight(rest, "` \t.,;:"), "`")
}

var (
	// wall is the first line of what a syslog daemon writes to all terminals; said is the message below.
	wall = pattern.New(`^[> \t]*Message from syslogd@(\S+) at ([A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)(?: \d{4})? ?\.\.\.`)
	said = pattern.New(`^[> \t]*([\w.-]+(?:\[\d+\])?): ?(\S.*)$`)
)

// broadcast writes what a syslog daemon has sent to all terminals as it writes it to a file.
func broadcast(lines []string) (changed bool) {
	for i, line := range lines[:len(lines)-1] {
		if m := wall.FindStringSubmatch(line); m != nil {
			if text := said.FindStringSubmatch(strings.TrimSuffix(lines[i+1], "\r")); text != nil {
				lines[i], lines[i+1], changed = "", m[2]+" "+m[1]+" "+text[1]+": "+text[2], true
			}
		}
	}
	return changed
}

var (
	// yamlItem is a word in a list of YAML, and yamlList the line above the first one.
	yamlItem = pattern.New(`^[> \t]*- [^\s:]+:?[^\s:]*\r?$`)
	yamlList = pattern.New(`^[> \t]*(?:- )?[A-Za-z][\w.-]*:[ \t]*\r?$`)
	// pluginCode and pluginError are what "ctr plugins ls --detailed" prints of a plugin of containerd that was not loaded.
	pluginCode  = pattern.New(`^ +Code: +[A-Z]\w+\r?$`)
	pluginError = pattern.New(`^ +Message: +(\S.*?)\r?$`)
)

// plugins writes why containerd has not loaded a plugin as containerd logs it.
func plugins(lines []string) (changed bool) {
	for i, line := range lines {
		if i > 1 && (strings.HasPrefix(lines[i-1], "Error:") || pluginCode.MatchString(lines[i-1]) && strings.HasPrefix(lines[i-2], "Error:")) {
			if m := pluginError.FindStringSubmatch(line); m != nil {
				lines[i], changed = `level=warning msg="failed to load plugin" error=`+strconv.Quote(m[1]), true
			}
		}
	}
	return changed
}

// stateError is why a container did not start, as docker inspect prints it.
var stateError = pattern.New(`^\s+"Error": ("failed to create task for container: .*"),?\r?$`)

// inspected writes that as dockerd answers it.
func inspected(lines []string) (changed bool) {
	for i, line := range lines {
		if m := stateError.FindStringSubmatch(line); m != nil {
			if text, err := strconv.Unquote(m[1]); err == nil {
				lines[i], changed = "Error response from daemon: "+text, true
			}
		}
	}
	return changed
}

var yamlKey = pattern.New(`^[> \t]*(?:- )?[A-Za-z][\w.-]*:(?: |$)`)

// isYAML says whether the marker of a line is that of a list in YAML: a key is behind it, and others are below, or it is a word in a list.
func isYAML(lines []string, i int) bool {
	if i > 0 && yamlItem.MatchString(lines[i]) && (yamlList.MatchString(lines[i-1]) || yamlItem.MatchString(lines[i-1])) {
		return true
	}
	return i+1 < len(lines) && yamlKey.MatchString(lines[i]) && yamlKey.MatchString(lines[i+1]) && !strings.HasPrefix(strings.TrimLeft(lines[i+1], "> \t"), "- ")
}

var (
	klogHead    = pattern.New(`^[IWEFD](\d{4} \d\d:\d\d:\d\d)\.\d`)
	journalHead = pattern.New(`^[A-Z][a-z]{2} +\d{1,2} (?:\d{4} )?\d\d:\d\d:\d\d`)
	isoHead     = pattern.New(`^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d`)
	clockHead   = pattern.New(`^\d\d:\d\d:\d\d(?:[.,]\d+)? (?:[\w.-]+ [\w.@/-]+(?:\[\d+\])?|[\w.@/-]+\[\d+\]): `)
	otherHead   = pattern.New(`^(?:kernel: |\[ *\d+\.\d{6}\]|kern: +[a-z]+: \[\d{4}-|<\d+>|time=["\d]|level=[a-z]{4,7} |(?:INFO|WARN|ERRO|FATA)\[\d{4,}|\d{1,2}/\d{1,2}/\d{4} \d{1,2}:\d\d:\d\d [AP]M\s*[IWEFD]\d{4} |\{"|goroutine \d+ (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[|SIG[A-Z]+: |panic: |fatal error: |created by )`)
	foreignHead = pattern.New(`^(\d{0,2}[^\s\d]+) +(\d{1,2} \d\d:\d\d:\d\d)`)
)

// begins says whether a line begins as programs begin a line of a log or of a dump.
func begins(s string) bool {
	return klogHead.MatchString(s) || journalHead.MatchString(s) || isoHead.MatchString(s) || clockHead.MatchString(s) || otherHead.MatchString(s) || s != "" && s[0] == '[' && ctimeHead.MatchString(s) || english(s) != s
}

// months are how other languages begin the names that journalctl and syslog write (%b of strftime), in lower case.
var months = map[string]string{
	"janv": "Jan", "févr": "Feb", "fév": "Feb", "mars": "Mar", "avril": "Apr", "avr": "Apr", "mai": "May", "juin": "Jun", "juil": "Jul", "août": "Aug", "sept": "Sep", "déc": "Dec",
	"jan": "Jan", "feb": "Feb", "mar": "Mar", "apr": "Apr", "may": "May", "jun": "Jun", "jul": "Jul", "aug": "Aug", "sep": "Sep", "oct": "Oct", "nov": "Nov", "dec": "Dec",
	"mär": "Mar", "mrz": "Mar", "märz": "Mar", "juni": "Jun", "juli": "Jul", "okt": "Oct", "dez": "Dec", // German; juni and juli since glibc 2.27
	"ene": "Jan", "abr": "Apr", "ago": "Aug", "dic": "Dec", "set": "Sep", "fev": "Feb", "out": "Oct", // Spanish, Portuguese
	"gen": "Jan", "mag": "May", "giu": "Jun", "lug": "Jul", "ott": "Oct", // Italian
	"янв": "Jan", "фев": "Feb", "мар": "Mar", "апр": "Apr", "мая": "May", "май": "May", "июн": "Jun", "июл": "Jul", "авг": "Aug", "сен": "Sep", "окт": "Oct", "ноя": "Nov", "дек": "Dec",
	"февр": "Feb", "март": "Mar", "сент": "Sep", "нояб": "Nov", // Russian since glibc 2.27
	"січ": "Jan", "лют": "Feb", "бер": "Mar", "кві": "Apr", "квіт": "Apr", "тра": "May", "трав": "May", "чер": "Jun", "черв": "Jun", "лип": "Jul", "сер": "Aug", "серп": "Aug", "вер": "Sep", "жов": "Oct", "лис": "Nov", "гру": "Dec", // Ukrainian
	"led": "Jan", "úno": "Feb", "bře": "Mar", "dub": "Apr", "kvě": "May", "čen": "Jun", "čec": "Jul", "srp": "Aug", "zář": "Sep", "říj": "Oct", "pro": "Dec", // Czech
	"oca": "Jan", "şub": "Feb", "nis": "Apr", "haz": "Jun", "tem": "Jul", "ağu": "Aug", "eyl": "Sep", "eki": "Oct", "kas": "Nov", "ara": "Dec", // Turkish
	"sty": "Jan", "lut": "Feb", "kwi": "Apr", "maj": "May", "cze": "Jun", "lip": "Jul", "sie": "Aug", "wrz": "Sep", "paź": "Oct", "lis": "Nov", "gru": "Dec", // Polish
	"mei": "May", "mrt": "Mar", // Dutch
	"febr": "Feb", "márc": "Mar", "ápr": "Apr", "máj": "May", "jún": "Jun", "júl": "Jul", "szept": "Sep", // Hungarian
	"tammi": "Jan", "helmi": "Feb", "maalis": "Mar", "huhti": "Apr", "touko": "May", "kesä": "Jun", "heinä": "Jul", "elo": "Aug", "syys": "Sep", "loka": "Oct", "marras": "Nov", "joulu": "Dec", // Finnish
	"ian": "Jan", "iun": "Jun", "iul": "Jul", "noi": "Nov", // Romanian
	"1月": "Jan", "2月": "Feb", "3月": "Mar", "4月": "Apr", "5月": "May", "6月": "Jun", "7月": "Jul", "8月": "Aug", "9月": "Sep", "10月": "Oct", "11月": "Nov", "12月": "Dec",
	"1월": "Jan", "2월": "Feb", "3월": "Mar", "4월": "Apr", "5월": "May", "6월": "Jun", "7월": "Jul", "8월": "Aug", "9월": "Sep", "10월": "Oct", "11월": "Nov", "12월": "Dec",
}

// ctimeHead is what dmesg -T writes before a message (%a %b %e %H:%M:%S %Y of strftime).
var ctimeHead = pattern.New(`^\[[^\s\d\[\]]{1,8} +([^\s\[\]]{1,12}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})\]`)

// english puts the English month before a line that begins with another one, and the English day before one of dmesg -T.
func english(s string) string {
	if len(s) < 15 {
		return s
	}
	if s[0] == '[' {
		return englishCtime(s)
	}
	m := foreignHead.FindStringSubmatchIndex(s)
	if _, ok := logline.Month(s); m == nil || ok && m[3] == 3 {
		return s
	}
	month, ok := months[strings.TrimSuffix(strings.ToLower(s[m[2]:m[3]]), ".")]
	if !ok {
		return s
	}
	return month + " " + s[m[4]:]
}

func englishCtime(s string) string {
	m := ctimeHead.FindStringSubmatch(s)
	if m == nil {
		return s
	}
	month, ok := months[strings.TrimSuffix(strings.ToLower(m[1]), ".")]
	if !ok {
		return s
	}
	t, err := time.Parse("Jan 2 15:04:05 2006", month+" "+m[2]+" "+m[3]+" "+m[4])
	if err != nil {
		return s
	}
	return t.Format("[Mon Jan _2 15:04:05 2006]") + s[len(m[0]):]
}

func translate(lines []string) (changed bool) {
	for i, line := range lines {
		if text := english(line); text != line {
			lines[i], changed = text, true
		}
	}
	return changed
}

// reverse puts the oldest line first. A line that begins with a blank belongs to the one above it.
func reverse(lines []string) bool {
	if !newestFirst(lines) && !dumpUpsideDown(lines) {
		return false
	}
	var entries [][]string
	for i, line := range lines {
		if n := len(entries); n > 0 && (line == "" || line[0] == ' ') && i > 0 {
			entries[n-1] = append(entries[n-1], line)
			continue
		}
		entries = append(entries, []string{line})
	}
	slices.Reverse(entries)
	copy(lines, slices.Concat(entries...))
	return true
}

// newestFirst says whether times fall from line to line and never rise, to the second. A single fall below a sentence is what somebody has added from
// before.
func newestFirst(lines []string) bool {
	falls, before, sentence, added := 0, "", false, false
	for _, line := range lines {
		at := ""
		for _, head := range []*pattern.Pattern{klogHead, isoHead} {
			if at = head.FindString(line); at != "" {
				break
			}
		}
		if m := journalHead.FindString(line); m != "" {
			n := strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", m[:3])
			if n < 0 {
				continue
			}
			at = string(rune('a'+n/3)) + m[3:]
		}
		if at == "" {
			sentence = sentence || strings.TrimSpace(line) != "" && line[0] != ' ' && line[0] != '\t'
			continue
		}
		if klogHead.MatchString(line) {
			at = at[1:14]
		}
		switch {
		case before == "" || len(at) != len(before):
		case at > before:
			return false
		case at < before:
			falls++
			added = sentence
		}
		before, sentence = at, false
	}
	return falls > 1 || falls == 1 && !added
}

var (
	header   = pattern.New(`goroutine \d+ \[[^\]]*\]:$`)
	location = pattern.New(`(?:\t|: +)/\S+\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?$`)
)

// dumpUpsideDown says whether the text begins with the end of a stack and ends with its header.
func dumpUpsideDown(lines []string) bool {
	first := slices.IndexFunc(lines, func(s string) bool { return strings.TrimSpace(s) != "" })
	last := len(lines) - 1
	for last > first && strings.TrimSpace(lines[last]) == "" {
		last--
	}
	return first >= 0 && last > first+2 && location.MatchString(lines[first]) && header.MatchString(lines[last])
}

var (
	anyHeader   = pattern.New("[\\s`]*" + `(goroutine \d+ \[[^\]\n]*\]:)\s*`)
	anyLocation = pattern.New(`\s+(/[^\s:]+\.(?:go|s):\d+(?: \+0x[0-9a-f]+)?)\s*`)
	anyCall     = pattern.New(`\) ((?:created by )?[a-z][\w.~-]*[./][\w./~()*-]*[(\w])`)
	unescape    = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`)
)

// split gives a dump in one line its lines, also one that is the value of a key.
func split(lines []string) (changed bool) {
	for i, line := range lines {
		if at := strings.Index(line, `("[+]`); at >= 0 && strings.Contains(line, `\n[-]`) { // the answer to /healthz?verbose in an error of kubectl
			lines[i], changed = line[:at+1]+"\n"+unescape.Replace(line[at+2:]), true
			continue
		}
		if len(line) < 100 || !strings.Contains(line, "goroutine ") || strings.HasPrefix(line, "{") {
			continue
		}
		if strings.Contains(line, `]:\\n`) { // a line of a log that strace shows
			line = unescape.Replace(line)
		}
		if strings.Contains(line, `\n`) && strings.Contains(line, `]:\n`) {
			lines[i], changed = value(line), true
			continue
		}
		if !anyHeader.MatchString(line) {
			continue
		}
		if len(anyLocation.FindAllStringIndex(line, 3)) < 2 {
			if len(anyCall.FindAllStringIndex(line, 3)) == 3 { // the locations were left out
				line = anyHeader.ReplaceAllString(strings.TrimRight(line, "` "), "\n\n$1\n")
				lines[i], changed = anyCall.ReplaceAllString(line, ")\n$1"), true
			}
			continue
		}
		line = anyHeader.ReplaceAllString(line, "\n\n$1\n")
		lines[i], changed = anyLocation.ReplaceAllString(line, "\n\t$1\n"), true
	}
	return changed
}

// value is what was escaped in a line, on lines of its own.
func value(line string) string {
	at := strings.Index(line, "goroutine ")
	return line[:at] + "\n" + strings.TrimSuffix(unescape.Replace(line[at:]), `"`) + "\n"
}
