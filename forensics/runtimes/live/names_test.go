package live

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKubeName(t *testing.T) {
	for name, want := range map[string][]string{
		"/k8s_app_web-0_prod_uid_3":       {"app", "web-0", "prod", "uid", "3"},
		"k8s_POD_web-0_prod_uid_0":        {"POD", "web-0", "prod", "uid", "0"},
		"k8s_a_b_web-0_prod_uid_0":        {"a_b", "web-0", "prod", "uid", "0"},
		"k8s_app_web-0_prod_uid_1a2b3c4d": {"app", "web-0", "prod", "uid", "-1"}, // docker adds a hash where the name is taken
		"k8s_app_web-0_prod":              nil,
		"toolbox":                         nil,
	} {
		container, pod, namespace, uid, attempt, ok := kubeName(name)
		got := []string{container, pod, namespace, uid, fmt.Sprint(attempt)}
		if ok != (want != nil) || ok && !cmp.Equal(want, got) {
			t.Errorf("%s: %q, %v; want %q", name, got, ok, want)
		}
	}
}

func TestPinMatches(t *testing.T) {
	for _, tc := range []struct {
		pattern, name string
		want          bool
	}{
		{"a/b:1", "a/b:1", true},
		{"a/b:1", "a/b:10", false},
		{"a/*", "a/b:1", true},
		{"a/*", "b/a/x", false},
		{"*b*", "a/b:1", true},
		{"*c*", "a/b:1", false},
		{"", "a", false},
		{"*", "a", false},
	} {
		if got := pinMatches(tc.pattern, tc.name); got != tc.want {
			t.Errorf("%q matches %q: %v", tc.pattern, tc.name, got)
		}
	}
}
