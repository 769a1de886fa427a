package main

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nodeforensics/nodeforensics/examples/kubernetes"
)

// object is what these tests read of a Kubernetes object.
type object struct {
	APIVersion                   string `json:"apiVersion"`
	Kind                         string `json:"kind"`
	AutomountServiceAccountToken *bool  `json:"automountServiceAccountToken"`
	Metadata                     struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Rules []struct {
		APIGroups        []string `json:"apiGroups"`
		Resources, Verbs []string
	}
	RoleRef  struct{ Kind, Name string } `json:"roleRef"`
	Subjects []struct{ Kind, Name string }
	Spec     struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				ServiceAccountName            string            `json:"serviceAccountName"`
				AutomountServiceAccountToken  *bool             `json:"automountServiceAccountToken"`
				PriorityClassName             string            `json:"priorityClassName"`
				HostPID                       bool              `json:"hostPID"`
				HostNetwork                   bool              `json:"hostNetwork"`
				TerminationGracePeriodSeconds *int              `json:"terminationGracePeriodSeconds"`
				NodeSelector                  map[string]string `json:"nodeSelector"`
				Tolerations                   []map[string]string
				Volumes                       []any
				Containers                    []struct {
					Image           string
					Args            []string
					Resources       map[string]map[string]string
					SecurityContext struct {
						Privileged             bool
						ReadOnlyRootFilesystem bool `json:"readOnlyRootFilesystem"`
						Capabilities           struct{ Add, Drop []string }
					} `json:"securityContext"`
				}
			}
		}
	}
}

// manifests are the objects that the command prints, by kind. No field is unknown to the API; that is tried with an API server only.
func manifests(t *testing.T, args ...string) map[string]object {
	t.Helper()
	o := finish(t, command(t, append([]string{"install"}, args...)...))
	if o.status != exitDone {
		t.Fatalf("exit status %d: %s", o.status, o.stderr)
	}
	all := map[string]object{}
	for _, document := range strings.Split(o.stdout, "\n---\n") {
		var one object
		if err := yaml.Unmarshal([]byte(document), &one); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if _, twice := all[one.Kind]; twice || one.APIVersion == "" {
			t.Fatalf("%s of %q, again or without a version", one.Kind, one.APIVersion)
		}
		all[one.Kind] = one
	}
	return all
}

// TestInstall holds the manifests to what they promise.
func TestInstall(t *testing.T) {
	t.Parallel()
	all := manifests(t)
	label := map[string]string{"app.kubernetes.io/name": "nodeforensics"}
	for kind, o := range all {
		if o.Metadata.Labels["app.kubernetes.io/name"] != "nodeforensics" {
			t.Errorf("%s has the labels %v", kind, o.Metadata.Labels)
		}
	}
	if got := all["Namespace"].Metadata.Labels["pod-security.kubernetes.io/enforce"]; got != "privileged" {
		t.Errorf("pod security %q", got)
	}
	daemon := all["DaemonSet"]
	pod := daemon.Spec.Template.Spec
	if daemon.Spec.Selector.MatchLabels["app.kubernetes.io/name"] != label["app.kubernetes.io/name"] || daemon.Spec.Template.Metadata.Labels["app.kubernetes.io/name"] != label["app.kubernetes.io/name"] {
		t.Errorf("the pods have %v, and %v selects them", daemon.Spec.Template.Metadata.Labels, daemon.Spec.Selector)
	}
	if a := all["ServiceAccount"]; pod.ServiceAccountName != a.Metadata.Name || *a.AutomountServiceAccountToken || *pod.AutomountServiceAccountToken {
		t.Errorf("the account is %q, its token is mounted", pod.ServiceAccountName)
	}
	if pod.PriorityClassName != "system-node-critical" || !pod.HostPID || *pod.TerminationGracePeriodSeconds > 5 || len(pod.Volumes) > 0 || pod.NodeSelector["kubernetes.io/os"] != "linux" {
		t.Errorf("the pod is %+v", pod)
	}
	if len(pod.Tolerations) != 1 || len(pod.Tolerations[0]) != 1 || pod.Tolerations[0]["operator"] != "Exists" {
		t.Errorf("tolerations %v, want all", pod.Tolerations)
	}
	c := pod.Containers[0]
	if c.Image != defaultImage || !slices.Equal(c.Args, []string{waitName}) || c.SecurityContext.Privileged || !c.SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("the container is %+v", c)
	}
	if c.Resources["requests"]["memory"] != "16Mi" || c.Resources["limits"]["memory"] != "256Mi" || c.Resources["limits"]["cpu"] != "" {
		t.Errorf("resources %v", c.Resources)
	}
	if !slices.Equal(c.SecurityContext.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("capabilities %+v", c.SecurityContext.Capabilities)
	}
	for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
		b := all[kind]
		if b.RoleRef.Name != all[b.RoleRef.Kind].Metadata.Name || len(b.Subjects) != 1 || b.Subjects[0].Kind != "Group" || b.Subjects[0].Name != defaultGroup {
			t.Errorf("%s: %+v to %+v", kind, b.RoleRef, b.Subjects)
		}
	}
	for _, rule := range all["ClusterRole"].Rules {
		if !slices.Equal(rule.Resources, []string{"nodes"}) || !slices.Equal(rule.Verbs, []string{"get", "list"}) {
			t.Errorf("in the whole cluster: %+v", rule)
		}
	}
}

// TestInstallExplainsPrivileges wants the reason beside each.
func TestInstallExplainsPrivileges(t *testing.T) {
	t.Parallel()
	kept := []string{"hostPID:", "hostNetwork:", "hostIPC:", "privileged:", "runAsUser:", "type:", "priorityClassName:", "pod-security.kubernetes.io/enforce:"}
	adds, privileges := false, 0
	for line := range strings.Lines(kubernetes.Manifests) {
		_, reason, explained := strings.Cut(line, " # ")
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.Contains(line, "RollingUpdate") {
			continue
		}
		capability := adds && fields[0] == "-"
		adds = capability || fields[0] == "add:"
		if !capability && !slices.Contains(kept, fields[0]) {
			continue
		}
		privileges++
		if !explained || len(strings.Fields(reason)) < 5 {
			t.Errorf("no reason: %s", line)
		}
	}
	if privileges < 8 {
		t.Errorf("only %d privileges were recognized", privileges)
	}
}

func TestInstallFlags(t *testing.T) {
	t.Parallel()
	const image, group = "registry.example.com:5000/a/nodeforensics@sha256:0123", `oidc:sre "on call": #1`
	all := manifests(t, "--image", image, "--group", group)
	if got := all["DaemonSet"].Spec.Template.Spec.Containers[0].Image; got != image {
		t.Errorf("the image is %q", got)
	}
	for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
		if got := all[kind].Subjects[0].Name; got != group {
			t.Errorf("%s: the group is %q", kind, got)
		}
	}
	for _, wrong := range [][]string{{"--image", "a b"}, {"--image", ""}, {"--image", "x\n  hostIPC: true"}, {"--group", ""}, {"more"}} {
		if o := finish(t, command(t, append([]string{"install"}, wrong...)...)); o.status != exitUsage || o.stdout != "" {
			t.Errorf("%q: exit status %d, %s", wrong, o.status, o.stdout)
		}
	}
	if strings.Count(kubernetes.Manifests, quoted(defaultImage)) != 1 || strings.Count(kubernetes.Manifests, quoted(defaultGroup)) != 2 {
		t.Error("the manifests have other values than the flags")
	}
}

// TestKustomization names the file that the command prints, and no other.
func TestKustomization(t *testing.T) {
	t.Parallel()
	var k struct {
		Kind      string
		Resources []string
	}
	if err := yaml.Unmarshal([]byte(readFile(t, "../../examples/kubernetes/kustomization.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	if k.Kind != "Kustomization" || len(k.Resources) != 1 || readFile(t, "../../examples/kubernetes/"+k.Resources[0]) != kubernetes.Manifests {
		t.Errorf("%+v", k)
	}
}
