package plan

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/kubelet"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// lineOfSteps is all that a report can bring into a script. Words are printable ASCII without what ends single quotes, or means
// something to a shell outside of them.
var lineOfSteps = regexp.MustCompile(strings.ReplaceAll(`^(|# [ -~]{0,310}|steps\(\) \{|\}|step end|options "\$@"|start|steps`+
	`|echo 'The report shows no directory of a pod that is proven to be gone\.'`+
	`|step pod ([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}) '([0-9]+:[0-9]+)?' WORD`+
	`|step at (volumes|volumeDevices|volume-subpaths)(/[A-Za-z0-9_][A-Za-z0-9._~+=@:-]*){1,3}`+
	`|step unmount [0-9]+:[0-9]+ [A-Za-z0-9][A-Za-z0-9._-]*`+
	`|step remove-(dir|target|vol-data)`+
	`|step (name|note|decline|leave-mounted|move-data) WORD)$`,
	"WORD", `'[ !"#%&()*+,./0-9:;<=>?@A-Z\[\]^_a-z{|}~-]*'`))

// hostile is evidence of which somebody else has chosen all text.
func hostile(node, root, uid, dir, volume, point, dev, fstype, text string) *forensics.Evidence {
	e := forensics.NewEvidence()
	boot := time.Unix(1_000_000, 0)
	e.Root, e.Collected, e.Node.Name, e.Node.Boot = "/", time.Unix(2_000_000, 0), node, &boot
	e.Kubelet = &kubelet.Instance{PID: 1, Version: "1.17." + text, RootDir: root, CanonicalRoot: root}
	e.Pods = []kubelet.Pod{{UID: "other", Source: "kubelet"}, {UID: uid, Namespace: text, Name: text, Source: "runtime"}}
	for i, path := range []string{root + "/pods/" + uid, dir} {
		below := func(rel string) string { return path + "/" + rel }
		e.PodDirs = append(e.PodDirs, kubelet.PodDir{
			UID: uid, Path: path, HostName: text, Unknown: []string{"volumes/" + text, text}, Containers: []string{text},
			Volumes: []kubelet.Volume{
				{Plugin: text, Name: text, Path: below(volume), Kind: "dir", MountPoints: []string{below(point)}},
				{Plugin: "kubernetes.io/csi", Name: text, Path: below(volume), Kind: "dir", VolDataError: text, Entries: 1, Inside: &kubelet.Contents{}},
				{Plugin: text, Name: text, Path: volume, Kind: "dir", Entries: 2, Inside: &kubelet.Contents{Files: -1, Bytes: -1}},
			},
			Subpaths: []kubelet.Subpath{{Path: below(point), Kind: "file", Inside: &kubelet.Contents{}}},
		})
		for _, p := range []string{path, below(point), point} {
			e.Mounts.Mounts = append(e.Mounts.Mounts, mounts.Mount{ID: len(e.Mounts.Mounts) + 1, Device: dev, FSType: fstype, Source: text, MountPoint: p, Class: mounts.Class(text)})
		}
		e.Probes = append(e.Probes, mounts.Probe{Device: dev, Skipped: mounts.Skip([]string{"", text}[i%2]), Error: []string{"", text}[i%2]})
	}
	for _, source := range []string{
		forensics.SourceMounts, forensics.SourceProcesses, forensics.SourceKubeletPods, forensics.SourcePodDirs, forensics.SourceCgroups,
	} {
		e.Cover(forensics.Source{Source: source, Status: forensics.SourceRead, Detail: text})
	}
	return &e
}

func FuzzScript(f *testing.F) {
	const (
		uid  = "5c948341-c030-4996-b888-f032577d97b0"
		root = "/var/lib/kubelet"
	)
	f.Add("node", root, uid, root+"/pods/"+uid, "volumes/kubernetes.io~csi/pvc", "volumes/kubernetes.io~csi/pvc/mount", "8:1", "ext4", "")
	f.Add("node", root, uid, root+"/pods/"+uid+"-evil", "volume-subpaths/v/c/0", "volumes/kubernetes.io~nfs/x", "0:50", "tmpfs", "\n'; rm -rf / #")
	for _, text := range []string{"a\nrm -rf /", "'$(touch x)'", "`id`", "\r", "\u2028", "\x1b[2J", "\\", "\x00", "\xff", "..", "../..", "/", "-rf", "*", "#", strings.Repeat("a", 4000)} {
		f.Add(text, root, uid, root+"/pods/"+uid, "volumes/kubernetes.io~csi/pvc", "volumes/kubernetes.io~csi/pvc/mount", "8:1", "ext4", text)
		f.Add("node", "/"+text, uid, "/pods/"+text, text, text, text, text, text)
		f.Add("node", root, text, root+"/pods/"+text, "volumes/"+text+"/x", "volumes/kubernetes.io~csi/"+text, text, "ext4", text)
		f.Add("node", root, uid, root+"/pods/"+uid+"/"+text, "volumes/kubernetes.io~nfs/"+text, "volume-subpaths/"+text+"/"+text+"/"+text, "8:1", text, text)
	}
	f.Fuzz(func(t *testing.T, node, root, uid, dir, volume, point, dev, fstype, text string) {
		var b bytes.Buffer
		if err := Script(&b, hostile(node, root, uid, dir, volume, point, dev, fstype, text)); err != nil {
			if b.Len() != 0 || strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r >= 0x7f }) {
				t.Errorf("%d bytes with the error %q", b.Len(), err)
			}
			return
		}
		checkScript(t, b.String())
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = &b
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// checkScript makes sure that a script is its fixed parts, and nothing else than a report may bring into it.
func checkScript(t *testing.T, script string) {
	t.Helper()
	head, rest, ok := strings.Cut(script, beginPart+startPart+enterPart+lookPart+stepsPart)
	if !ok {
		t.Fatal("the fixed parts are not there")
	}
	for line := range strings.Lines(rest) {
		if !lineOfSteps.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("step %q", line)
		}
	}
	for line := range strings.Lines(head) {
		if !regexp.MustCompile(`^(#[ -~]*|node='[A-Za-z0-9._-]+'|collected=[0-9]+ collected_nanoseconds=[0-9]{9} boot=[0-9]+ # seconds since 1970|report_root='[A-Za-z0-9._~+=@:/-]+' # compared only, never trusted|)\n$`).MatchString(line) {
			t.Errorf("head %q", line)
		}
	}
}

// TestScriptUnusable has reports that no script is made of: one clear line says why.
func TestScriptUnusable(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(e *forensics.Evidence)
		says   string
	}{
		"another schema":   {func(e *forensics.Evidence) { e.Schema = "nodeforensics.evidence/v9" }, "evidence schema"},
		"a disk":           {func(e *forensics.Evidence) { e.Root = "/mnt\ndisk" }, "not of a running node"},
		"no node":          {func(e *forensics.Evidence) { e.Node.Name = "" }, "node name"},
		"a node's newline": {func(e *forensics.Evidence) { e.Node.Name = "node\n" }, "node name"},
		"no time":          {func(e *forensics.Evidence) { e.Collected = time.Time{} }, "when it was made"},
		"no boot":          {func(e *forensics.Evidence) { e.Node.Boot = nil }, "when the node was booted"},
		"100,000 pods":     {func(e *forensics.Evidence) { e.PodDirs = make([]kubelet.PodDir, 100_000) }, "100000 pod directories"},
		"2 million volumes": {func(e *forensics.Evidence) {
			e.PodDirs = slices.Repeat(e.PodDirs[:1], 1000)
			for i := range e.PodDirs {
				e.PodDirs[i].Volumes = slices.Repeat(e.PodDirs[i].Volumes[2:], maxPerPod-10)
			}
		}, "too long to read"},
		"a relative root":  {func(e *forensics.Evidence) { e.Kubelet.CanonicalRoot = "var/lib" }, "kubelet root"},
		"a root with dots": {func(e *forensics.Evidence) { e.Kubelet.CanonicalRoot = "/var/../x" }, "kubelet root"},
		"/ as root":        {func(e *forensics.Evidence) { e.Kubelet.CanonicalRoot = "/" }, "kubelet root"},
		"a root's slash":   {func(e *forensics.Evidence) { e.Kubelet.CanonicalRoot += "/" }, "kubelet root"},
		"a root's newline": {func(e *forensics.Evidence) { e.Kubelet.CanonicalRoot += "\n" }, "kubelet root"},
		"nothing":          {func(e *forensics.Evidence) { *e = forensics.NewEvidence() }, "not of a running node"},
	} {
		t.Run(name, func(t *testing.T) {
			const uid = "5c948341-c030-4996-b888-f032577d97b0"
			e := hostile("node", "/var/lib/kubelet", uid, "/x", "volumes/kubernetes.io~nfs/x", "volumes/kubernetes.io~nfs/x", "8:1", "ext4", "x")
			tc.change(e)
			var b bytes.Buffer
			began := time.Now()
			err := Script(&b, e)
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.ContainsAny(err.Error(), "\n\r") || b.Len() != 0 {
				t.Errorf("%v, %d bytes; want one line that says %q", err, b.Len(), tc.says)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestScriptTooMany has more volumes in one pod than there can be.
func TestScriptTooMany(t *testing.T) {
	const uid = "5c948341-c030-4996-b888-f032577d97b0"
	e := hostile("node", "/var/lib/kubelet", uid, "/x", "volumes/kubernetes.io~nfs/x", "volumes/kubernetes.io~nfs/x", "8:1", "ext4", "x")
	e.PodDirs[0].Volumes = slices.Repeat(e.PodDirs[0].Volumes[2:], 1_000_000)
	var b bytes.Buffer
	if err := Script(&b, e); err != nil || !strings.Contains(b.String(), "more volumes or mounts than a pod can have") {
		t.Errorf("%v, %d bytes", err, b.Len())
	}
}
