package pasted

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

const minWidth, maxWidth = 60, 260

// join puts lines together that a terminal has wrapped: all but the last have its width, and the others begin like none. Empty
// lines come in their place, so that lines keep their numbers.
func join(lines []string) (changed bool) {
	width, full := 0, 0
	for _, line := range lines {
		switch n := len([]rune(line)); {
		case n > width:
			width, full = n, 1
		case n == width:
			full++
		}
	}
	usual := slices.Contains([]int{79, 80, 81, 100, 119, 120, 130, 131, 132}, width)
	if table := tableWidth(lines); table > 0 {
		width, usual = table, true
	}
	if width < minWidth || width > maxWidth || full < 2 && !usual {
		return false
	}
	for i := 0; i < len(lines); i++ {
		open := openRow(lines[i])
		if !begins(lines[i]) && !unfinished(lines[i]) && !eventRow.MatchString(lines[i]) && !open {
			continue
		}
		last := i
		for last+1 < len(lines) && len([]rune(lines[last])) >= width && continues(lines[last+1]) && (!open || !openRow(lines[last+1])) {
			last++
		}
		if last > i {
			lines[i] = strings.Join(lines[i:last+1], "")
			clear(lines[i+1 : last+1])
			changed, i = true, last
		}
	}
	return changed
}

// Paragraphs puts the lines of a paragraph together, within words or between them, if that makes a line that is known; it returns nil if none
// does. Empty lines come in their place, so that lines keep their numbers.
func Paragraphs(text []byte, known func(line string) bool) []byte {
	lines := strings.Split(string(text), "\n")
	changed := false
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && !ends(lines[end]) {
			end++
		}
		if end-i > mostWrapped {
			i = end
			continue
		}
		last := i
		for last+1 < end && !begins(lines[last+1]) {
			last++
		}
		for _, between := range []string{"", " "} {
			if line := strings.Join(lines[i:last+1], between); last > i && known(line) {
				clear(lines[i+1 : last+1])
				lines[i], changed = line, true
				break
			}
		}
		i = last
	}
	if !changed {
		return nil
	}
	return []byte(strings.Join(lines, "\n"))
}

// ends says whether a line ends a paragraph.
func ends(s string) bool { return strings.TrimSpace(s) == "" || strings.HasPrefix(s, "```") }

var umountOutput = pattern.New(`^[> \t]*(?:Unmounting arguments|Output): (?:\S.*)$`)

// joinUmount puts what umount has printed, which the kubelet writes on lines of its own, behind the error that it belongs to.
func joinUmount(lines []string) (changed bool) {
	for i, line := range lines {
		last := i
		for last+1 < len(lines) && last < i+2 && umountOutput.MatchString(lines[last+1]) {
			last++
		}
		if last == i+2 && begins(line) && strings.HasSuffix(line, "exit status 32") {
			lines[i] = line + " " + strings.TrimLeft(lines[i+1], "> \t") + " " + strings.TrimLeft(lines[last], "> \t")
			clear(lines[i+1 : last+1])
			changed = true
		}
	}
	return changed
}

// retryLine ends with what the kubelet writes before the error of an operation, which errorLine begins.
var (
	retryLine = pattern.New(`\(durationBeforeRetry [\w.]+\)\.?[ \t\r]*$`)
	errorLine = pattern.New(`^[> \t]*(?:\. )?Error: `)
)

// joinRetry puts the error of an operation of a volume behind the line that says when it is tried again.
func joinRetry(lines []string) (changed bool) {
	for i, line := range lines[:len(lines)-1] {
		if begins(line) && errorLine.MatchString(lines[i+1]) && retryLine.MatchString(line) {
			lines[i] = strings.TrimRight(line, ". \t\r") + ". " + strings.TrimLeft(lines[i+1], ".> \t")
			lines[i+1], changed = "", true
		}
	}
	return changed
}

var (
	eventTitle = pattern.New(`^ *Type +Reason +Age +From +M`)
	eventRow   = pattern.New(`^ *(?:Type +Reason +Age +From +M|---- +------ |(?:[\da-z-]+ {2,})?(?:\d+[smhd]\S*|<unknown>|<invalid>) {2,}(?:Normal|Warning) {2,}[A-Z][A-Za-z]+ +\S+/|(?:Normal|Warning) {2,}[A-Z][A-Za-z]+ +(?:\d|<))`)
)

// tableWidth is where a terminal has wrapped the events of kubectl describe: within their title, which is short. 0 is nowhere.
func tableWidth(lines []string) int {
	for i, line := range lines[:len(lines)-1] {
		if eventTitle.MatchString(line) && !strings.HasSuffix(line, "Message") && strings.HasSuffix(line+lines[i+1], "Message") {
			return len([]rune(line))
		}
	}
	return 0
}

// framed is a line in a frame, as k9s and other programs of a terminal draw them.
var framed = pattern.New(`^[> \t]*[│┃║](.*)[│┃║][ \t\r]*$`)

// ownLine begins a later line of the message of a mount.
var ownLine = pattern.New(`^ *(?:Mounting (?:command|arguments)|Unmounting arguments|Output|mount|umount): `)

// unframe takes the frame off lines, and puts together what was wrapped in it: a line ends where it has no room for the next word. Where all
// lines but the last are full, they were wrapped within words. Copies differ by a blank or two.
func unframe(lines []string) (changed bool) {
	type group struct{ first, last int }
	var wrapped []group
	ragged := false
	for i := 0; i < len(lines); {
		text, width := inFrame(lines[i])
		if width == 0 {
			i++
			continue
		}
		g := group{i, i}
		for i++; i < len(lines); i++ {
			next, room := inFrame(lines[i])
			word, _, _ := strings.Cut(strings.TrimLeft(next, " "), " ")
			end := len([]rune(text))
			if max(room-width, width-room) > 2 || word == "" || end+1+len([]rune(word)) <= width || strings.Contains(next, "  ") ||
				eventRow.MatchString(next) || ownLine.MatchString(next) || begins(next) {
				break
			}
			g.last, ragged = i, ragged || end < width
			lines[i-1], text = text, next
		}
		lines[i-1], changed = text, true
		if g.last > g.first {
			wrapped = append(wrapped, g)
		}
	}
	between := ""
	if ragged {
		between = " "
	}
	for _, g := range wrapped {
		lines[g.first] = strings.Join(lines[g.first:g.last+1], between)
		clear(lines[g.first+1 : g.last+1])
	}
	return changed
}

// inFrame is what a line has in a frame, without the blanks around it, and how wide the frame is; 0 without a frame.
func inFrame(line string) (text string, width int) {
	m := framed.FindStringSubmatch(line)
	if m == nil {
		return "", 0
	}
	text = strings.TrimSuffix(strings.TrimPrefix(m[1], " "), " ")
	return strings.TrimRight(text, " "), len([]rune(text))
}

// mostWrapped is how many lines a message that was wrapped between words takes at most.
const mostWrapped = 40

// klogInJournal is a message of klog behind what journalctl and syslog write.
var klogInJournal = pattern.New(`^[A-Z][a-z]{2} +\d{1,2} (?:\d{4} )?\d\d:\d\d:\d\d\S* \S+ \S+: [IWEFD]\d{4} \d\d:\d\d:\d\d\.\d`)

// joinWords puts a message of klog together that a mail program or an editor has wrapped between words: no line but the last had room for
// the first word of the next one. Two lines do not tell that. Where a terminal has wrapped, all but the last are of one length, or one less: these
// are not ragged.
func joinWords(lines []string, ragged bool) (changed bool) {
	for i := 0; i < len(lines); i++ {
		if !klogHead.MatchString(lines[i]) && !klogInJournal.MatchString(lines[i]) {
			continue
		}
		last, width := i, len([]rune(lines[i]))
		for last+1 < len(lines) && last-i < mostWrapped && continues(lines[last+1]) && lines[last+1][0] != ' ' {
			last++
			width = max(width, len([]rune(lines[last])))
		}
		if last-i < 2 || width < minWidth || width > maxWidth || !filled(lines[i:last+1], width) ||
			ragged && !slices.ContainsFunc(lines[i:last], func(s string) bool { return len([]rune(s)) < width-1 }) {
			continue
		}
		lines[i] = strings.Join(lines[i:last+1], " ")
		clear(lines[i+1 : last+1])
		changed, i = true, last
	}
	return changed
}

// filled says whether no line but the last has room for the first word of the next.
func filled(lines []string, width int) bool {
	for i, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(lines[i+1], " ")
		if len([]rune(line))+1+len([]rune(word)) <= width-slack {
			return false
		}
	}
	return true
}

// slack is how much longer than the width a line may be that has no place to wrap.
const slack = 4

var (
	// mountRow begins a row that mount(8) prints, and mountinfoRow one of /proc/PID/mountinfo.
	mountRow     = pattern.New(`^\S+ on /\S*(?: type |$)|^\S+ on /\S* t?y?p?$`)
	mountinfoRow = pattern.New(`^\d+ \d+ \d+:\d+ /`)
	// longFrame is the name of a function that is longer than a terminal is wide.
	longFrame = pattern.New(`^(?:[\w.~-]+/)+[\w.~%-]+\.[\w.()*\[\]]*$`)
)

// openRow says whether a line begins a row of a table of mounts, or a frame of a stack, and does not have its end.
func openRow(s string) bool {
	return mountRow.MatchString(s) && !strings.HasSuffix(s, ")") || mountinfoRow.MatchString(s) || longFrame.MatchString(s) && len(s) >= minWidth
}

// unfinished says whether a line of a stack lacks its end.
func unfinished(s string) bool {
	return (strings.HasPrefix(s, "\t/") || strings.Contains(s, "(0x")) && !strings.HasSuffix(s, ")") && !location.MatchString(s)
}

func continues(s string) bool {
	return s != "" && s[0] != '\t' && !begins(s) && !eventRow.MatchString(s)
}
