package live

// How long the command lines of a class of processes may be, in bytes: as long as the kernel gives them until together
// they are longKept, and then shorter. A pod can have thousands of processes, each with arguments of 128 KiB.
const (
	limitMiddle = 4 << 10 // more than the longest of a Kubernetes component
	limitShort  = 256
	longKept    = 2 << 20
	middleKept  = 8 << 20
)

// A commandBudget counts what the command lines of a class of processes take. The processes of pods are one class and
// those of the host another, so that no pod shortens the kubelet's.
type commandBudget int

// limit returns how much of the next command line is read.
func (b commandBudget) limit() int64 {
	switch {
	case b < longKept:
		return limitCommand
	case b < middleKept:
		return limitMiddle
	}
	return limitShort
}

func (b *commandBudget) spend(words []string) {
	for _, word := range words {
		*b += commandBudget(len(word) + wordCost)
	}
}

// wordCost is what a word takes beside its bytes: its string header.
const wordCost = 16

// budget returns that of the class of a process. One whose cgroup is not known may be a pod's.
func (c *collector) budget(pod string) *commandBudget {
	if pod != "" || c.cgroupLost {
		return &c.podCommands
	}
	return &c.hostCommands
}
