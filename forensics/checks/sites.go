package checks

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// site is a place in the kubelet's code where a goroutine can stand still.
type site struct {
	// frame is a function on the stack, versions are the kubelets that have it, what is what it does there.
	frame, versions, what string
}

// explain names the places of the list that are on the stack, outermost first: what is done there, and which kubelets do
// it. The finding rests on these frames.
func (t standing) explain(sites []site) string {
	type place struct {
		depth int
		text  string
	}
	var places []place
	for _, s := range sites {
		if i := frameIndex(t.goroutine, s.frame); i >= 0 {
			places = append(places, place{i, fmt.Sprintf("%s %s (kubelet %s)", s.frame, s.what, s.versions)})
		}
	}
	if len(places) == 0 {
		return ""
	}
	sorting.Stable(places, func(a, b place) int { return cmp.Compare(b.depth, a.depth) })
	var parts []string
	for _, p := range places {
		parts = append(parts, p.text)
	}
	return "On the stack, outermost first: " + strings.Join(parts, "; ") + "."
}

// docOf lists the places for a check's documentation.
func docOf(sites []site) string {
	var b strings.Builder
	for _, s := range sites {
		fmt.Fprintf(&b, "\n- %s %s (%s)", s.frame, s.what, s.versions)
	}
	return b.String()
}
