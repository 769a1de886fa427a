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

// pvcTerminating finds claims and volumes whose deletion is blocked.
var pvcTerminating = forensics.Check{
	ID:    "pvc-terminating-held",
	Title: "A claim or volume is stuck in Terminating",
	Doc: `A PersistentVolumeClaim or PersistentVolume of an API dump that has a deletion timestamp and finalizers. The
finalizer kubernetes.io/pvc-protection remains while a running pod uses the claim (since 1.10; kube-controller-manager
pkg/controller/volume/pvcprotection). kubernetes.io/pv-protection remains while the volume is bound. Other finalizers
belong to the controller that set them: the external attacher while the volume is attached, the snapshot controller while
a snapshot is taken.

The API dump shows which pods use a claim. A dump without pods cannot show that.`,
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
						return findings.Plural(n, "claim") + " stuck in Terminating: in use by " + findings.Plural(len(f.Because), "pod")
					}
					return protectedTitle(n, "claim", c.Object)
				}, f)
			}
		}
		for _, v := range d.Volumes {
			if v.Deleting != nil {
				p.ReportAlike(volumesAlike(v), func(n int) string { return protectedTitle(n, "volume", v.Object) }, volumeFinding(d, x, v))
			}
		}
	},
}

// claimKey is what claims or volumes have in common whose deletion is blocked by the same cause.
type claimKey struct{ kind, finalizers, reclaim, phase, lost string }

// claimsAlike is the key of a claim: its finalizers, and its reclaim policy. A claim with a lost volume is like no other.
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
	if o.Partial && len(o.Finalizers) == 0 {
		return findings.Plural(n, what) + " stuck in Terminating"
	}
	return findings.Plural(n, what) + " stuck in Terminating: " + finalizersOf(o)
}

// finalizersOf names the finalizers for a headline.
func finalizersOf(o apidump.Object) string {
	switch len(o.Finalizers) {
	case 0:
		return "no finalizer, deletion in progress"
	case 1:
		return "finalizer " + o.Finalizers[0] + " remains"
	}
	return "finalizers " + findings.Some(o.Finalizers) + " remain"
}

func claimFinding(d *apidump.Dump, x *apidump.Index, c apidump.Claim) forensics.Finding {
	f := objectFinding(d, c.Object, "PVC")
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
		f.Title = stuckTitle(d, "PVC", c.Object) + ": in use by " + userTitle(d, x, c, len(users))
		f.Effect = "claim deletion is blocked"
		f.Detail += " In use by " + strings.Join(names, ", ") + "."
		f.Pods = users
	case c.Partial:
		f.Detail += " The text does not show which pods use it."
	case d.Kinds["Pod"] == 0:
		f.Detail += " The dump has no pods, so the pods that use it are not known."
	default:
		f.Detail += " No pod in the dump uses it."
	}
	if v, ok := x.VolumeOf(c); ok {
		f.Detail += fmt.Sprintf(" It is bound to volume %s with the reclaim policy %s.", v.Name, v.Reclaim)
		if v.Reclaim == "Delete" {
			f.Detail += " The data is deleted with the claim."
		}
	}
	if lost := x.Lost(c); lost != "" {
		f.Detail += " " + findings.Capital(lost) + "."
	}
	f.Remedies = append([]forensics.Remedy{{
		Action: remedy.ActionLook, Command: append([]string{"kubectl", "describe", "pvc"}, claimArguments(c)...),
		Why:    "\"Used By\" shows the pods that use it now. The claim is deleted when the last of them has terminated",
		OnlyIf: "the API server responds; the dump may be outdated",
		Risk:   "none: read-only",
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

// userTitle names the pod that uses a claim, or counts them.
func userTitle(d *apidump.Dump, x *apidump.Index, c apidump.Claim, n int) string {
	if n == 1 {
		for _, i := range x.UsersOf(c) {
			if user := d.Pods[i]; user.Phase != "Succeeded" && user.Phase != "Failed" {
				return "pod " + user.ID()
			}
		}
	}
	return findings.Plural(n, "pod")
}

func volumeFinding(d *apidump.Dump, x *apidump.Index, v apidump.Volume) forensics.Finding {
	f := objectFinding(d, v.Object, "PV")
	if v.Claim != "" {
		f.Detail += fmt.Sprintf(" Its claim is %s, its phase is %s.", v.Claim, v.Phase)
		namespace, name, _ := strings.Cut(v.Claim, "/")
		if c, ok := x.Claim(namespace, name); ok && c.Deleting != nil {
			f.Because = append(f.Because, forensics.Entity{Kind: forensics.KindClaim, ID: c.ID()})
		}
	}
	return f
}

// stuckTitle says which claim or volume is stuck, and for how long when the dump was saved.
func stuckTitle(d *apidump.Dump, what string, o apidump.Object) string {
	title := what + " " + o.ID() + " stuck in Terminating"
	if d.Saved != nil && d.Saved.After(*o.Deleting) {
		title += " for " + text.Duration(d.Saved.Sub(*o.Deleting).Seconds())
	}
	return title
}

// objectFinding is what claims and volumes have in common.
func objectFinding(d *apidump.Dump, o apidump.Object, what string) forensics.Finding {
	f := forensics.Finding{
		Severity: forensics.Warning, Subject: forensics.Entity{Kind: forensics.KindClaim, ID: o.ID()}, Confidence: forensics.Certain, Since: o.Deleting,
		Title:         stuckTitle(d, what, o) + ": " + finalizersOf(o),
		ConfidenceWhy: "the API dump has its deletion timestamp and its finalizers",
		Refs:          []forensics.Ref{{Source: forensics.SourceAPIDump, Excerpt: fmt.Sprintf("%s %s: finalizers [%s]", o.Kind, o.ID(), strings.Join(o.Finalizers, " "))}},
	}
	if o.Partial {
		f.Confidence, f.ConfidenceWhy = forensics.Likely, "the text says that it is Terminating"
		if !d.Saved.After(*o.Deleting) { // which the text does not tell, and not all that is Terminating is stuck
			f.Confidence, f.Since, f.ConfidenceWhy = forensics.Possible, nil, "the text says that it is Terminating, not since when"
		}
	}
	if len(o.Finalizers) == 0 && o.Partial {
		f.Title = stuckTitle(d, what, o)
		f.Refs[0].Excerpt = fmt.Sprintf("%s %s: Terminating", o.Kind, o.ID())
		f.Detail = "An object remains in Terminating as long as it has finalizers, which the text does not show."
		return f
	}
	if len(o.Finalizers) == 0 {
		f.Severity = forensics.Info
		f.Title = what + " " + o.ID() + " is being deleted and has no finalizers"
		f.Detail = "Nothing blocks its deletion. It will be removed soon."
		return f
	}
	f.Detail = findings.Capital(findings.DescribeFinalizers(o.Finalizers)) + "."
	f.Remedies = []forensics.Remedy{{
		Action: remedy.ActionWait, Instruction: "Do not remove the finalizer",
		Why:  "the finalizer is the protection. Without it the claim or volume is deleted while a process still writes to it",
		Risk: "with the reclaim policy Delete, the data of a running pod is deleted",
	}}
	return f
}
