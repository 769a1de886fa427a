package kubelet

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	module := func(path, version string) *debug.Module { return &debug.Module{Path: path, Version: version} }
	for name, tc := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"nothing":     {debug.BuildInfo{}, ""},
		"main module": {debug.BuildInfo{Main: *module(kubernetesModule, "v1.34.4")}, "1.34.4"},
		"development": {debug.BuildInfo{Main: *module(kubernetesModule, "(devel)")}, ""},
		"dependency":  {debug.BuildInfo{Main: *module("lab", "(devel)"), Deps: []*debug.Module{module("x", "v1.0.0"), module(kubernetesModule, "v1.17.4")}}, "1.17.4"},
		"k3s": {
			debug.BuildInfo{
				Main: *module("github.com/k3s-io/k3s", "(devel)"),
				Deps: []*debug.Module{{Path: kubernetesModule, Version: "v1.30.4", Replace: module("github.com/k3s-io/kubernetes", "v1.30.4-k3s1")}},
			}, "1.30.4-k3s1",
		},
		"linker": {
			debug.BuildInfo{
				Main:     *module(kubernetesModule, "(devel)"),
				Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-s -X 'k8s.io/component-base/version.gitVersion=v1.31.2-eks-94953ac' -X x=y"}},
			}, "1.31.2-eks-94953ac",
		},
		"linker without a value": {debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-X version.gitVersion="}}}, ""},
		"something else":         {debug.BuildInfo{Main: *module("example.org/x", "v1.2.3")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := VersionOf(&tc.info); got != tc.want {
				t.Errorf("version = %q; want %q", got, tc.want)
			}
		})
	}
}
