package logs

import (
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

func stage(s StartStage) func(*entry, *occurrence) bool {
	return func(_ *entry, o *occurrence) bool {
		o.Subject = Subject{Reason: string(s)}
		return true
	}
}

// started distinguishes the kubelet's own message from that of systemd about the unit.
func started(e *entry, o *occurrence) bool {
	if e.Origin == "systemd" || e.Source == "" && strings.TrimSuffix(e.Message, ".") != "Started kubelet" {
		o.Kind = kindKubeletStarting
		return wholeMessage(e, o)
	}
	return stage(StartServer)(e, o)
}

// kubeletVersion reads kubeletVersion="v1.34.4" and `Kubelet version: v1.20.4`, and of older ones `Version: v1.17.4`.
func kubeletVersion(e *entry, o *occurrence) bool {
	if e.Source == "main.go" { // of a sidecar of a CSI driver, and of others
		return false
	}
	v := e.Get("kubeletVersion")
	if v == "" {
		_, v, _ = strings.Cut(e.Message, "ersion: ")
	}
	o.Subject = Subject{Reason: cut(v, maxName)}
	return strings.HasPrefix(v, "v")
}

// saidOver reads a sentence such as "Since then (22 days) not a single line in dmesg". One that goes on with a "but" says the opposite.
func saidOver(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	return e.Bare && notSince.MatchString(e.Message) && !oncemore.MatchString(e.Message)
}

var (
	notSince = pattern.New(`(?i)\bsince then\b[^.:;]{0,24}\b(?:(?:not a single|no(?: such| more| further)?) (?:line|message|error|hang|hung task|reset|timeout|kill|recurrence|trouble|problem|issue)s?|(?:has|have|did|had)(?: not|n't) (?:happen|occur|recur|appear|come back|been seen)|never (?:again|seen|happened|came back)|quiet|all (?:is |was )?(?:well|quiet|fine|good))`)
	oncemore = pattern.New(`(?i)\b(?:but|however|until|till|except|today|yesterday|anyway|again since)\b`)
)

// verbosityFlag reads the dump of the flags, `FLAG: --v="4"`.
func verbosityFlag(e *entry, o *occurrence) bool {
	o.Subject = Subject{}
	o.Number = number(strings.Trim(strings.TrimPrefix(e.Message, "FLAG: --v="), `"`))
	return true
}

// goPanic takes the crash of a program that writes into its own log. A program that is known not to be a kubelet is
// passed over.
func goPanic(e *entry, o *occurrence) bool {
	o.Reason, o.Code = cut(e.Message, maxReason), ""
	if e.Bare && e.Origin == "" && strings.HasPrefix(e.Message, "goroutine ") {
		return false // any dump begins so, of any program
	}
	return kubeletish(e)
}

func goSignal(e *entry, o *occurrence) bool {
	o.Subject = Subject{Code: strings.TrimSuffix(firstWord(e.Message), ":")}
	return kubeletish(e)
}

// unitExited reads `kubelet.service: Main process exited, code=killed, status=9/KILL`.
func unitExited(e *entry, o *occurrence) bool {
	o.Reason = cut(e.Message, maxReason)
	o.Code = cut(word(e.Message, "status=", " ,"), maxName)
	return true
}

// otherUnits are units that hold a kubelet under another name.
var otherUnits = []string{"k3s", "rke2-server", "rke2-agent", "kubelite", "k0s", "hyperkube", "kubelet", "origin-node", "atomic-openshift-node"}

func otherUnitExited(e *entry, o *occurrence) bool {
	for _, u := range otherUnits {
		if strings.Contains(firstWord(e.Message), u) {
			return unitExited(e, o)
		}
	}
	return false
}

// unitStopping is systemd's word alone.
func unitStopping(e *entry, o *occurrence) bool {
	o.Reason, o.Code = cut(e.Message, maxReason), ""
	return e.Source == ""
}

// kubeletOrigin says whether a program holds a kubelet.
func kubeletOrigin(name string) bool {
	switch name {
	case "kubelet", "k3s", "rke2", "hyperkube", "kubelite", "k0s", "microk8s.daemon-kubelite":
		return true
	}
	return strings.Contains(name, "kubelet") || strings.Contains(name, "kubelite")
}

// kubeletish says whether a line may be a kubelet's: it says so, or nothing says otherwise.
func kubeletish(e *entry) bool {
	return kubeletOrigin(e.Origin) || e.Origin == "" || e.Origin == "unknown"
}
