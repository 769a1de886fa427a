package pasted

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// taskRow is one of the table of all tasks that the kernel prints before it kills one for its memory: what stands before it in the line, and
// the row, "[ 4981]     0  4981    76292      371      58        0             0 vmtoolsd" (dump_task in mm/oom_kill.c, 2.6.36 to 6.17).
var taskRow = pattern.New(`^(.*?(?:kernel: )?(?:\[ *\d+\.\d{6}\] +)?)\[ *\d+\] +\d+ +\d+ +\d+ +\d+(?: +\d+){2,5} +-?\d{1,4} \S.*$`)

// tasksTitle is the title of that table, as far as all kernels agree on it.
const tasksTitle = "[ pid ]   uid  tgid total_vm      rss nr_ptes swapents oom_score_adj name"

// titleTasks puts the title before the first row of such a table of which somebody has copied only some rows. It stays one line, as lines keep
// their numbers.
func titleTasks(lines []string) bool {
	const few = 5
	first, rows := -1, 0
	for i, line := range lines {
		switch {
		case strings.Contains(line, " tgid total_vm "), strings.Contains(line, "oom-killer"), strings.Contains(line, "Killed process"):
			return false
		case strings.Contains(line, "[") && taskRow.MatchString(line):
			rows++
			if first < 0 {
				first = i
			}
		}
	}
	if rows < few {
		return false
	}
	head := taskRow.FindStringSubmatch(lines[first])[1]
	lines[first] = head + tasksTitle + ": " + lines[first][len(head):]
	return true
}
