package reach

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary plays kubectl and ssh: each call is answered by the first rule of a file whose words are all in its arguments.
const fakeEnv = "NODEFORENSICS_TEST_FAKE"

type rule struct {
	Words          []string
	Stdout, Stderr string
	Status         int
	Endless        bool
	// Hang waits for ever, with a child that has the same output.
	Hang bool
	// Run runs what comes after this argument, on this machine: "the node".
	Run string
	// Shell runs it as ssh does: joined, by a shell.
	Shell bool
}

func TestMain(m *testing.M) {
	if file := os.Getenv(fakeEnv); file != "" {
		os.Exit(fake(file, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func fake(file string, args []string) int {
	line := strings.Join(args, " ")
	if log, err := os.OpenFile(file+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = fmt.Fprintf(log, "%q\n", args)
		_ = log.Close()
	}
	text, _ := os.ReadFile(file)
	var rules []rule
	if err := json.Unmarshal(text, &rules); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 70
	}
	for _, r := range rules {
		if slices.ContainsFunc(r.Words, func(w string) bool { return !strings.Contains(line, w) }) {
			continue
		}
		_, _ = os.Stdout.WriteString(r.Stdout)
		_, _ = os.Stderr.WriteString(r.Stderr)
		for r.Endless {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return 1
			}
		}
		if r.Hang {
			child := exec.Command("sleep", "600")
			child.Stdout, child.Stderr = os.Stdout, os.Stderr
			_ = child.Run()
		}
		if r.Run != "" {
			return there(args, r)
		}
		return r.Status
	}
	fmt.Fprintf(os.Stderr, "no rule for %q\n", args)
	return 71
}

func there(args []string, r rule) int {
	args = args[slices.Index(args, r.Run)+1:]
	if r.Shell {
		args = []string{"sh", "-c", strings.Join(args, " ")}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		fmt.Fprintf(os.Stderr, "command terminated with exit code %d\n", exit.ExitCode())
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 127
	}
	return 0
}

// cluster has the test binary answer as kubectl and as ssh, and returns options for that and the log of the calls.
func cluster(t *testing.T, rules ...rule) (*Options, func() string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "rules")
	text, err := json.Marshal(rules)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeEnv, file)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// What is brought is a script that says with what it was started, and where it is.
	program := "#!/bin/sh\necho \"examined $*\"\necho \"$0\" >" + filepath.Join(dir, "ran") + "\n"
	o := &Options{
		Kubectl: []string{self}, Namespace: "nodeforensics", Args: []string{"--output=json", "--timeout=1m"}, Examination: 10 * time.Second, Most: 1 << 20,
		Binary: func(arch string) (Binary, error) {
			if arch != "amd64" && arch != "arm64" {
				return Binary{}, errors.New("another architecture")
			}
			return Binary{Sum: fmt.Sprintf("%x", sha256.Sum256([]byte(program))), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(program)), nil }}, nil
		},
	}
	t.Cleanup(func() {
		if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err == nil {
			if _, err := os.Lstat(filepath.Dir(strings.TrimSpace(string(ran)))); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left behind: %v", ran, err)
			}
		}
	})
	return o, func() string {
		log, _ := os.ReadFile(file + ".log")
		return string(log)
	}
}

const examined = "examined --output=json --timeout=1m\n"

// examine runs an examination and returns its output.
func examine(t *testing.T, o *Options) (string, Result, error) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	result, err := o.Examine(ctx, "node-1", nil, &out, func() error { out.Reset(); return nil })
	return out.String(), result, err
}

// why is why a way was not taken.
func why(r Result, way string) string {
	for _, t := range r.Tried {
		if strings.HasPrefix(t.Way, way) {
			return t.Why
		}
	}
	return ""
}

// pod is a pod as the API server writes it, with changes.
func pod(namespace, name string, change func(p map[string]any, c map[string]any)) map[string]any {
	c := map[string]any{"name": "main", "securityContext": map[string]any{"privileged": true}}
	p := map[string]any{
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     map[string]any{"nodeName": "node-1", "hostPID": true, "containers": []any{c}},
		"status":   map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{"name": "main", "state": map[string]any{"running": map[string]any{}}}}},
	}
	if change != nil {
		change(p, c)
	}
	return p
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func listOf(t *testing.T, pods ...any) string {
	return asJSON(t, map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{"items": "no list"}, "items": append([]any{}, pods...)})
}

var (
	none      = rule{Words: []string{"get pods", "--namespace=nodeforensics"}, Stdout: `{"items":[]}`}
	forbidden = rule{Words: []string{"get pods"}, Stderr: "Error from server (Forbidden): pods is forbidden: User \"x\" cannot list resource \"pods\"\n", Status: 1}
	noDebug   = rule{Words: []string{"get node"}, Stdout: `{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown"}]}}`}
	onNode    = rule{Words: []string{"exec"}, Run: "--"}
)

func TestDaemonSetFirst(t *testing.T) {
	o, log := cluster(
		t,
		rule{Words: []string{"get pods", "--namespace=nodeforensics", "--selector=" + DaemonSetLabel, "nodeName=node-1"}, Stdout: listOf(
			t,
			pod("nodeforensics", "old", func(p, _ map[string]any) {
				p["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-22T00:00:00Z"
			}),
			pod("nodeforensics", "nf-1", nil),
		)},
		rule{Words: []string{"exec", "nf-1", Program + " version"}, Stdout: "nodeforensics"},
		rule{Words: []string{"exec --namespace=nodeforensics --container=main nf-1 -- " + Program + " --output=json"}, Stdout: "the report"},
	)
	o.Via, o.DebugImage = "a/b", "busybox"
	out, result, err := examine(t, o)
	if err != nil || out != "the report" || result.Way != "DaemonSet, pod nodeforensics/nf-1" || strings.Contains(log(), "debug") || strings.Contains(log(), "old") {
		t.Errorf("%q %+v %v\n%s", out, result, err, log())
	}
}

// TestDaemonSetOfANodeThatHangs is what a rollout leaves there: the old pod is being deleted and runs, the new one is not started.
func TestDaemonSetOfANodeThatHangs(t *testing.T) {
	o, log := cluster(
		t,
		rule{Words: []string{"get pods", "--selector=" + DaemonSetLabel}, Stdout: listOf(
			t,
			pod("nodeforensics", "old", func(p, _ map[string]any) {
				p["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-22T00:00:00Z"
			}),
			pod("nodeforensics", "new", func(p, _ map[string]any) { p["status"] = map[string]any{"phase": "Pending"} }),
		)},
		rule{Words: []string{"exec", "old", Program + " version"}, Stdout: "nodeforensics"},
		rule{Words: []string{"exec", "old -- " + Program + " --output=json"}, Stdout: "the report"},
	)
	out, result, err := examine(t, o)
	if err != nil || out != "the report" || result.Way != "DaemonSet, pod nodeforensics/old" {
		t.Errorf("%q %+v %v\n%s", out, result, err, log())
	}
}

// TestVia uses a pod that runs, and a real shell: the program is sent, checked, started and removed.
func TestVia(t *testing.T) {
	agent := func(change func(p, c map[string]any)) rule {
		return rule{Words: []string{"get pod agent --namespace=storage"}, Stdout: asJSON(t, pod("storage", "agent", change))}
	}
	limited := func(limit string) func(p, c map[string]any) {
		return func(_, c map[string]any) { c["resources"] = map[string]any{"limits": map[string]any{"memory": limit}} }
	}
	spare := func(said string) rule { return rule{Words: []string{"exec", "inactive_file"}, Stdout: said} }
	for name, tt := range map[string]struct {
		rules []rule
		via   string
		want  string // why not; empty is that it works
	}{
		"works":                  {rules: []rule{agent(nil), spare("seen\ndone\n"), onNode}},
		"container":              {rules: []rule{agent(nil), spare("seen\ndone\n"), onNode}, via: "storage/agent/main"},
		"much memory":            {rules: []rule{agent(limited("1Gi")), spare("used 300000000\ninactive_file 0\nseen\ndone\n"), onNode}},
		"cache counts as free":   {rules: []rule{agent(limited("256Mi")), spare("used 268000000\ninactive_file 200000000\nseen\ndone\n"), onNode}},
		"little memory":          {rules: []rule{agent(limited("256Mi")), spare("used 200000000\ninactive_file 10000000\nseen\ndone\n")}, want: "74 MiB remain below its memory limit of 256 MiB"},
		"memory not known":       {rules: []rule{agent(limited("256Mi")), spare("seen\ndone\n")}, want: "could not be read"},
		"serves FUSE":            {rules: []rule{agent(nil), spare("used 1\nseen\nfuse\ndone\n")}, want: "serves FUSE mounts"},
		"FUSE not known":         {rules: []rule{agent(nil), spare("used 1\ndone\n")}, want: "not known whether"},
		"other node":             {rules: []rule{agent(func(p, _ map[string]any) { p["spec"].(map[string]any)["nodeName"] = "node-2" })}, want: `runs on node "node-2"`},
		"not privileged":         {rules: []rule{agent(func(_, c map[string]any) { delete(c, "securityContext") })}, want: "privileged"},
		"another user":           {rules: []rule{agent(func(_, c map[string]any) { c["securityContext"].(map[string]any)["runAsUser"] = 1000 })}, want: "user 1000"},
		"no hostPID":             {rules: []rule{agent(func(p, _ map[string]any) { delete(p["spec"].(map[string]any), "hostPID") })}, want: "hostPID"},
		"no such container":      {rules: []rule{agent(nil)}, via: "storage/agent/side", want: `no container "side"`},
		"pod no longer exists":   {rules: []rule{{Words: []string{"get pod"}, Stderr: "Error from server (NotFound): pods \"agent\" not found\n", Status: 1}}, want: "not found"},
		"no shell":               {rules: []rule{agent(nil), {Words: []string{"exec"}, Stderr: "OCI runtime exec failed: exec: \"sh\": executable file not found in $PATH: unknown\n", Status: 1}}, want: "no shell"},
		"exec not allowed":       {rules: []rule{agent(nil), {Words: []string{"exec"}, Stderr: "Error from server (Forbidden): pods \"agent\" is forbidden: cannot create resource \"pods/exec\"\n", Status: 1}}, want: "pods/exec"},
		"hostile names":          {rules: []rule{{Words: []string{"get pod"}, Stdout: asJSON(t, pod("storage", "--kubeconfig=/x", nil))}}, want: "not a pod"},
		"broken JSON":            {rules: []rule{{Words: []string{"get pod"}, Stdout: `{"metadata":{"name":`}}, want: "the answer of kubectl"},
		"endless JSON":           {rules: []rule{{Words: []string{"get pod"}, Stdout: `{"a":"`, Endless: true}}, want: "the answer of kubectl"},
		"other architecture":     {rules: []rule{agent(nil), spare("seen\ndone\n"), {Words: []string{"exec", "machine"}, Stdout: "machine riscv64\nplace /tmp\ndone\n"}}, want: `"riscv64"`},
		"nowhere to write":       {rules: []rule{agent(nil), spare("seen\ndone\n"), {Words: []string{"exec", "machine"}, Stdout: "machine x86_64\ndone\n"}}, want: "no directory"},
		"a directory with blank": {rules: []rule{agent(nil), spare("seen\ndone\n"), {Words: []string{"exec", "machine"}, Stdout: "machine x86_64\nplace /tmp; reboot\ndone\n"}}, want: "no directory"},
		"endless output": {
			rules: []rule{agent(nil), spare("seen\ndone\n"), {Words: []string{"exec", "sha256sum) ]"}, Run: "--"}, {Words: []string{"exec", "--stdin"}, Endless: true}, onNode},
			want:  "too much output",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := cluster(t, append([]rule{none}, append(tt.rules, noDebug)...)...)
			o.Via = tt.via
			if o.Via == "" {
				o.Via = "storage/agent"
			}
			out, result, err := examine(t, o)
			switch {
			case tt.want == "" && (err != nil || out != examined || !strings.HasPrefix(result.Way, "pod storage/agent")):
				t.Errorf("%q %+v %v\n%s", out, result, err, log())
			case tt.want != "" && (err == nil || !strings.Contains(why(result, "pod storage/agent"), tt.want) || out != ""):
				t.Errorf("%q %+v %v\n%s", out, result, err, log())
			}
			if tt.want != "" && len(result.Left) > 0 {
				t.Errorf("left: %q", result.Left)
			}
		})
	}
}

// TestWrongSum changes the program on its way.
func TestWrongSum(t *testing.T) {
	o, _ := cluster(t, none, rule{Words: []string{"get pod"}, Stdout: asJSON(t, pod("storage", "agent", nil))}, rule{Words: []string{"inactive_file"}, Stdout: "seen\ndone\n"}, onNode)
	o.Via = "storage/agent"
	binary := o.Binary
	o.Binary = func(arch string) (Binary, error) {
		b, err := binary(arch)
		b.Open = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("#!/bin/sh\necho evil\n")), nil }
		return b, err
	}
	out, result, err := examine(t, o)
	if err == nil || out != "" || !strings.Contains(why(result, "pod"), "checksum") || len(result.Left) > 0 {
		t.Errorf("%q %+v %v", out, result, err)
	}
}

// TestHang: what does not answer costs its time, and none of its processes stays.
func TestHang(t *testing.T) {
	o, _ := cluster(t, none, rule{Words: []string{"get pod"}, Hang: true})
	o.Via = "storage/agent"
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	began := time.Now()
	result, err := o.Examine(ctx, "node-1", nil, io.Discard, func() error { return nil })
	if took := time.Since(began); err == nil || took > 20*time.Second || !strings.Contains(why(result, "pod")+err.Error(), "timed out") {
		t.Errorf("%v %+v %v", took, result, err)
	}
}

func TestOffers(t *testing.T) {
	privileged := func(limit string) func(p, c map[string]any) {
		return func(_, c map[string]any) { c["resources"] = map[string]any{"limits": map[string]any{"memory": limit}} }
	}
	o, _ := cluster(
		t, none,
		rule{Words: []string{"get pods --all-namespaces --field-selector=spec.nodeName=node-1"}, Stdout: listOf(
			t,
			pod("a", "small", privileged("64Mi")),
			pod("a", "limited", privileged("512Mi")),
			pod("a", "unlimited", nil),
			pod("a", "csi", func(p, c map[string]any) {
				c["volumeMounts"] = []any{map[string]any{"name": "dir", "mountPath": "/var/lib/kubelet", "mountPropagation": "Bidirectional"}}
				p["spec"].(map[string]any)["volumes"] = []any{map[string]any{"name": "dir", "hostPath": map[string]any{"path": "/var/lib/kubelet"}}}
			}),
			pod("a", "web", func(p, _ map[string]any) { delete(p["spec"].(map[string]any), "hostPID") }),
		)},
		noDebug,
	)
	o.DebugImage = "busybox"
	_, result, err := examine(t, o)
	if want := []string{"a/unlimited", "a/limited"}; err == nil || !slices.Equal(result.Offers, want) || !strings.Contains(why(result, "--via"), "only if you name it") {
		t.Errorf("%+v %v, want %q", result, err, want)
	}
	if got := why(result, "kubectl debug"); !strings.Contains(got, "not Ready (NodeStatusUnknown)") {
		t.Errorf("debug: %q", got)
	}
}

// TestRemote is a command as ssh, whose arguments a shell reads on the other side, and one that passes them on.
func TestRemote(t *testing.T) {
	for name, shell := range map[string]bool{"shell": true, "arguments": false} {
		t.Run(name, func(t *testing.T) {
			o, log := cluster(t, rule{Words: []string{"remote node-1 on"}, Run: "on", Shell: shell}, rule{Words: []string{"get"}, Stderr: "Unable to connect to the server: dial tcp 10.0.0.1:6443: connect: connection refused\n", Status: 1})
			o.Remote = []string{o.Kubectl[0], "remote", "{node}", "on"}
			o.DebugImage = "busybox"
			out, result, err := examine(t, o)
			if err != nil || out != examined || !strings.Contains(result.Way, "remote node-1") || len(result.Tried) != 0 {
				t.Errorf("%q %+v %v\n%s", out, result, err, log())
			}
		})
	}
}

func TestNoKubectl(t *testing.T) {
	o, _ := cluster(t)
	o.Kubectl = []string{"kubectl-that-does-not-exist"}
	_, result, err := examine(t, o)
	if err == nil || !strings.Contains(why(result, "DaemonSet"), "not installed") {
		t.Errorf("%+v %v", result, err)
	}
}

func TestCheck(t *testing.T) {
	for _, node := range []string{"", "-x", "node-1; reboot", "$(reboot)", "node_1", "Node", "a/b", "a\nb", "--all", strings.Repeat("a", 254)} {
		if (&Options{}).Check(node) == nil {
			t.Errorf("%q is taken for the name of a node", node)
		}
	}
	for _, o := range []Options{{Via: "pod"}, {Via: "a/b/c/d"}, {Via: "a/-b"}, {Via: "/"}, {Args: []string{"--log=$(reboot)"}}, {Args: []string{"a b"}}, {Args: []string{"'"}}} {
		if o.Check("node-1") == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if err := (&Options{Via: "kube-system/agent-x7z/main", Args: []string{"--api", "--redact=strict"}}).Check("ip-10-0-0-1.eu-west-1.compute.internal"); err != nil {
		t.Error(err)
	}
}

// TestScripts: a script has to survive single quotes in the command lines of other shells.
func TestScripts(t *testing.T) {
	for _, script := range []string{spareScript, placeScript, bringScript, takeLine, passLine, removeScript} {
		if i := strings.IndexAny(script, "'!\\\n"); i >= 0 {
			t.Errorf("%q in %q", script[i], script)
		}
	}
}

// TestLineBeforeTheProgram: shells take the line and no byte of the program behind it, and pass it on in no command line.
func TestLineBeforeTheProgram(t *testing.T) {
	program := strings.Repeat("\x7fELF\x00 \n\\", 20_000)
	for _, shell := range [][]string{{"sh"}, {"busybox", "sh"}, {"bash"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		file := filepath.Join(t.TempDir(), "program")
		cmd := exec.Command(shell[0], append(shell[1:], "-c", takeLine+"cat > "+file+"; type echo; "+passLine+"cat")...)
		cmd.Stdin = strings.NewReader("a-key:0123456789abcdef\n" + program)
		out, err := cmd.Output()
		got, _ := os.ReadFile(file)
		if lines := strings.Split(string(out), "\n"); err != nil || len(lines) != 3 || !strings.Contains(lines[0], "builtin") || lines[1] != "a-key:0123456789abcdef" || string(got) != program {
			t.Errorf("%v: %v, %q, %d of %d bytes", shell, err, out, len(got), len(program))
		}
	}
}

// TestSpareScript reads this process's own group and files.
func TestSpareScript(t *testing.T) {
	for _, shell := range [][]string{{"sh"}, {"busybox", "sh"}, {"bash"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		said, err := runText(t.Context(), time.Minute, append(shell, "-c", spareScript))
		if err != nil || !strings.Contains(said, "seen\n") || !strings.HasSuffix(said, "done\n") {
			t.Errorf("%q: %q %v", shell, said, err)
		}
		if fuse, err := os.Open("/dev/fuse"); err == nil {
			said, _ := runText(t.Context(), time.Minute, append(shell, "-c", spareScript))
			_ = fuse.Close()
			if !strings.Contains(said, "fuse\n") {
				t.Errorf("%q: the open device is not seen: %q", shell, said)
			}
		}
	}
}

// TestSpareScriptOnCgroupV2 gives the script a unified hierarchy: of a container with a cgroup namespace of its own, and of one without.
func TestSpareScriptOnCgroupV2(t *testing.T) {
	if _, err := exec.LookPath("unshare"); err != nil || os.Geteuid() != 0 {
		t.Skip("a mount namespace needs root and unshare")
	}
	for group, below := range map[string]string{"/": "", "/kubepods/pod1/c1": "/kubepods/pod1/c1"} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"cgroup": "0::" + group + "\n", "memory.current": "209715200\n", "memory.stat": "anon 4096\ninactive_file 104857600\nactive_file 7\n", "script": spareScript,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount -t tmpfs tmpfs /sys/fs/cgroup && mkdir -p /sys/fs/cgroup$2 && cp $1/memory.* /sys/fs/cgroup$2/ &&
			mount --bind $1/cgroup /proc/$$/cgroup && exec sh -c "$(cat $1/script)"`, "sh", dir, below)
		out, err := cmd.CombinedOutput()
		if err != nil && strings.Contains(string(out), "ermission denied") {
			t.Skipf("%s", out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(lines) < 4 || lines[0] != "used 209715200" || lines[1] != "inactive_file 104857600" || lines[2] != "seen" || lines[len(lines)-1] != "done" {
			t.Errorf("%s: %v\n%s", group, err, out)
		}
	}
}

func TestQuantity(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "128Mi": 128 << 20, "1G": 1e9, "1.5Gi": 3 << 29, "1000": 1000, "128974848000m": 128974848, "3Ki": 3 << 10, "2Gi": 2 << 30,
		"1Ti": 1 << 40, "1Pi": 1 << 50, "1Ei": 1 << 60, "9Ei": 1 << 62, "7k": 7e3, "5M": 5e6, "1T": 1e12, "1P": 1e15, "1E": 1e18, "x": 1, "1Zi": 1, "-5": 1,
	} {
		if got := quantity(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}
