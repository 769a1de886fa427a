package report

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
)

// maxCommand is how long a command may be: two paths of 4,096 bytes and what stands around them.
const maxCommand = 12_000

// stepText makes what a step says to do safe to look at, and says whether it is prose. It is never shortened: with its middle cut
// out a command would be another.
func stepText(r forensics.Remedy) (do string, prose bool) {
	do = r.String()
	if len(do) > maxCommand {
		return "This command is longer than " + grouped(maxCommand) + " bytes: the JSON report holds it.", true
	}
	if prose = len(r.Command) == 0; prose && r.Action == "" {
		prose = sentence(do)
	}
	return string(seeLines(do)), prose
}

// sentence says whether the command of a remedy of v1, which were all text, is prose: those begin with a capital, shell commands
// do not.
func sentence(command string) bool {
	first, _, _ := strings.Cut(command, " ")
	return first != "" && first[0] >= 'A' && first[0] <= 'Z' && !strings.ContainsAny(first, "=/_")
}
