package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nodeforensics/nodeforensics/internal/nodelabel"
	"github.com/nodeforensics/nodeforensics/internal/sorting"
)

// Pod is what of a pod decides whether it is a way into its node.
type Pod struct {
	Metadata struct {
		Name              string `json:"name"`
		Namespace         string `json:"namespace"`
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		NodeName        string          `json:"nodeName"`
		HostPID         bool            `json:"hostPID"`
		Containers      []container     `json:"containers"`
		Volumes         []volume        `json:"volumes"`
		SecurityContext securityContext `json:"securityContext"`
		Resources       resources       `json:"resources"`
	} `json:"spec"`
	Status struct {
		Phase             string `json:"phase"`
		ContainerStatuses []struct {
			Name  string `json:"name"`
			State struct {
				Running *struct{} `json:"running"`
			} `json:"state"`
		} `json:"containerStatuses"`
	} `json:"status"`
}

type container struct {
	Name            string          `json:"name"`
	Resources       resources       `json:"resources"`
	SecurityContext securityContext `json:"securityContext"`
	VolumeMounts    []struct {
		Name             string `json:"name"`
		MountPath        string `json:"mountPath"`
		MountPropagation string `json:"mountPropagation"`
		ReadOnly         bool   `json:"readOnly"`
	} `json:"volumeMounts"`
}

type resources struct {
	Limits struct {
		Memory string `json:"memory"`
	} `json:"limits"`
}

type securityContext struct {
	Privileged bool   `json:"privileged"`
	RunAsUser  *int64 `json:"runAsUser"`
}

type volume struct {
	Name     string `json:"name"`
	EmptyDir *struct {
		Medium string `json:"medium"`
	} `json:"emptyDir"`
	HostPath *struct {
		Path string `json:"path"`
	} `json:"hostPath"`
}

// Name is NAMESPACE/POD.
func (p *Pod) Name() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

// usable says why no command can run in a container, or why what runs there would not see the node. A pod that is being deleted is
// used: a kubelet that hangs never ends it, and starts none in its place.
func (p *Pod) usable(c container) error {
	running := slices.ContainsFunc(p.Status.ContainerStatuses, func(s struct {
		Name  string `json:"name"`
		State struct {
			Running *struct{} `json:"running"`
		} `json:"state"`
	},
	) bool {
		return s.Name == c.Name && s.State.Running != nil
	})
	switch {
	case p.Status.Phase != "Running":
		return fmt.Errorf("its phase is %q, not Running", p.Status.Phase)
	case !running:
		return fmt.Errorf("container %s is not running", c.Name)
	case !p.Spec.HostPID:
		return errors.New("it does not share the process table of the node (hostPID)")
	}
	return nil
}

// privileged says why a container may not do what an examination does.
func (p *Pod) privileged(c container) error {
	user := c.SecurityContext.RunAsUser
	if user == nil {
		user = p.Spec.SecurityContext.RunAsUser
	}
	switch {
	case !c.SecurityContext.Privileged:
		return fmt.Errorf("container %s is not privileged", c.Name)
	case user != nil && *user != 0:
		return fmt.Errorf("container %s runs as user %d, not as root", c.Name, *user)
	}
	return nil
}

// container is the one of a name; of none, the first that is privileged.
func (p *Pod) container(name string) (container, error) {
	for _, c := range p.Spec.Containers {
		if c.Name == name || name == "" && c.SecurityContext.Privileged {
			return c, nil
		}
	}
	if name == "" {
		return container{}, errors.New("none of its containers is privileged")
	}
	return container{}, fmt.Errorf("it has no container %q", name)
}

// limit is how many bytes of memory a container may use; 0 is no limit.
func (p *Pod) limit(c container) (least int64) {
	for _, text := range []string{c.Resources.Limits.Memory, p.Spec.Resources.Limits.Memory} {
		if n := quantity(text); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// quantity is a number of bytes as the API server writes it (resource.Quantity); one that is not understood is 1, which nothing fits into.
func quantity(text string) int64 {
	if text == "" || text == "0" {
		return 0
	}
	number := strings.TrimRight(text, "EPTGMKkim")
	value, err := strconv.ParseFloat(number, 64)
	factor, known := map[string]float64{
		"": 1, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
	}[text[len(number):]]
	if err != nil || !known || value*factor < 1 {
		return 1
	}
	return int64(min(value*factor, 1<<62))
}

// servesVolumes says whether a container can mount what other pods see below the directory of the kubelet, as the node plugins of
// CSI drivers do.
func (p *Pod) servesVolumes(c container) bool {
	for _, m := range c.VolumeMounts {
		if m.MountPropagation != "Bidirectional" {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.Name == m.Name && v.HostPath != nil && (v.HostPath.Path == "/" || strings.Contains(v.HostPath.Path, "kubelet")) {
				return true
			}
		}
	}
	return false
}

// places are directories of a container that can be written although its root file system is read-only.
func (p *Pod) places(c container) (dirs []string) {
	for _, m := range c.VolumeMounts {
		for _, v := range p.Spec.Volumes {
			if v.Name == m.Name && v.EmptyDir != nil && !m.ReadOnly && plainWord.MatchString(m.MountPath) {
				dirs = append(dirs, m.MountPath)
			}
		}
	}
	return dirs
}

// stayingFirst puts pods that are being deleted behind the others.
func stayingFirst(pods []*Pod) []*Pod {
	pods = slices.Clone(pods)
	sorting.Stable(pods, func(a, b *Pod) int {
		return strings.Compare(a.Metadata.DeletionTimestamp, b.Metadata.DeletionTimestamp)
	})
	return pods
}

// maxOffers is how many pods are offered.
const maxOffers = 3

// offers are the pods by which a node can be reached: without a limit of memory first, and none that serves volumes.
func offers(pods []*Pod) (names []string) {
	type offer struct {
		name  string
		limit int64
	}
	var found []offer
	for _, p := range stayingFirst(pods) {
		c, err := p.container("")
		if err != nil || p.usable(c) != nil || p.privileged(c) != nil || p.servesVolumes(c) {
			continue
		}
		limit := p.limit(c)
		if limit > 0 && limit < mostUse {
			continue
		}
		name := p.Name()
		if c.Name != p.Spec.Containers[0].Name {
			name += "/" + c.Name
		}
		found = append(found, offer{name, limit})
	}
	sorting.Stable(found, func(a, b offer) int {
		switch {
		case a.limit == b.limit:
			return 0
		case a.limit == 0, b.limit != 0 && a.limit > b.limit:
			return -1
		}
		return 1
	})
	for _, f := range found[:min(len(found), maxOffers)] {
		names = append(names, f.name)
	}
	return names
}

// podName is the value of --via.
type podName struct{ namespace, pod, container string }

func (n podName) String() string {
	return strings.TrimSuffix(n.namespace+"/"+n.pod+"/"+n.container, "/")
}

func parseVia(text string) (n podName, err error) {
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append(parts, "")
	}
	if len(parts) != 3 || !objectName.MatchString(parts[0]) || !objectName.MatchString(parts[1]) || parts[2] != "" && !objectName.MatchString(parts[2]) {
		return podName{}, fmt.Errorf("%q: want NAMESPACE/POD or NAMESPACE/POD/CONTAINER", text)
	}
	return podName{parts[0], parts[1], parts[2]}, nil
}

// getPod asks for one pod.
func (e *examination) getPod(ctx context.Context, namespace, name string) (*Pod, error) {
	var p Pod
	err := e.get(ctx, func(r io.Reader) error { return json.NewDecoder(io.LimitReader(r, 4<<20)).Decode(&p) }, "pod", name, "--namespace="+namespace)
	if err == nil {
		err = p.sane()
	}
	return &p, err
}

// sane: names of the API server are never options, and a pod has a container.
func (p *Pod) sane() error {
	if !objectName.MatchString(p.Metadata.Name) || !objectName.MatchString(p.Metadata.Namespace) || len(p.Spec.Containers) == 0 ||
		slices.ContainsFunc(p.Spec.Containers, func(c container) bool { return !objectName.MatchString(c.Name) }) {
		return errors.New("not a pod")
	}
	return nil
}

// list asks for pods.
func (o *Options) list(ctx context.Context, args ...string) (pods []*Pod, err error) {
	err = o.get(ctx, func(r io.Reader) error {
		return items(r, func(p *Pod) {
			if p.sane() == nil {
				pods = append(pods, p)
			}
		})
	}, append([]string{"pods"}, args...)...)
	return pods, err
}

// items decodes the items of a list one after the other: those of a large cluster are not in memory together.
func items[T any](r io.Reader, add func(*T)) error {
	d := json.NewDecoder(r)
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			if depth--; depth == 0 {
				return nil
			}
		case "items":
			if depth != 1 {
				continue
			}
			if token, err := d.Token(); err != nil || token != json.Delim('[') {
				return fmt.Errorf("items: want a list: %w", err)
			}
			for d.More() {
				item := new(T)
				if err := d.Decode(item); err != nil {
					return err
				}
				add(item)
			}
			if _, err := d.Token(); err != nil {
				return err
			}
		}
	}
}

// Pods are the pods of the DaemonSet on all nodes, asked for once. Nil asks for those of one node each time.
type Pods struct {
	byNode map[string][]*Pod
	err    error
}

// DaemonSetPods asks for them.
func (o *Options) DaemonSetPods(ctx context.Context) *Pods {
	p := &Pods{byNode: map[string][]*Pod{}}
	pods, err := o.list(ctx, "--namespace="+o.Namespace, "--selector="+DaemonSetLabel)
	if err != nil {
		p.err = fmt.Errorf("the pods of namespace %s: %w", o.Namespace, err)
	}
	for _, pod := range pods {
		p.byNode[pod.Spec.NodeName] = append(p.byNode[pod.Spec.NodeName], pod)
	}
	return p
}

// Names are the names of the pods.
func (p *Pods) Names() (names []string) {
	for _, pods := range p.byNode {
		for _, pod := range pods {
			names = append(names, pod.Metadata.Name)
		}
	}
	return names
}

func (p *Pods) of(ctx context.Context, o *Options, node string) ([]*Pod, error) {
	if p != nil {
		return p.byNode[node], p.err
	}
	pods, err := o.list(ctx, "--namespace="+o.Namespace, "--selector="+DaemonSetLabel, "--field-selector=spec.nodeName="+node)
	if err != nil {
		return nil, fmt.Errorf("the pods of namespace %s: %w", o.Namespace, err)
	}
	return pods, nil
}

// Node is what of a node decides whether it can be reached, and what it may have in common with others.
type Node struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Conditions []Condition `json:"conditions"`
		NodeInfo   struct {
			KernelVersion           string `json:"kernelVersion"`
			OSImage                 string `json:"osImage"`
			Architecture            string `json:"architecture"`
			KubeletVersion          string `json:"kubeletVersion"`
			ContainerRuntimeVersion string `json:"containerRuntimeVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

// A Condition is one of a node.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	LastTransitionTime string `json:"lastTransitionTime"`
}

// notReady says why a node starts no pods.
func (n *Node) notReady() error {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return fmt.Errorf("the node is not Ready (%s): new pods stay Pending", c.Reason)
		}
	}
	return nil
}

// Nodes are the nodes that a selector selects, with the labels and the condition that tell what they have in common.
func (o *Options) Nodes(ctx context.Context, selector string) (nodes []Node, err error) {
	args := []string{"nodes"}
	if selector != "" {
		args = append(args, "--selector="+selector)
	}
	err = o.get(ctx, func(r io.Reader) error {
		return items(r, func(n *Node) {
			if !objectName.MatchString(n.Metadata.Name) {
				return
			}
			maps.DeleteFunc(n.Metadata.Labels, func(label, _ string) bool { return nodelabel.Fact(label) == "" })
			n.Status.Conditions = slices.Clone(sorting.Delete(n.Status.Conditions, func(c Condition) bool { return c.Type != "Ready" }))
			nodes = append(nodes, *n)
		})
	}, args...)
	return nodes, err
}
