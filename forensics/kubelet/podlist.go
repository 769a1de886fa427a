package kubelet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/jsonlimit"
)

// maxPodsListed bounds a list; clusters, of which a dump may hold all pods, are supported up to 150,000.
const maxPodsListed = 200_000

// maxPodObject bounds one pod, in bytes of JSON without indentation; etcd refuses larger ones than 1.5 MiB.
const maxPodObject = 4 << 20

// podObject is the part of v1.Pod that matters here.
type podObject struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		DeletionTimestamp string            `json:"deletionTimestamp"` // as text: one bad time must not cost the pod
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   []struct {
			Kind       string `json:"kind"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Priority       *int32         `json:"priority"`
		InitContainers []podContainer `json:"initContainers"`
		Containers     []podContainer `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

type podContainer struct {
	Image      string `json:"image"`
	PullPolicy string `json:"imagePullPolicy"`
}

// The annotations that tie a mirror pod to its static pod (kubelet pkg/kubelet/types/pod_update.go).
const (
	annotationHash   = "kubernetes.io/config.hash"
	annotationMirror = "kubernetes.io/config.mirror"
	annotationSource = "kubernetes.io/config.source" // "file", "http" or "api"
)

func (o podObject) pod(source string) Pod {
	pod := Pod{
		UID:       o.Metadata.UID,
		Namespace: o.Metadata.Namespace,
		Name:      o.Metadata.Name,
		Source:    source,
		Phase:     o.Status.Phase,
		Priority:  o.Spec.Priority,
	}
	if deleting, err := time.Parse(time.RFC3339, o.Metadata.DeletionTimestamp); err == nil {
		pod.Deleting = &deleting
	}
	for _, name := range []string{annotationMirror, annotationHash} {
		if hash := o.Metadata.Annotations[name]; hash != "" && hash != pod.UID {
			pod.MirrorUID = hash
			break
		}
	}
	switch from := o.Metadata.Annotations[annotationSource]; {
	case o.Metadata.Annotations[annotationMirror] != "":
		pod.Kind = KindMirror
	case source == fromManifest, from != "" && from != "api":
		pod.Kind = KindStatic
	}
	for _, owner := range o.Metadata.OwnerReferences {
		if owner.Controller {
			pod.OwnerKind = owner.Kind
		}
	}
	for _, c := range slices.Concat(o.Spec.InitContainers, o.Spec.Containers) {
		image := PodImage{Name: c.Image, PullPolicy: c.PullPolicy}
		if c.Image != "" && !slices.Contains(pod.Images, image) {
			pod.Images = append(pod.Images, image)
		}
	}
	return pod
}

// ParsePods reads a PodList as the kubelet's /pods gives it, the List of "kubectl get pods -o json", or one Pod. Items of
// other kinds are passed over, and those of a list that keep does not want; nil wants all. The list is decoded one pod at
// a time, so that memory does not grow with what is of no interest. With an error come the pods before it.
func ParsePods(r io.Reader, keep func(*Pod) bool) ([]Pod, error) {
	pods := []Pod{}
	decoder := json.NewDecoder(&jsonlimit.Reader{R: r, Item: maxPodObject})
	if err := expect(decoder, json.Delim('{')); err != nil {
		return pods, err
	}
	var single podObject
	isList := false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return pods, truncated(err)
		}
		switch key {
		case "items":
			isList = true
			pods, err = parseItems(decoder, keep)
		case "kind":
			err = decoder.Decode(&single.Kind)
		case "metadata":
			err = decoder.Decode(&single.Metadata)
		case "spec":
			err = decoder.Decode(&single.Spec)
		case "status":
			err = decoder.Decode(&single.Status)
		default:
			err = skipValue(decoder)
		}
		if err != nil && !isTypeError(err) {
			return pods, fmt.Errorf("%v: %w", key, truncated(err))
		}
	}
	if err := expect(decoder, json.Delim('}')); err != nil {
		return pods, err
	}
	switch {
	case isList:
		return pods, nil
	case single.Kind == "Pod":
		return append(pods, single.pod(fromKubelet)), nil
	}
	return pods, fmt.Errorf("kind %.40q: neither a list nor a pod", single.Kind)
}

// parseItems reads the array of a list. An empty list is null from a kubelet that knows no pods.
func parseItems(decoder *json.Decoder, keep func(*Pod) bool) ([]Pod, error) {
	pods := []Pod{}
	start, err := decoder.Token()
	if err != nil || start == nil {
		return pods, err
	}
	if start != json.Delim('[') {
		return pods, fmt.Errorf("not an array but %.20q", fmt.Sprint(start))
	}
	for n := 1; decoder.More(); n++ {
		if n > maxPodsListed {
			return pods, fmt.Errorf("more than %d pods", maxPodsListed)
		}
		var item podObject
		if err := decoder.Decode(&item); err != nil && !isTypeError(err) {
			return pods, fmt.Errorf("pod %d: %w", n, err)
		}
		if item.Kind != "" && item.Kind != "Pod" {
			continue
		}
		if pod := item.pod(fromKubelet); keep == nil || keep(&pod) {
			pods = append(pods, pod)
		}
	}
	_, err = decoder.Token()
	return pods, err
}

// skipValue passes over the next value without keeping it.
func skipValue(decoder *json.Decoder) error {
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}

func expect(decoder *json.Decoder, want json.Delim) error {
	got, err := decoder.Token()
	if err != nil {
		return truncated(err)
	}
	if got != want {
		return fmt.Errorf("%v instead of %v", got, want)
	}
	return nil
}

// truncated says what the end of the input means in the middle of a value.
func truncated(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// isTypeError recognises a field of another type than expected: the decoder has gone on behind it.
func isTypeError(err error) bool {
	var mismatch *json.UnmarshalTypeError
	return errors.As(err, &mismatch)
}
