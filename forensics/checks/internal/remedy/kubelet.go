package remedy

import (
	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// Cordon keeps new pods away from the node.
func Cordon(p *forensics.Pass) forensics.Remedy {
	return forensics.Remedy{
		Action: ActionConfigure, Command: []string{"kubectl", "cordon", nodeName(p)},
		Why:  "from kubelet 1.14 on the node stays Ready while its sync loop is blocked: pods are still scheduled to it and stay Pending",
		Risk: "none for running containers, but containers that end are not restarted. New pods go to other nodes. It does not fix the cause",
	}
}

// KeepEvidence is to keep the report before anything is changed.
func KeepEvidence() forensics.Remedy {
	return forensics.Remedy{
		Action: ActionWait, Instruction: "Save this report before you change anything: it contains the goroutine dump",
		Why:  "the evidence exists only in memory: it is lost when the blocked calls return or the kubelet ends",
		Risk: "none",
	}
}

// EvidenceFirst is KeepEvidence where there is a dump to keep; a log has no goroutines.
func EvidenceFirst(p *forensics.Pass) forensics.Remedy {
	if len(p.Evidence.Dumps) > 0 {
		return KeepEvidence()
	}
	return forensics.Remedy{
		Action: ActionLook, Command: []string{"nodeforensics"},
		Why:  "run it on the node while the problem lasts: it records goroutines, threads and mounts. A log does not have them, and a restart destroys them",
		Risk: "none: read-only",
	}
}

// NoRestart says that a restart of the kubelet does not fix the cause.
func NoRestart() forensics.Remedy {
	return forensics.Remedy{
		Action: ActionNoRestart, Instruction: "Do not restart the kubelet to fix this",
		Why:  "when the cause is fixed, the blocked call returns and the kubelet continues by itself",
		Risk: "a restarted kubelet blocks again on the same cause. From 1.28 on it unmounts nothing before the API server has answered",
	}
}

// ListPods is to ask the API server whether a pod exists, where the kubelet did not say.
func ListPods(p *forensics.Pass, uid string) forensics.Remedy {
	return forensics.Remedy{
		Action: ActionLook,
		Command: []string{
			"kubectl", "get", "pods", "-A", "--field-selector", "spec.nodeName=" + nodeName(p),
			"-o", "custom-columns=UID:.metadata.uid,NAMESPACE:.metadata.namespace,NAME:.metadata.name",
		},
		Why: "lists the pods of this node with their UIDs. If " + shellword.Quote(uid) + " is not among them, the pod no longer exists. " +
			"With a token that the kubelet accepts (--token-file), nodeforensics then proves it",
		Risk: "none: read-only",
	}
}

// nodeName is the name of the node for a command.
func nodeName(p *forensics.Pass) string {
	node := p.Evidence.Node.Name
	if k := p.Evidence.Kubelet; k != nil && k.NodeName != "" {
		node = k.NodeName
	}
	if !IsObjectName(node) {
		return "NODE"
	}
	return node
}
