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
				f := claimFinding(d, x, c)
				p.ReportAlike(claimsAlike(x, c), func(n int) string {
					if len(f.Because) > 0 {
						return fmt.Sprintf("%d claims are being deleted and are used by %s", n, text.Plural(len(f.Because), "pod"))
					}
					return protectedTitle(n, "claims", c.Object)
				}, f)
			}
		}
		for _, v := range d.Volumes {
			if v.Deleting != nil {
				p.ReportAlike(volumesAlike(v), func(n int) string { return protectedTitle(n, "volumes", v.Object) }, volumeFinding(x, v))
			}
		}
	},
}

// claimKey is what claims or volumes have in common that cannot go for the same reason.
type claimKey struct{ kind, finalizers, reclaim, phase, lost string }

// claimsAlike is the key of a claim: its finalizers, and what becomes of its data. One whose data is out of reach is like no other.
func claimsAlike(x *apidump.Index, c apidump.Claim) claimKey {
	k := claimKey{kind: c.Kind, finalizers: strings.Join(c.Finalizers, " ")}
	if v, ok := x.VolumeOf(c); ok {
		k.reclaim = v.Reclaim
	}
	if x.Lost(c) != "" {
		k.lost = c.ID()
	}
	return k
}

func volumesAlike(v apidump.Volume) claimKey {
	return claimKey{kind: v.Kind, finalizers: strings.Join(v.Finalizers, " "), reclaim: v.Reclaim, phase: v.Phase}
}

func protectedTitle(n int, what string, o apidump.Object) string {
	return fmt.Sprintf("%d %s are being deleted and have %s each", n, what, text.Plural(len(o.Finalizers), "finalizer"))
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
