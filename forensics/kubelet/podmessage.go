package kubelet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ParsePodMessages reads the ListPodsResponse of the kubelet's Pods API (k8s.io/kubelet/pkg/apis/pods/v1alpha1/api.proto, 1.36):
// pods, each a marshalled v1.Pod. Of them it keeps what keep wants; nil wants all. What [ParsePods] takes from JSON is taken, in
// the numbers of k8s.io/api/core/v1/generated.proto and k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto; all else is passed
// over. With an error come the pods before it.
func ParsePodMessages(message []byte, keep func(*Pod) bool) ([]Pod, error) {
	pods := []Pod{}
	n := 0
	err := eachField(message, func(f protoField) error {
		if f.number != 1 {
			return nil
		}
		if n++; n > maxPodsListed {
			return fmt.Errorf("more than %d pods", maxPodsListed)
		}
		var o podObject
		if err := eachField(f.bytes, o.field); err != nil {
			return fmt.Errorf("pod %d: %w", n, err)
		}
		if o.Metadata.UID == "" {
			return fmt.Errorf("pod %d: it has no UID", n)
		}
		if pod := o.pod(fromKubelet); keep == nil || keep(&pod) {
			pods = append(pods, pod)
		}
		return nil
	})
	return pods, err
}

// field is a field of v1.Pod.
func (o *podObject) field(f protoField) error {
	switch f.number {
	case 1:
		return eachField(f.bytes, o.metadataField)
	case 2:
		return eachField(f.bytes, o.specField)
	case 3:
		return eachField(f.bytes, func(f protoField) error {
			if f.number == 1 {
				o.Status.Phase = string(f.bytes)
			}
			return nil
		})
	}
	return nil
}

// metadataField is a field of ObjectMeta.
func (o *podObject) metadataField(f protoField) error {
	m := &o.Metadata
	switch f.number {
	case 1:
		m.Name = string(f.bytes)
	case 3:
		m.Namespace = string(f.bytes)
	case 5:
		m.UID = string(f.bytes)
	case 9:
		at, err := f.time()
		m.DeletionTimestamp = at.Format(time.RFC3339)
		return err
	case 12:
		key, value, err := f.pair()
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		if slices.Contains([]string{annotationHash, annotationMirror, annotationSource}, key) {
			m.Annotations[key] = value
		}
		return err
	case 13:
		owner := slices.Grow(m.OwnerReferences, 1)[:len(m.OwnerReferences)+1]
		o := &owner[len(owner)-1]
		m.OwnerReferences = owner
		return eachField(f.bytes, func(f protoField) error {
			switch f.number {
			case 1:
				o.Kind = string(f.bytes)
			case 6:
				o.Controller = f.value != 0
			}
			return nil
		})
	}
	return nil
}

// specField is a field of PodSpec.
func (o *podObject) specField(f protoField) error {
	var list *[]podContainer
	switch f.number {
	case 2:
		list = &o.Spec.Containers
	case 20:
		list = &o.Spec.InitContainers
	case 25:
		priority := int32(f.value)
		o.Spec.Priority = &priority
		return nil
	default:
		return nil
	}
	var c podContainer
	err := eachField(f.bytes, func(f protoField) error {
		switch f.number {
		case 2:
			c.Image = string(f.bytes)
		case 14:
			c.PullPolicy = string(f.bytes)
		}
		return nil
	})
	*list = append(*list, c)
	return err
}

// A protoField is a field of a message in the protocol buffers' wire format
// (https://protobuf.dev/programming-guides/encoding/): a number, or bytes.
type protoField struct {
	number uint64
	value  uint64
	bytes  []byte
}

// time is a Time of Kubernetes: seconds since 1970.
func (f protoField) time() (at time.Time, err error) {
	at = time.Unix(0, 0).UTC()
	err = eachField(f.bytes, func(f protoField) error {
		if f.number == 1 {
			at = time.Unix(int64(f.value), 0).UTC()
		}
		return nil
	})
	return at, err
}

// pair is an entry of a map of strings.
func (f protoField) pair() (key, value string, err error) {
	err = eachField(f.bytes, func(f protoField) error {
		switch f.number {
		case 1:
			key = string(f.bytes)
		case 2:
			value = string(f.bytes)
		}
		return nil
	})
	return key, value, err
}

var errNoProtobuf = errors.New("not a protocol buffer")

// eachField calls a function for each field of a message, until it returns an error.
func eachField(message []byte, field func(protoField) error) error {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return errNoProtobuf
		}
		f := protoField{number: tag >> 3}
		if n = f.read(message[n:], tag&7) + n; n > len(message) {
			return errNoProtobuf
		}
		if err := field(f); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// read reads the value of a field and returns its length; a length beyond the message is none.
func (f *protoField) read(message []byte, kind uint64) int {
	beyond := len(message) + 1
	switch kind {
	case 0:
		value, n := binary.Uvarint(message)
		if f.value = value; n > 0 {
			return n
		}
	case 1:
		return 8
	case 2:
		length, n := binary.Uvarint(message)
		if n > 0 && length <= uint64(len(message)-n) {
			f.bytes = message[n : n+int(length)]
			return n + int(length)
		}
	case 5:
		return 4
	}
	return beyond
}
