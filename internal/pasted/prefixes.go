package pasted

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

var (
	// address is what talosctl, pdsh and others put before each line of a node, container what kubectl logs --prefix does.
	address = pattern.New(`^[> \t]*(?:\d{1,3}(?:\.\d{1,3}){3}: |\[pod/[^\] ]+\] )`)
	// fileName is what grep puts before each line of a file.
	fileName = pattern.New(`^[> \t]*[\w./-]*[a-z][\w./-]*:`)
	// lineNumber is what "grep -n" puts there.
	lineNumber = pattern.New(`^[> \t]*\d{1,8}[:-]`)
	// console is a prompt behind which the kernel has written to the console.
	console = pattern.New(`^\[?[\w.-]+@[\w.-]+[^#$]{0,60}[#$] (?:\[ *\d+\.\d{6}\] )`)
	// compose is what docker-compose puts before an error of dockerd.
	compose = pattern.New(`^[> \t]*ERROR: for \S+ +(?:(?i:driver) "?\w+"? failed to remove |(?i:unable) to remove |(?i:cannot) (?:kill|stop|remove|restart) )`)
	host    = pattern.New(`^[> \t]*(?:[\w.-]+(?:\[\d+\])?: |\d\d:\d\d:\d\d [\w.-]+ +)`)
	// ofSystemd is a line about the kubelet's unit of which somebody has cut off the time: that of the kubelet's line above it is as good.
	ofSystemd    = pattern.New(`^[> \t]*systemd\[1\]: kubelet\.service: `)
	unmistakable = pattern.New(`^(?:[IWEFD]\d{4} \d\d:\d\d:\d\d\.\d|\{"ts": ?\d|\{"(?:error|level|msg|time)": ?"|time="\d)`)
	// chat is what a client of IRC writes before each line: the time and the speaker. Rows of tables are left alone where the talk goes on for
	// long: their ages count from then, and it tells how it ended.
	chat   = pattern.New(`^[> \t]*(?:\[?(\d\d):(\d\d)(?::\d\d)?\]? +)?<[@+ ]?[\w.|\[\]-]+> `)
	cell   = pattern.New(`\S(?:  |\t)`)
	dumpOf = pattern.New(`^([a-z][\w.-]*\[\d+\]: )goroutine \d+ \[[^\]]+\]:`)
	// talosEvents is the heading of the states of a service, which talosctl prints before the latest one.
	talosEvents = pattern.New(`^[> \t]*EVENTS +`)
	// cutKlog is the end of klog's header that a pager shows where its left side is cut off; one such line may be of a list.
	cutKlog = pattern.New(`^[> \t]*\d{1,4}\] ["A-Z]\w+ \w`)
	// bareFile is klog's header of which somebody has left the name of the file.
	bareFile = pattern.New(`^[> \t]*([a-z_]+\.go) ("[A-Z][^"]+".*)$`)
	// halfKlog is the end of klog's header, of which somebody has cut off the beginning or the time.
	halfKlog = pattern.New(`^[> \t]*(?:[\d:]*\d\.\d{6} +\d+|(?:[\w.-]+\[\d+\]: )?[IWEF]\d{4}|\d+) [\w-]+\.go:\d+\] `)
)

// unprefix takes off what programs put before each line that read the logs of many nodes or containers.
func unprefix(lines []string) (changed bool) {
	last, program, clock := lastMinute(lines), programOfDump(lines), ""
	several := sync.OnceValue(func() bool { return countOf(lines, cutKlog) > 1 })
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, program); ok && program != "" {
			lines[i], changed = rest, true
			continue
		}
		if at := console.FindStringIndex(line); at != nil {
			lines[i], changed = line[strings.LastIndexByte(line[:at[1]], '['):], true
			continue
		}
		if compose.MatchString(line) {
			_, rest, _ := strings.Cut(line, "ERROR: for ")
			_, rest, _ = strings.Cut(rest, " ")
			lines[i], changed = "Error response from daemon: "+strings.TrimLeft(rest, " "), true
			continue
		}
		if at := talosEvents.FindStringIndex(line); at != nil {
			lines[i], changed = strings.Repeat(" ", at[1])+line[at[1]:], true
			continue
		}
		if m := bareFile.FindStringSubmatch(line); m != nil {
			lines[i], changed = m[1]+":1] "+m[2], true
			continue
		}
		m := address.FindString(line)
		if m != "" && !begins(line[len(m):]) {
			m = ""
		}
		if name := fileName.FindString(line); name != "" && dated(line[len(name):]) {
			m = name
		}
		if number := lineNumber.FindString(line); number != "" && dated(line[len(number):]) {
			m = number
		}
		if m == "" && !begins(line) {
			if m = host.FindString(line); !unmistakable.MatchString(line[len(m):]) {
				if m = chat.FindString(line); cell.MatchString(line[len(m):]) && talksOn(line, last) {
					m = ""
				}
			}
			if m == "" && cutKlog.MatchString(line) && several() {
				m = line[:strings.Index(line, "] ")+2]
			}
			if m == "" && halfKlog.MatchString(line) {
				m = line[:strings.LastIndexByte(line[:strings.Index(line, ".go:")], ' ')+1]
			}
		}
		if m != "" {
			lines[i], changed = line[len(m):], true
		}
		if head := klogHead.FindStringSubmatch(lines[i]); head != nil {
			clock = head[1][len("0102 "):]
		} else if clock != "" && ofSystemd.MatchString(line) {
			lines[i], changed = clock+" "+strings.TrimLeft(line, "> \t"), true
		}
	}
	return changed
}

// dated says whether a line begins with a time, as klog, the journal or syslog write it, or in ISO 8601.
func dated(s string) bool {
	return klogHead.MatchString(s) || journalHead.MatchString(s) || isoHead.MatchString(s)
}

// programOfDump is what the journal's short form puts before each line of a dump, if its times were cut off; "" if there is none.
func programOfDump(lines []string) string {
	for _, line := range lines {
		if m := dumpOf.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	return ""
}

// talksOn says whether a talk goes on for more than a few minutes after one of its lines; last is the minute of the last line with a time.
func talksOn(line string, last int) bool {
	const long = 5
	first := minuteOf(line)
	return first >= 0 && last >= 0 && (last-first+24*60)%(24*60) > long
}

// minuteOf is the minute of the day of a line of a talk, -1 if it has none.
func minuteOf(line string) int {
	m := chat.FindStringSubmatch(line)
	if m == nil || m[1] == "" {
		return -1
	}
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	return 60*hour + minute
}

// lastMinute is that of the last line of a talk that has one, -1 if none has.
func lastMinute(lines []string) int {
	for _, line := range slices.Backward(lines) {
		if minute := minuteOf(line); minute >= 0 {
			return minute
		}
	}
	return -1
}
