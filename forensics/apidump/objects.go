package apidump

import (
	"fmt"
	"slices"
	"strings"
)

type podObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		NodeName       string            `json:"nodeName"`
		NodeSelector   map[string]string `json:"nodeSelector"`
		InitContainers []container       `json:"initContainers"`
		Containers     []container       `json:"containers"`
		Tolerations    []struct {
			Toleration
			Effect  string `json:"effect"`
			Seconds *int64 `json:"tolerationSeconds"`
		} `json:"tolerations"`
		Volumes []struct {
			Name      string    `json:"name"`
			Ephemeral *struct{} `json:"ephemeral"`
			Claim     *struct {
				Name string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase                 string            `json:"phase"`
		Reason                string            `json:"reason"`
		Message               string            `json:"message"`
		Conditions            []condition       `json:"conditions"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
	} `json:"status"`
}

type container struct {
	Name            string `json:"name"`
	Image           string `json:"image"`
	ImagePullPolicy string `json:"imagePullPolicy"`
}

type containerStatus struct {
	Name  string `json:"name"`
	State struct {
		Waiting *struct {
			Reason string `json:"reason"`
		} `json:"waiting"`
	} `json:"state"`
}

func (o podObject) pod() Pod {
	p := Pod{
		Object: o.Metadata.object("Pod"), Node: o.Spec.NodeName, Phase: o.Status.Phase, Reason: o.Status.Reason,
		Message: o.Status.Message, GraceSeconds: o.Metadata.DeletionGrace, Mirror: o.Metadata.Annotations.Mirror,
		Selector: o.Spec.NodeSelector,
	}
	if p.UID == "" { // a description shows none: the name tells pods apart
		p.UID = p.ID()
	}
	for _, c := range o.Status.Conditions {
		switch {
		case c.Type == "DisruptionTarget" && c.Status == "True":
			p.Disrupted = c.condition()
		case c.Type == "PodScheduled" && c.Status == "False":
			p.Unscheduled = c.condition()
		}
	}
	for _, v := range o.Spec.Volumes {
		switch {
		case v.Claim != nil:
			p.Claims = append(p.Claims, v.Claim.Name)
		case v.Ephemeral != nil: // its claim is named after pod and volume
			p.Claims = append(p.Claims, p.Name+"-"+v.Name)
		}
	}
	for _, t := range o.Spec.Tolerations {
		if t.Effect == "" || t.Effect == effectNoExecute {
			toleration := t.Toleration
			toleration.Seconds = t.Seconds
			p.Tolerations = append(p.Tolerations, toleration)
		}
	}
	waiting := map[string]string{}
	for _, s := range slices.Concat(o.Status.InitContainerStatuses, o.Status.ContainerStatuses) {
		if s.State.Waiting != nil {
			waiting[s.Name] = s.State.Waiting.Reason
		}
	}
	for _, c := range slices.Concat(o.Spec.InitContainers, o.Spec.Containers) {
		p.Images = append(p.Images, Image{Name: c.Image, PullPolicy: c.ImagePullPolicy, Waiting: waiting[c.Name]})
	}
	return p
}

type nodeObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Taints []struct {
			Key       string `json:"key"`
			Value     string `json:"value"`
			Effect    string `json:"effect"`
			TimeAdded moment `json:"timeAdded"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
		NodeInfo   struct {
			KubeletVersion string `json:"kubeletVersion"`
		} `json:"nodeInfo"`
	} `json:"status"`
}

func (o nodeObject) node() Node {
	n := Node{Object: o.Metadata.object("Node"), KubeletVersion: o.Status.NodeInfo.KubeletVersion}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			if n.Ready = c.Status; c.Status != "True" {
				n.NotReady = c.condition()
			}
		}
		if strings.HasSuffix(c.Type, "Pressure") && c.Status == "True" {
			n.Pressures = append(n.Pressures, *c.condition())
		}
	}
	for _, t := range o.Spec.Taints {
		n.Taints = append(n.Taints, Taint{Key: t.Key, Value: t.Value, Effect: t.Effect, Added: t.TimeAdded.Time})
	}
	return n
}

type claimObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		VolumeName string `json:"volumeName"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (o claimObject) claim() Claim {
	return Claim{Object: o.Metadata.object("PersistentVolumeClaim"), Phase: o.Status.Phase, Volume: o.Spec.VolumeName}
}

type volumeObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		Reclaim  string `json:"persistentVolumeReclaimPolicy"`
		ClaimRef *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"claimRef"`
		CSI *struct {
			Driver string `json:"driver"`
		} `json:"csi"`
		Local        *struct{} `json:"local"`
		HostPath     *struct{} `json:"hostPath"`
		NFS          *struct{} `json:"nfs"`
		NodeAffinity *struct {
			Required struct {
				Terms []struct {
					Expressions []struct {
						Key    string   `json:"key"`
						Values []string `json:"values"`
					} `json:"matchExpressions"`
				} `json:"nodeSelectorTerms"`
			} `json:"required"`
		} `json:"nodeAffinity"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

func (o volumeObject) volume() Volume {
	v := Volume{Object: o.Metadata.object("PersistentVolume"), Phase: o.Status.Phase, Reclaim: o.Spec.Reclaim}
	if ref := o.Spec.ClaimRef; ref != nil {
		v.Claim = ref.Namespace + "/" + ref.Name
	}
	switch {
	case o.Spec.CSI != nil:
		v.Driver, v.Source = o.Spec.CSI.Driver, "csi"
	case o.Spec.Local != nil:
		v.Source = "local"
	case o.Spec.HostPath != nil:
		v.Source = "hostPath"
	case o.Spec.NFS != nil:
		v.Source = "nfs"
	}
	if a := o.Spec.NodeAffinity; a != nil {
		for _, term := range a.Required.Terms {
			for _, e := range term.Expressions {
				if e.Key == labelHostName {
					v.Nodes = append(v.Nodes, e.Values...)
				}
			}
		}
	}
	return v
}

// ownerObject is a Job (batch/v1) or an Argo Workflow (argoproj.io/v1alpha1).
type ownerObject struct {
	Metadata meta `json:"metadata"`
	Spec     struct {
		TTL   *int64 `json:"ttlSecondsAfterFinished"`
		PodGC *struct {
			Strategy string `json:"strategy"`
		} `json:"podGC"`
		TTLStrategy map[string]int64 `json:"ttlStrategy"`
	} `json:"spec"`
}

func (o ownerObject) object(kind string) Object {
	object := o.Metadata.object(kind)
	var rules []string
	if o.Spec.TTL != nil {
		rules = append(rules, fmt.Sprintf("ttlSecondsAfterFinished %d", *o.Spec.TTL))
	}
	if o.Spec.PodGC != nil && o.Spec.PodGC.Strategy != "" {
		rules = append(rules, "podGC "+o.Spec.PodGC.Strategy)
	}
	for _, when := range []string{"secondsAfterCompletion", "secondsAfterSuccess", "secondsAfterFailure"} {
		if seconds, ok := o.Spec.TTLStrategy[when]; ok {
			rules = append(rules, fmt.Sprintf("ttlStrategy %s %d", when, seconds))
		}
	}
	object.Removal = strings.Join(rules, ", ")
	return object
}
