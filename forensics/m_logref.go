package forensics

import (
	"fmt"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// LogPlace is where a line stands, as findings refer to it: "logs:FILE:LINE", without the line where lines are not
// counted.
func LogPlace(q logs.Quote) string {
	if q.Line == 0 {
		return SourceLogs + ":" + q.File
	}
	return fmt.Sprintf("%s:%s:%d", SourceLogs, q.File, q.Line)
}

// LogRef quotes a line.
func LogRef(q logs.Quote) Ref { return Ref{Source: LogPlace(q), Excerpt: q.Text} }
