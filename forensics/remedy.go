package forensics

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/shellword"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Remedy is one step that an operator may take. Steps are in the order in which to take them.
type Remedy struct {
	// Action is what the step does to the node; absent in a report of v1.
	Action Action `json:"action,omitempty"`
	// Command is a program with its arguments, to be run without a shell; absent where no command does it. What is written in capitals
	// (NODE, REPORT.json) is for the reader to replace. As in all evidence, a byte that is not UTF-8 is written "\xff".
	Command []string `json:"command,omitempty"`
	// Instruction is a sentence for what no command does. A remedy has either Command or Instruction.
	Instruction string `json:"instruction,omitempty"`
	Why         string `json:"why"`
	// OnlyIf is the precondition without which the step does harm; absent where there is none.
	OnlyIf string `json:"only_if,omitempty"`
	// Risk is what it can destroy and what it does not fix; never empty.
	Risk string `json:"risk"`
}

// Action is what a step does to the node:
//   - look: reads, and changes nothing
//   - dump: makes a program write what it is doing, by a signal
//   - wait: leaves something as it is, because it ends by itself or protects something
//   - no-restart: leaves the kubelet running, because a restart does not help
//   - configure: changes a setting of the kubelet, the node object or an image
//   - repair: restores what something waits for: a server, a path of a disk, a driver, an image
//   - resume: continues what was stopped, frozen or suspended
//   - abort: makes the outstanding requests of a file system fail
//   - stop: ends processes
//   - restart: ends and starts a service
//   - delete-pod: deletes a pod
//   - free: releases disk space, caches, swap, a loop device
//   - unmount: unmounts, and fails while the mount is in use
//   - detach: unmounts lazily, even while the mount is in use
//   - end-namespace: ends a mount namespace with all of its mounts
//   - clean-up: removes leftovers on the disk
//
// A check writes it as a string; [Pass.Report] accepts no others.
type Action string

// The actions. Checks, which are other packages, write them as strings.
const (
	actionLook         Action = "look"
	actionDump         Action = "dump"
	actionWait         Action = "wait"
	actionNoRestart    Action = "no-restart"
	actionConfigure    Action = "configure"
	actionRepair       Action = "repair"
	actionResume       Action = "resume"
	actionAbort        Action = "abort"
	actionStop         Action = "stop"
	actionRestart      Action = "restart"
	actionDeletePod    Action = "delete-pod"
	actionFree         Action = "free"
	actionUnmount      Action = "unmount"
	actionDetach       Action = "detach"
	actionEndNamespace Action = "end-namespace"
	actionCleanUp      Action = "clean-up"
)

// stage is the order of a step in a diagnosis: a mount is unmounted after its users have been stopped. Only mounts that remain then are
// detached from every table, and leftovers on the disk are removed when nothing is mounted any more.
func (a Action) stage() (stage int, known bool) {
	switch a {
	case actionLook, actionDump, actionWait, actionNoRestart, actionConfigure, actionRepair, actionResume, actionAbort, actionStop, actionRestart,
		actionDeletePod, actionFree:
		return 0, true
	case actionUnmount:
		return 1, true
	case actionDetach, actionEndNamespace:
		return 2, true
	case actionCleanUp:
		return 3, true
	}
	return 0, false
}

// problem is what is wrong with a remedy.
func (r Remedy) problem() error {
	switch _, known := r.Action.stage(); {
	case !known:
		return fmt.Errorf("a remedy with the unknown action %q", r.Action)
	case (len(r.Command) == 0) == (r.Instruction == ""):
		return errors.New("a remedy that does not have exactly one of command and instruction")
	case len(r.Command) > 0 && r.Command[0] == "":
		return errors.New("a remedy whose command names no program")
	}
	return nil
}

// UnmarshalJSON also reads a remedy of nodeforensics.report/v1, whose command was one string, for a shell or a sentence: that
// becomes the instruction of a remedy without action.
func (r *Remedy) UnmarshalJSON(text []byte) error {
	type plain Remedy // without this method
	var read struct {
		plain
		Command      json.RawMessage `json:"command"`
		Precondition string          `json:"precondition"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	*r = Remedy(read.plain)
	r.OnlyIf = cmp.Or(r.OnlyIf, read.Precondition)
	into := any(&r.Command)
	if strings.HasPrefix(string(read.Command), `"`) {
		into = &r.Instruction
	}
	if len(read.Command) == 0 {
		return nil
	}
	return json.Unmarshal(read.Command, into)
}

// String is what to do: the command as one line for a shell, or the instruction. It may hold any characters that the node has.
func (r Remedy) String() string {
	if len(r.Command) > 0 {
		return shellword.Join(r.Command)
	}
	return r.Instruction
}

// inOrder are the steps of several findings, each once and ordered by their stages.
func inOrder(all []Remedy) []Remedy {
	type key struct {
		action Action
		step   string
	}
	steps, taken := []Remedy{}, map[key]bool{}
	for _, r := range all {
		if k := (key{r.Action, r.String()}); !taken[k] {
			taken[k] = true
			steps = append(steps, r)
		}
	}
	sorting.Stable(steps, func(a, b Remedy) int {
		first, _ := a.Action.stage()
		second, _ := b.Action.stage()
		return cmp.Compare(first, second)
	})
	return steps
}
