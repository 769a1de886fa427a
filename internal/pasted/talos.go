package pasted

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// ofTalos begins a line of the kernel's log as talosctl prints it: facility, severity and time.
var ofTalos = pattern.New(`^ *(?:\S{1,64}: *)?(?:kern|user|daemon): +[a-z]+: \[\d{4}-\d\d-\d\dT[\d:.]+Z\]: `)

// joinTalos puts such lines together that a terminal has wrapped, and filled with blanks. Empty lines come in their place.
func joinTalos(lines []string) (changed bool) {
	const most = 4
	for i := 0; i < len(lines); i++ {
		if !strings.Contains(lines[i], "Z]: ") || !ofTalos.MatchString(lines[i]) {
			continue
		}
		last := i
		for last+1 < len(lines) && last-i < most && strings.HasPrefix(lines[last+1], " ") && !ofTalos.MatchString(lines[last+1]) && strings.HasSuffix(lines[last], " ") {
			last++
		}
		if last == i {
			continue
		}
		text := strings.TrimRight(lines[i], " \r")
		for k := i + 1; k <= last; k++ {
			between := " "
			if strings.HasSuffix(text, "-") || strings.HasSuffix(text, "/") { // within a name
				between = ""
			}
			text += between + strings.TrimSpace(lines[k])
			lines[k] = ""
		}
		lines[i], changed, i = text, true, last
	}
	return changed
}
