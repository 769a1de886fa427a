package remedy

import (
	"github.com/nodeforensics/nodeforensics/forensics"
)

// Cordon keeps new pods away from the node.
func Cordon(p *forensics.Pass) forensics.Remedy {
	node := p.Evidence.Node.Name
	if k := p.Evidence.Kubelet; k != nil && k.NodeName != "" {
		node = k.NodeName
	}
	if !IsObjectName(node) {
		node = "NODE"
	}
	return forensics.Remedy{
		Action: ActionConfigure, Command: []string{"kubectl", "cordon", node},
		Why: "from kubelet 1.14 on the node stays Ready while its sync loop is dead, and the scheduler keeps sending pods to it, " +
			"which stay Pending",
		Risk: "none for what runs: containers go on, but are not restarted if they end; new pods go elsewhere. It heals nothing",
	}
}

// KeepEvidence is to keep the report before anything is changed.
func KeepEvidence() forensics.Remedy {
	return forensics.Remedy{
		Action: ActionLook, Instruction: "Keep this report (it holds the goroutine dump) before anything is restarted or unmounted",
		Why:  "the proof is in memory only: it is gone once the mount answers or the kubelet ends",
		Risk: "none",
	}
}

// EvidenceFirst is KeepEvidence where there is a dump to keep; a log holds no goroutines.
func EvidenceFirst(p *forensics.Pass) forensics.Remedy {
	if len(p.Evidence.Dumps) > 0 {
		return KeepEvidence()
	}
	return forensics.Remedy{
		Action: ActionLook, Command: []string{"nodeforensics"},
		Why:  "run on the node while the trouble lasts: it records the goroutines, threads and mounts, which no log holds and a restart destroys",
		Risk: "none: it reads",
	}
}

// NoRestart says that a restart of the kubelet cures nothing.
func NoRestart() forensics.Remedy {
	return forensics.Remedy{
		Action: ActionNoRestart, Instruction: "Do not restart the kubelet to cure this",
		Why:  "once the mount answers, fails or is aborted, the waiting call returns and the kubelet goes on by itself",
		Risk: "a restarted kubelet walks into the same mount again, and from 1.28 on it unmounts nothing before the API server has answered",
	}
}
