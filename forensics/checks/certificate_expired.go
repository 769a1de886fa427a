package checks

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/findings"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/incident"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/logview"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
)

// certificateExpired finds certificates that are not valid at this time.
var certificateExpired = forensics.Check{
	ID:    "certificate-expired",
	Title: "A certificate has expired or is not yet valid",
	Doc: `"x509: certificate has expired or is not yet valid: current time T is after E": the certificate of the kubelet, of the API server or of
another service that the kubelet calls. "T is before B" means a certificate of the future: the clock of the node is wrong, or was when
the certificate was made. A kubelet without a valid certificate gets no pods and reports no status. It is over where kubeadm
has renewed the certificates in a later line.`,
	Severity: forensics.Warning,
	Needs:    logview.Needs,
	Run: func(p *forensics.Pass) {
		logview.SawKubelet(p)
		for _, i := range badCertificates(p) {
			now, then := "A certificate has been refused as invalid", "A certificate was refused as invalid"
			if !slices.ContainsFunc(i.Events, func(e logs.Event) bool { return e.Origin != "kubeadm" }) {
				now, then = "Certificates of the control plane have expired", "Certificates of the control plane had expired"
			}
			f := i.Finding(p, now, then)
			f.Effect = "kubelet cannot reach what it identifies"
			f.Detail = findings.Sentences(f.Detail, "If the current time in the error is before the certificate's own, the clock of the node is wrong.")
			if i.Grave() {
				f.Remedies = []forensics.Remedy{incident.Look("shows until when the kubelet's own client certificate is valid",
					"openssl", "x509", "-noout", "-dates", "-in", "/var/lib/kubelet/pki/kubelet-client-current.pem")}
			}
			p.Report(f)
		}
	},
}

// badCertificates are errors of certificates; those of one peer are one.
func badCertificates(p *forensics.Pass) []incident.Incident {
	spec := incident.Spec{Subject: func(e logs.Event) forensics.Entity {
		if e.Kind == kubeletFatal && e.Cause() != "certificate" {
			return forensics.Entity{}
		}
		id := "certificate"
		if e.Path != "" && strings.HasSuffix(e.Path, ".pem") {
			id = e.Path
		}
		return incident.Thing("certificate", id)
	}}
	list := spec.Find(p, logview.Events(p, logs.KindCertExpired, kubeletFatal))
	for n, i := range list {
		list[n].Current = i.Current && !logview.Below(i.Events, logview.Events(p, "certs-renewed")) // what kubeadm prints has no time
	}
	return list
}
