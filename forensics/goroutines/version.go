package goroutines

import "strings"

// KubeletVersion returns the version of the kubelet that was dumped, without
// the leading "v", if the paths of its source files tell: "1.34.4" from
// k8s.io/kubernetes@v1.34.4 and the staging modules, "1.28.5-k3s1" from
// k3s-io/kubernetes@v1.28.5-k3s1, "1.16.3" from the directory
// /workspace/anago-v1.16.3-... of the released binaries of 1.9 to 1.16, and
// only "1.16" from the version of the cAdvisor module. It is false for builds
// with vendored paths or -trimpath, and for programs that are no kubelet.
func KubeletVersion(d Dump) (version string, ok bool) {
	best := versionHint{}
	kubelet := false
	seen := make(map[string]bool)
	look := func(f *Frame) {
		kubelet = kubelet || strings.HasPrefix(f.Func, "k8s.io/kubernetes/pkg/kubelet")
		if !seen[f.File] {
			seen[f.File] = true
			best = better(best, hintOf(f.File))
		}
	}
	for i := range d.Goroutines {
		g := &d.Goroutines[i]
		for j := range g.Frames {
			look(&g.Frames[j])
		}
		if g.CreatedBy != nil {
			look(g.CreatedBy)
		}
	}
	if best.rank == 0 || !kubelet {
		return "", false
	}
	return best.version, true
}

// versionHint is a version and how far it can be trusted.
type versionHint struct {
	version string
	rank    int // 0: none
}

const (
	fromCadvisor = iota + 1
	fromStaging
	fromKubernetes
)

func better(a, b versionHint) versionHint {
	if b.rank > a.rank {
		return b
	}
	return a
}

func hintOf(file string) versionHint {
	if v, ok := after(file, "/kubernetes@v"); ok {
		return release(v, fromKubernetes)
	}
	if v, ok := after(file, "/anago-v"); ok {
		v, _, _ = strings.Cut(v, "-") // v1.16.2-beta.0.19+c97fe5036ef3df became v1.16.2
		return release(v, fromKubernetes)
	}
	for _, module := range [...]string{"apimachinery", "client-go", "apiserver", "component-base", "mount-utils", "kubelet"} {
		if v, ok := after(file, "k8s.io/"+module+"@v0."); ok {
			return release("1."+v, fromStaging)
		}
	}
	if v, ok := after(file, "google/cadvisor@v"); ok {
		return cadvisorHint(v)
	}
	return versionHint{}
}

// after returns the path element, or what is left of it, behind prefix.
func after(file, prefix string) (string, bool) {
	i := strings.Index(file, prefix)
	if i < 0 {
		return "", false
	}
	v, _, _ := strings.Cut(file[i+len(prefix):], "/")
	return v, true
}

// release accepts 1.N.P and 1.N.P-suffix, and cuts a pseudo-version down to its minor.
func release(v string, rank int) versionHint {
	number, suffix, _ := strings.Cut(v, "-")
	parts := strings.Split(number, ".")
	if len(parts) != 3 || parts[0] != "1" || !isNumber(parts[1]) || !isNumber(parts[2]) {
		return versionHint{}
	}
	if strings.HasPrefix(suffix, "0.") || strings.HasPrefix(suffix, "rc.") || strings.HasPrefix(suffix, "alpha.") {
		return versionHint{"1." + parts[1], fromStaging}
	}
	return versionHint{v, rank}
}

func isNumber(s string) bool { return s != "" && len(s) <= 4 && digits([]byte(s)) }

// cadvisorHint maps the minors of cAdvisor that one minor of the kubelet used alone.
func cadvisorHint(v string) versionHint {
	minor := map[string]string{
		"0.34": "1.16", "0.37": "1.19", "0.38": "1.20", "0.43": "1.23", "0.44": "1.24",
		"0.45": "1.25", "0.46": "1.26", "0.48": "1.29", "0.51": "1.32",
	}
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 3 {
		return versionHint{}
	}
	if k, ok := minor[parts[0]+"."+parts[1]]; ok {
		return versionHint{k, fromCadvisor}
	}
	return versionHint{}
}
