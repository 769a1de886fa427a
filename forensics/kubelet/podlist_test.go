package kubelet

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParsePods(t *testing.T) {
	deleted := time.Date(2026, 11, 20, 10, 28, 9, 0, time.UTC)
	critical := int32(2000001000)
	for name, tc := range map[string]struct {
		text string
		want []Pod
		err  string
	}{
		"empty list":     {`{"kind":"PodList","items":[]}`, nil, ""},
		"null list":      {`{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}`, nil, ""},
		"items first":    {`{"items":[{"metadata":{"uid":"u"}}],"kind":"PodList"}`, []Pod{{UID: "u", Source: "kubelet"}}, ""},
		"kubectl's List": {`{"apiVersion":"v1","items":[{"kind":"Node","metadata":{"uid":"n"}},{"kind":"Pod","metadata":{"uid":"u","name":"web","namespace":"d"}}],"kind":"List","metadata":{"resourceVersion":""}}`, []Pod{{UID: "u", Name: "web", Namespace: "d", Source: "kubelet"}}, ""},
		"one pod":        {`{"kind":"Pod","metadata":{"uid":"u","deletionTimestamp":"2026-11-20T10:28:09Z"},"spec":{"a":[1,{"b":[]}]},"status":{"phase":"Running"}}`, []Pod{{UID: "u", Source: "kubelet", Phase: "Running", Deleting: &deleted}}, ""},
		"mirror pod": {
			`{"kind":"Pod","metadata":{"uid":"u","annotations":{"kubernetes.io/config.hash":"h","kubernetes.io/config.mirror":"h"}}}`,
			[]Pod{{UID: "u", Source: "kubelet", MirrorUID: "h", Kind: KindMirror}},
			"",
		},
		"static pod": {
			`{"kind":"Pod","metadata":{"uid":"h","annotations":{"kubernetes.io/config.hash":"h","kubernetes.io/config.source":"file"}}}`,
			[]Pod{{UID: "h", Source: "kubelet", Kind: KindStatic}},
			"",
		},
		"pod from the API": {
			`{"kind":"Pod","metadata":{"uid":"u","annotations":{"kubernetes.io/config.source":"api"}}}`,
			[]Pod{{UID: "u", Source: "kubelet"}},
			"",
		},
		"daemon pod": {
			`{"kind":"Pod","metadata":{"uid":"u","annotations":{"kubernetes.io/config.source":"api"},"ownerReferences":[{"kind":"Node"},{"kind":"DaemonSet","controller":true}]},` +
				`"spec":{"priority":2000001000,"initContainers":[{"image":"a:1"}],"containers":[{"image":"a:1"},{"image":"b","imagePullPolicy":"Never"},{"image":"a:1"}]}}`,
			[]Pod{{UID: "u", Source: "kubelet", OwnerKind: "DaemonSet", Priority: &critical, Images: []PodImage{{Name: "a:1"}, {Name: "b", PullPolicy: "Never"}}}},
			"",
		},
		"field of another type": {`{"items":[{"metadata":{"uid":"a","annotations":[1]},"status":{"phase":7}},{"metadata":{"uid":"b"}}]}`, []Pod{{UID: "a", Source: "kubelet"}, {UID: "b", Source: "kubelet"}}, ""},
		"bad time":              {`{"items":[{"metadata":{"deletionTimestamp":"soon","uid":"a"}}]}`, []Pod{{UID: "a", Source: "kubelet"}}, ""},
		"null pod":              {`{"items":[null]}`, []Pod{{Source: "kubelet"}}, ""},
		"cut in a pod":          {`{"items":[{"metadata":{"uid":"a"}},{"metadata":{"ui`, []Pod{{UID: "a", Source: "kubelet"}}, "unexpected EOF"},
		"cut behind a pod":      {`{"items":[{"metadata":{"uid":"a"}}`, []Pod{{UID: "a", Source: "kubelet"}}, "unexpected EOF"},
		"cut behind the items":  {`{"items":[{"metadata":{"uid":"a"}}]`, []Pod{{UID: "a", Source: "kubelet"}}, "unexpected EOF"},
		"empty":                 {``, nil, "unexpected EOF"},
		"array":                 {`[]`, nil, "[ instead of {"},
		"items is no array":     {`{"items":{"a":1}}`, nil, "not an array"},
		"items is a word":       {`{"items":"x"}`, nil, "not an array"},
		"another kind":          {`{"kind":"Status","status":"Failure","message":"no"}`, nil, `kind "Status"`},
		"text":                  {`Forbidden`, nil, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePods(strings.NewReader(tc.text), nil)
			want := append([]Pod{}, tc.want...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("error = %v; want %q", err, tc.err)
			}
		})
	}
}

func TestParsePodsBrokenOff(t *testing.T) {
	broken := errors.New("connection reset")
	r := io.MultiReader(strings.NewReader(`{"items":[{"metadata":{"uid":"a"}},`), iotest.ErrReader(broken))
	pods, err := ParsePods(r, nil)
	if len(pods) != 1 || pods[0].UID != "a" || !errors.Is(err, broken) {
		t.Errorf("%v, %v; want the pod before the error, and the error", pods, err)
	}
}

func TestParsePodsCaptures(t *testing.T) {
	web := func(uid string) []Pod {
		return []Pod{{
			UID: uid, Namespace: "default", Name: "web-lab-node-1", Source: "kubelet", Phase: "Running", Kind: KindStatic,
			Images: []PodImage{{Name: "docker.io/library/busybox:lab", PullPolicy: "Never"}},
		}}
	}
	for name, want := range map[string][]Pod{
		"kubelet-1.17.4-orphan-leftover": web("80d4acab7d7b273609d8596b6c36ec14"),
		"kubelet-1.34.4-disk-pressure":   web("a892c5925f05de91fd9748efc669cb97"),
		"kubelet-1.34.4-hung-csi":        web("2fa11937efabc40db85278b553e1ceeb"),
		"kubelet-1.34.4-unmount-busy":    {},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePods(strings.NewReader(readTestdata(t, name+"/pods.json")), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParsePods(f *testing.F) {
	f.Add(readTestdata(f, "kubelet-1.34.4-hung-csi/pods.json"))
	f.Add(`{"items":[null,{"kind":"Pod"},[]],"items":null,"kind":"Pod","metadata":[]}`)
	f.Fuzz(func(t *testing.T, text string) {
		pods, err := ParsePods(strings.NewReader(text), nil)
		if pods == nil {
			t.Error("pods is nil")
		}
		if err == nil && !json.Valid([]byte(text)) {
			// Only the first value is looked at, and what stands behind it does not matter.
			if decoder := json.NewDecoder(strings.NewReader(text)); decoder.Decode(new(any)) != nil {
				t.Errorf("no error for %q", text)
			}
		}
		if _, err := json.Marshal(pods); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkParsePods(b *testing.B) {
	one := readTestdata(b, "kubelet-1.34.4-hung-csi/pods.json")
	_, item, _ := strings.Cut(strings.TrimSpace(one), `"items":[`)
	text := `{"kind":"PodList","items":[` + strings.Repeat(strings.TrimSuffix(item, "]}")+",", 499) + item
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if pods, err := ParsePods(strings.NewReader(text), nil); err != nil || len(pods) != 500 {
			b.Fatal(len(pods), err)
		}
	}
}
