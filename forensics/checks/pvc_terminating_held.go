package checks

import (
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/apidump"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/internal/text"
)

// pvcTerminating finds claims and volumes that are being deleted and cannot go.
var pvcTerminating = forensics.Check{
	ID:    "pvc-terminating-held",
	Title: "A claim or volume is being deleted and cannot go",
	Doc: `A PersistentVolumeClaim or PersistentVolume of a dump of the API that has a deletion timestamp and finalizers. The
finalizer kubernetes.io/pvc-protection stays while a pod that has not ended uses the claim (since 1.10;
kube-controller-manager pkg/controller/volume/pvcprotection), kubernetes.io/pv-protection while the volume is bound.
Others belong to whoever set them: the external attacher while the volume is attached, a snapshot while it is taken.

The pods that use a claim are told from the dump: one without pods cannot say who holds it.`,
	Severity: forensics.Warning,
	Needs:    []forensics.Need{{forensics.SourceAPIDump}},
	Run: func(p *forensics.Pass) {
		d := p.Evidence.Cluster
		if d == nil {
			return
		}
		x := p.Model.Cluster()
		for _, c := range d.Claims {
			if c.Deleting != nil {
				p.Report(claimFinding(d, x, c))
			}
		}
		for _, v := range d.Volumes {
			if v.Deleting != nil {
				p.Report(volumeFinding(x, v))
			}
		}
	},
}

func claimFinding(d *apidump.Dump, x *apidump.Index, c apidump.Claim) forensics.Finding {
	f := objectFinding(c.Object, "claim")
	var users, names []string
	for _, i := range x.UsersOf(c) {
		user := d.Pods[i]
		if user.Phase == "Succeeded" || user.Phase == "Failed" {
			continue
		}
		users = append(users, user.UID)
		names = append(names, describeUser(user))
		f.Because = append(f.Because, findings.PodEntity(user.UID))
	}
	switch {
	case len(users) > 0:
		f.Title = fmt.Sprintf("claim %s is being deleted and is used by %s", c.ID(), text.Plural(len(users), "pod"))
		f.Detail += " Used by " + strings.Join(names, ", ") + "."
		f.Pods = users
	case d.Kinds["Pod"] == 0:
		f.Detail += " The dump has no pods to say who uses it."
	default:
		f.Detail += " No pod of the dump uses it."
	}
	if v, ok := x.VolumeOf(c); ok {
		f.Detail += fmt.Sprintf(" It is bound to volume %s, whose reclaim policy is %s.", v.Name, v.Reclaim)
		if v.Reclaim == "Delete" {
			f.Detail += " The data goes with the claim."
		}
	}
	if lost := x.Lost(c); lost != "" {
		f.Detail += " " + findings.Capital(lost) + "."
	}
	f.Remedies = append([]forensics.Remedy{{
		Action: remedy.ActionLook, Command: append([]string{"kubectl", "describe", "pvc"}, claimArguments(c)...),
		Why:    "\"Used By\" names the pods now; the claim goes by itself as soon as the last of them has ended",
		OnlyIf: "the API server answers; the dump may be older than the cluster",
		Risk:   "none: it only shows",
	}}, f.Remedies...)
	return f
}

// claimArguments are "-n NAMESPACE NAME".
func claimArguments(c apidump.Claim) []string {
	if remedy.IsLabelName(c.Namespace) && remedy.IsObjectName(c.Name) {
		return []string{"-n", c.Namespace, c.Name}
	}
	return []string{"-n", "NAMESPACE", "CLAIM"}
}

func describeUser(user apidump.Pod) string {
	text := user.ID() + " (" + user.Phase
	if user.Node != "" {
		text += " on " + user.Node
	}
	if user.Deleting != nil {
		text += ", terminating"
	}
	return text + ")"
}

func volumeFinding(x *apidump.Index, v apidump.Volume) forensics.Finding {
	f := objectFinding(v.Object, "volume")
	if v.Claim != "" {
		f.Detail += fmt.Sprintf(" It is bound to claim %s, %s.", v.Claim, strings.ToLower(v.Phase))
		namespace, name, _ := strings.Cut(v.Claim, "/")
		if c, ok := x.Claim(namespace, name); ok && c.Deleting != nil {
			f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindClaim, ID: c.ID()})
		}
	}
	return f
}

// objectFinding is what claims and volumes have in common.
func objectFinding(o apidump.Object, what string) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindClaim, ID: o.ID()}, Confidence: forensics.Certain, Since: o.Deleting,
		Title:         fmt.Sprintf("%s %s is being deleted and has %s", what, o.ID(), text.Plural(len(o.Finalizers), "finalizer")),
		ConfidenceWhy: "deletion timestamp and finalizers stand in the dump of the API",
		Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf("%s %s: finalizers [%s]", o.Kind, o.ID(), strings.Join(o.Finalizers, " "))}},
	}
	if len(o.Finalizers) == 0 {
		f.Severity = forensics.Info
		f.Detail = "Nothing holds it: it goes in a moment."
		return f
	}
	f.Detail = findings.Capital(findings.DescribeFinalizers(o.Finalizers)) + "."
	f.Remedies = []forensics.Remedy{{
		Action: remedy.ActionWait, Instruction: "Do not remove the finalizer",
		Why:  "it is the protection: without it the claim or the volume goes while something still writes to it",
		Risk: "with the reclaim policy Delete, the data is deleted under a running pod",
	}}
	return f
}
