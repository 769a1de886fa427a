package remedy

import "github.com/nodeforensics/nodeforensics/forensics"

// What steps do to the node: see [forensics.Action].
const (
	ActionLook         forensics.Action = "look"
	ActionDump         forensics.Action = "dump"
	ActionWait         forensics.Action = "wait"
	ActionNoRestart    forensics.Action = "no-restart"
	ActionConfigure    forensics.Action = "configure"
	ActionRepair       forensics.Action = "repair"
	ActionResume       forensics.Action = "resume"
	ActionAbort        forensics.Action = "abort"
	ActionStop         forensics.Action = "stop"
	ActionRestart      forensics.Action = "restart"
	ActionDeletePod    forensics.Action = "delete-pod"
	ActionFree         forensics.Action = "free"
	ActionUnmount      forensics.Action = "unmount"
	ActionDetach       forensics.Action = "detach"
	ActionEndNamespace forensics.Action = "end-namespace"
	ActionCleanUp      forensics.Action = "clean-up"
)

// Run replaces what a step says to do by a command.
func Run(r forensics.Remedy, action forensics.Action, command ...string) forensics.Remedy {
	r.Action, r.Command, r.Instruction = action, command, ""
	return r
}

// Tell replaces what a step says to do by an instruction.
func Tell(r forensics.Remedy, action forensics.Action, instruction string) forensics.Remedy {
	r.Action, r.Command, r.Instruction = action, nil, instruction
	return r
}
