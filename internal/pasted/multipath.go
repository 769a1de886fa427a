package pasted

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

var (
	// mapHead is the first line that "multipath -ll" prints of a disk, mapPath one of its paths. PathsBack is what multipathd logs.
	mapHead   = pattern.New(`^[> \t]*(?:([\w.-]+) )?\(?([0-9a-f]{16,})\)? (dm-\d+) `)
	pathsBack = pattern.New(`\bmultipathd(?:\[\d+\])?: ([\w.-]+): remaining active paths: [1-9]`)
	mapPath   = pattern.New("^[> \\t]*[|`][ |]*[-`|]+ \\d+:\\d+:\\d+:\\d+ +\\w+ +\\d+:\\d+ +(failed|active) ")
)

// multipath writes of a disk that has lost all its paths, by the last list of them, what multipathd logs then.
func multipath(lines []string) (changed bool) {
	lost, names := map[string]int{}, map[string]string{}
	for i, line := range lines {
		if m := pathsBack.FindStringSubmatch(line); m != nil {
			delete(lost, names[m[1]])
		}
		m := mapHead.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		names[m[1]], names[m[2]] = m[3], m[3]
		paths, failed := 0, 0
		for _, below := range lines[i+1 : min(i+40, len(lines))] {
			if mapHead.MatchString(below) || strings.TrimSpace(below) == "" {
				break
			}
			if of := mapPath.FindStringSubmatch(below); of != nil {
				paths++
				if of[1] == "failed" {
					failed++
				}
			}
		}
		if delete(lost, m[3]); paths > 0 && failed == paths {
			lost[m[3]] = i
		}
	}
	for name, i := range lost {
		lines[i], changed = "multipathd: "+name+": remaining active paths: 0", true
	}
	return changed
}
