package checks

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

func logNoiseInLogs() []scenario {
	return []scenario{
		{name: "a harmless line", base: wellNode, change: tells(event(logs.NoiseConfigPath, 900, "09:31:00", "10:12:20", logs.Subject{})), want: []string{"info kubelet 9825"}, says: "900 times"},
		{name: "a line that means something", base: wellNode, change: tells(event(logs.KindHousekeepingLong, 1, "10:00:00", "10:00:00", logs.Subject{})), outcome: forensics.OutcomeClean},
	}
}
