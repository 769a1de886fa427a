// Package podname finds pods by namespace and name, as people write them: "shop/cart-0".
package podname

import (
	"slices"
	"strings"

	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// written is a DNS label and a DNS subdomain, as the API server wants the names of a namespace and a pod (RFC 1123).
var written = pattern.New(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// Is reports whether a text can be the namespace and name of a pod.
func Is(text string) bool { return len(text) <= 63+1+253 && written.MatchString(text) }

// UIDs are those of the pods of a name, in order. A pod of a StatefulSet that was deleted and created again has another UID.
func UIDs(pods []kubelet.Pod, name string) []string {
	namespace, pod, _ := strings.Cut(name, "/")
	uids := []string{}
	for _, p := range pods {
		if p.Namespace == namespace && p.Name == pod && p.UID != "" && !slices.Contains(uids, p.UID) {
			uids = append(uids, p.UID)
		}
	}
	slices.Sort(uids)
	return uids
}
