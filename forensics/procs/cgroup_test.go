package procs

import (
	"strings"
	"testing"
)

const (
	uid       = "5c948341-1b2c-4d3e-8f90-a1b2c3d4e5f6"
	otherUID  = "2fa11937-0000-4d3e-8f90-a1b2c3d4e5f6"
	staticUID = "aa31ca7be1d0dcbd9b5f7e2a2b2bd9d4"
	cid       = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	otherCID  = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
)

// systemdUID is the UID as it stands in the name of a slice.
var systemdUID = strings.ReplaceAll(uid, "-", "_")

func TestPodFromCgroup(t *testing.T) {
	slice := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdUID + ".slice"
	for name, tc := range map[string]struct{ path, pod, container string }{
		"cgroupfs guaranteed":      {"/kubepods/pod" + uid + "/" + cid, uid, cid},
		"cgroupfs burstable":       {"/kubepods/burstable/pod" + uid + "/" + cid, uid, cid},
		"cgroupfs besteffort":      {"/kubepods/besteffort/pod" + uid + "/" + cid, uid, cid},
		"cgroupfs pod only":        {"/kubepods/besteffort/pod" + uid, uid, ""},
		"cgroupfs static pod":      {"/kubepods/burstable/pod" + staticUID + "/" + cid, staticUID, cid},
		"systemd containerd":       {slice + "/cri-containerd-" + cid + ".scope", uid, cid},
		"systemd docker":           {slice + "/docker-" + cid + ".scope", uid, cid},
		"systemd crio":             {slice + "/crio-" + cid + ".scope", uid, cid},
		"systemd crio and crun":    {slice + "/crio-" + cid + ".scope/container", uid, cid},
		"systemd conmon":           {slice + "/crio-conmon-" + cid + ".scope", uid, cid},
		"systemd podman":           {slice + "/libpod-" + cid + ".scope/container", uid, cid},
		"systemd guaranteed":       {"/kubepods.slice/kubepods-pod" + systemdUID + ".slice/crio-" + cid + ".scope", uid, cid},
		"systemd static pod":       {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + staticUID + ".slice/cri-containerd-" + cid + ".scope", staticUID, cid},
		"drivers disagree":         {"/system.slice/containerd.service/kubepods-burstable-pod" + systemdUID + ".slice:cri-containerd:" + cid, uid, cid},
		"below --cgroup-root":      {"/node/kubepods/burstable/pod" + uid + "/" + cid, uid, cid},
		"kind":                     {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + systemdUID + ".slice/cri-containerd-" + cid + ".scope", uid, cid},
		"kind cgroupfs":            {"/kubelet/kubepods/besteffort/pod" + uid + "/" + cid, uid, cid},
		"docker in docker":         {"/docker/" + otherCID + "/kubepods/burstable/pod" + uid + "/" + cid, uid, cid},
		"k3s rootless":             {"/user.slice/user-1000.slice/user@1000.service/k3s-rootless.service/kubepods/burstable/pod" + uid + "/" + cid, uid, cid},
		"seen from a namespace":    {"/../../kubepods/burstable/pod" + uid + "/" + cid, uid, cid},
		"container makes children": {slice + "/cri-containerd-" + cid + ".scope/system.slice/docker-" + otherCID + ".scope", uid, cid},
		"pod in a pod":             {"/kubepods/pod" + uid + "/" + cid + "/kubepods/pod" + otherUID + "/" + otherCID, uid, cid},
		"cgroup was removed":       {"/kubepods/pod" + uid + "/" + cid + " (deleted)", uid, cid},
		"pod cgroup was removed":   {"/kubepods/pod" + uid + " (deleted)", uid, ""},
		"container without a pod":  {"/system.slice/docker-" + cid + ".scope", "", cid},
		"no container":             {"/system.slice/kubelet.service", "", ""},
		"root":                     {"/", "", ""},
		"empty":                    {"", "", ""},
		"qos class only":           {"/kubepods/burstable", "", ""},
		"a name like a pod":        {"/podman/pod" + uid[:35] + "g/" + cid, "", cid},
		"longer than a uid":        {"/pod" + uid + "0/" + cid, "", cid},
		"longer than a static uid": {"/pod" + staticUID + "0", "", ""},
		"longer than an id":        {"/kubepods/pod" + uid + "/" + cid + "0", uid, ""},
		"not at the start":         {"/notpod" + uid + "/" + cid, "", cid},
		"capitals":                 {"/kubepods/pod" + strings.ToUpper(uid), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod, container := PodFromCgroup(tc.path)
			if pod != tc.pod || container != tc.container {
				t.Errorf("PodFromCgroup(%q) = %q, %q; want %q, %q", tc.path, pod, container, tc.pod, tc.container)
			}
		})
	}
}

func TestParseCgroup(t *testing.T) {
	pod := "/kubepods/burstable/pod" + uid + "/" + cid
	mismatch := "/system.slice/containerd.service/kubepods-pod" + systemdUID + ".slice:cri-containerd:" + cid
	for name, tc := range map[string]struct{ text, path, pod, container string }{
		"v2":                    {"0::" + pod + "\n", pod, uid, cid},
		"v1":                    {"11:memory:" + pod + "\n10:cpu,cpuacct:" + pod + "\n1:name=systemd:/x\n", pod, uid, cid},
		"v1 pod not first":      {"12:rdma:/\n11:memory:" + pod + "\n0::/\n", pod, uid, cid},
		"hybrid without pod":    {"9:pids:/user.slice\n0::/init.scope\n", "/init.scope", "", ""},
		"v1 without pod":        {"9:pids:/user.slice\n8:memory:/\n", "/user.slice", "", ""},
		"controller with comma": {"4:net_cls,net_prio:/a\n", "/a", "", ""},
		"path with colons":      {"0::" + mismatch + "\n", mismatch, uid, cid},
		"docker":                {"0::/system.slice/docker-" + cid + ".scope\n", "/system.slice/docker-" + cid + ".scope", "", cid},
		"no final break":        {"0::/a", "/a", "", ""},
		"garbage":               {"abc\n\n:\n", "", "", ""},
		"empty":                 {"", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, pod, container := ParseCgroup([]byte(tc.text))
			if path != tc.path || pod != tc.pod || container != tc.container {
				t.Errorf("ParseCgroup = %q, %q, %q; want %q, %q, %q", path, pod, container, tc.path, tc.pod, tc.container)
			}
		})
	}
}

func FuzzCgroup(f *testing.F) {
	f.Add("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + systemdUID + ".slice/crio-" + cid + ".scope/container")
	f.Add("11:memory:/kubepods/pod" + staticUID + "/" + cid + "\n0::/\n")
	f.Fuzz(func(t *testing.T, text string) {
		check := func(path, pod, container string) {
			if n := len(pod); n != 0 && n != uuidLength && n != staticUIDLength || strings.Contains(pod, "_") {
				t.Errorf("pod UID %q in %q", pod, path)
			}
			if !strings.Contains(strings.ReplaceAll(path, "_", "-"), pod) || !strings.Contains(path, container) {
				t.Errorf("%q and %q are not in %q", pod, container, path)
			}
			if container != "" && (len(container) != containerIDLength || countHex(container) != containerIDLength) {
				t.Errorf("container id %q in %q", container, path)
			}
		}
		pod, container := PodFromCgroup(text)
		check(text, pod, container)
		path, pod, container := ParseCgroup([]byte(text))
		if !strings.Contains(text, path) {
			t.Errorf("ParseCgroup(%q) = %q", text, path)
		}
		check(path, pod, container)
	})
}
