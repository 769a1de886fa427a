package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/checks/internal/remedy"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// programs are what commands may run, all of them the host's own, and with which options. None of them runs another program that
// its arguments name, but for sh.
var programs = map[string][]string{
	"cat": {"-v"}, "ceph": {"-s"}, "crictl": {"-a", "--prune"}, "ctr": {"-n"}, "dmesg": {"-T"}, "dmsetup": nil, "du": {"-xh", "--max-depth=2", "--threshold=100M"},
	"exportfs": {"-u"}, "find": {"-xdev", "-type"}, "fsfreeze": {"-u"}, "grep": {"-F", "-e"}, //nolint:misspell // exportfs(8)
	"journalctl": {"-u", "-n", "--no-pager", "--vacuum-size=500M", "--vacuum-size=200M"}, "kill": {"-9", "-CONT", "-USR1"},
	"kubectl": {"-n", "-A", "-o", "-c", "--field-selector", "--since=30m"}, "losetup": {"-d"}, "ls": {"-l"}, "multipath": {"-ll"}, "nodeforensics": {"--disk-usage"}, "openssl": {"-noout", "-dates", "-in"},
	"ps": {"-eo", "-o", "-p"}, "sh": {"-c"}, "swapoff": nil, "sysctl": {"-w"}, "systemctl": nil, "umount": {"-c", "-f", "-i", "-l"},
}

// scripts are all that is given to another shell: nothing of the node is in them but a number, and no more than an argument behind them.
var scripts = regexp.MustCompile(`^(echo 1 > /sys/fs/fuse/connections/[1-9][0-9]*/abort|` +
	`echo "-:\$1" >> /sys/kernel/tracing/uprobe_events|` +
	`grep -s "scm_fds:\.\*\[1-9\]" /proc/\[0-9\]\*/fdinfo/\*|` +
	`journalctl -u kubelet \| grep -i register)$`)

// A lie is what a pod, or the author of a file, puts in the place of the names that a scenario has. All are marked.
var lies = map[string]struct {
	lie    func(token string) string
	number func(pid float64) float64
	joints bool // also for one joint after the other
}{
	"a command": {lie: func(s string) string {
		return s + `;marked;$(marked)` + "`marked`" + `|marked&&marked>marked'";marked;\'marked"' -marked`
	}, joints: true},
	"a line":            {lie: func(s string) string { return s + "'\nmarked\n\x1b]0;marked\a\u202emarked\r" }},
	"an option":         {lie: func(string) string { return "--marked=x" }, joints: true},
	"a way up":          {lie: func(s string) string { return s + "/../../../marked" }},
	"numbers of groups": {number: func(pid float64) float64 { return -pid }},
	"number of nobody":  {number: func(float64) float64 { return 0 }},
}

// names are those in the scenarios that a pod, or who wrote the evidence, has a say in: of volumes, servers, programs, pods, claims,
// units, devices. joints are what evidence is joined by: to lie about one of them at a time keeps the rest of a finding.
var (
	names = []string{
		"cephfs-data", "10.0.0.5:6789:/k8s", "10.0.0.9:/x", "/mnt/nfs", "nginx", "node-exporter", "ceph-fuse", "systemd", "postgres", "web", "default", "shop", "cart-0",
		"data-0", "node-1", "mpatha", "/dev/loop3", "/var/log/old", "bcc/malloc", "qemu-arm", "/run/x", "/run/ns/x",
	}
	joints = []string{deadUID, liveUID, kubeletRoot, "/sys/fs/cgroup", "0:47", "containerd", "nodeforensics"}
)

// moreRemedies are scenarios with steps that no other scenario has.
func moreRemedies() map[string][]scenario {
	disk := func(fault backing.Fault, d backing.DiskState) change {
		return both(status(mounts.StatusHung), both(withBacking(fault, "so it is"), func(_ testing.TB, e *forensics.Evidence) {
			e.Backings[0].Disks = []backing.DiskState{d}
		}))
	}
	kernel := holding(func(h *forensics.MountUse) {
		for use, what := range map[holders.KernelUse]string{
			holders.UseLoop: "/dev/loop3", holders.UseSwap: deadPoint + "/swap", holders.UseExport: deadPoint, holders.UseBinfmt: "/proc/sys/fs/binfmt_misc/qemu-arm",
			holders.UseUprobe: "bcc/malloc", holders.UseSocket: deadPoint + "/socket", holders.UseMount: deadPoint + "/a",
		} {
			h.Kernel = append(h.Kernel, holders.KernelUser{Use: use, What: what, MountID: 60, Device: "0:47", Blocks: true})
		}
		slices.SortFunc(h.Kernel, func(a, b holders.KernelUser) int { return strings.Compare(string(a.Use), string(b.Use)) })
	})
	return map[string][]scenario{
		"mount-disconnected": {{name: "its server lives", base: sickNode, change: both(status(mounts.StatusDisconnected), server("S", "ceph-fuse"))}},
		"pod-terminating-stuck": {{name: "no vol_data.json", base: wellNode, change: both(deleting("volumes", "10:05:00", nil),
			tells(event(logs.KindCSIVolDataMissing, 9, "10:05:01", "10:12:00", logs.Subject{PodUID: deadUID, PodName: "default/db", Path: deadPoint})))}},
		"unmount-busy": {{name: "all that the kernel has", base: sickNode, change: kernel}},
		"mount-hung": {
			{name: "no path", base: sickNode, change: disk(backing.FaultNoPath, backing.DiskState{Kind: "multipath", Name: "dm-0", Map: "mpatha"})},
			{name: "suspended", base: sickNode, change: disk(backing.FaultSuspended, backing.DiskState{Kind: "dm", Name: "dm-0", Map: "mpatha", Suspended: true})},
			{name: "traced", base: sickNode, change: server("t", "ceph-fuse")},
			{name: "Ceph", base: sickNode, change: both(status(mounts.StatusHung), both(withBacking(backing.FaultLost, "so it is"), func(_ testing.TB, e *forensics.Evidence) {
				e.Backings[0].Ceph = &backing.CephState{}
			}))},
		},
	}
}

// lied is evidence, as decoded JSON, with lies in the place of some tokens; false if it has none of them. The tree stays as it is.
func lied(t testing.TB, tree any, lie func(string) string, number func(float64) float64, tokens []string) (forensics.Evidence, bool) {
	t.Helper()
	var pairs []string
	for _, token := range tokens {
		if lie != nil {
			pairs = append(pairs, token, lie(token))
		}
	}
	replacer, changed := strings.NewReplacer(pairs...), false
	var walk func(key string, v any) any
	walk = func(key string, v any) any {
		switch v := v.(type) {
		case map[string]any:
			all := make(map[string]any, len(v))
			for k := range v {
				all[k] = walk(k, v[k])
			}
			return all
		case []any:
			all := make([]any, len(v))
			for i := range v {
				all[i] = walk(key, v[i])
			}
			return all
		case float64:
			if number != nil && (key == "pid" || key == "tid") {
				changed = true
				return number(v)
			}
		case string:
			dump := replacer.Replace(v)
			changed = changed || dump != v
			return dump
		}
		return v
	}
	tree = walk("", tree)
	var out forensics.Evidence
	if !changed {
		return out, false
	}
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, true
}

// TestRemediesOfLies runs each check over its scenarios, with lies in place of names, and takes apart what the reader is told
// to do: it has to be safe to run, and to paste into the shell of root, whatever the node says.
func TestRemediesOfLies(t *testing.T) {
	t.Parallel()
	seen, withLies := map[string]bool{}, 0
	judge := func(e *forensics.Evidence, check forensics.Check, what string) (steps int) {
		a := forensics.Analyze(e, []forensics.Check{check})
		if o := a.Outcomes[0]; o.Status == forensics.OutcomeFailed {
			t.Errorf("%s, %s: %s", check.ID, what, o.Reason)
		}
		for _, f := range a.Findings {
			for _, r := range f.Remedies {
				if steps++; strings.Contains(r.String(), "marked") {
					withLies++
				}
				if err := safe(r, seen); err != nil {
					t.Errorf("%s, %s: %q: %v", check.ID, what, r.String(), err)
				}
			}
		}
		return steps
	}
	for _, check := range All() {
		for _, s := range append(slices.Clone(scenarios[check.ID]), moreRemedies()[check.ID]...) {
			e := s.base(t)
			if s.change != nil {
				s.change(t, &e)
			}
			if judge(&e, check, s.name) == 0 {
				continue
			}
			var tree any
			text, err := json.Marshal(e)
			if err == nil {
				err = json.Unmarshal(text, &tree)
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range lies {
				groups := [][]string{names}
				for _, joint := range joints {
					if c.joints {
						groups = append(groups, []string{joint})
					}
				}
				for _, tokens := range groups {
					if e, changed := lied(t, tree, c.lie, c.number, tokens); changed {
						judge(&e, check, fmt.Sprintf("%s, %s in place of %s", s.name, name, tokens[0]))
					}
				}
			}
		}
	}
	if withLies < 200 {
		t.Errorf("only %d steps have a lie in them", withLies)
	}
	for program := range programs {
		if !seen[program] {
			t.Errorf("no step runs %s: is it still allowed for a reason?", program)
		}
	}
}

// safe says why a step is not safe, and notes what it runs.
func safe(r forensics.Remedy, seen map[string]bool) error {
	if len(r.Command) == 0 {
		return safeInstruction(r.Instruction)
	}
	words, _, err := shellWords(r.String())
	if err != nil {
		return err
	}
	for i, w := range words {
		if w.operator || i >= len(r.Command) || w.text != r.Command[i] {
			return fmt.Errorf("a shell reads %q of it", w.text)
		}
	}
	return safeCommand(r.Command, seen)
}

// safeInstruction says why a sentence does harm if somebody pastes it.
func safeInstruction(sentence string) error {
	_, bare, err := shellWords(sentence)
	switch {
	case sentence == "" || sentence[0] < 'A' || 'Z' < sentence[0]:
		return errors.New("it is no sentence")
	case !strings.Contains(sentence, "marked"):
		return nil // of the program's own words
	case err != nil:
		return err
	case strings.ContainsAny(bare, ";&|<>"):
		return fmt.Errorf("what the node says is not quoted: %q", bare)
	case strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r > '~' && r != '…' }):
		return fmt.Errorf("unquoted control characters: %q", bare)
	case strings.ContainsAny(bare, "`$"):
		return fmt.Errorf("it expands something: %q", bare)
	}
	return nil
}

// safeCommand says why a command is not safe to run.
func safeCommand(words []string, seen map[string]bool) error {
	program := words[0]
	options, known := programs[program]
	if !known {
		return fmt.Errorf("it runs %q", program)
	}
	seen[program] = true
	if program == "sh" && (len(words) < 3 || words[1] != "-c" || !scripts.MatchString(words[2])) {
		return errors.New("it runs a shell")
	}
	for i, w := range words[1:] {
		switch {
		case words[i] == "-e": // its value, whatever that is
		case program == "sh" && i == 1: // the script
		case strings.HasPrefix(w, "-") && !slices.Contains(options, w):
			return fmt.Errorf("%q is an option of %s", w, program)
		case program == "kill" && !strings.HasPrefix(w, "-") && !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(w):
			return fmt.Errorf("it kills %q", w)
		case regexp.MustCompile(`^/proc/[0-9]+/(root|cwd|exe|fd)\b`).MatchString(w) || strings.Contains(w+"/", "/../"):
			return fmt.Errorf("%q leads elsewhere", w)
		case program == "systemctl" && strings.Contains(w, "marked"), program == "kubectl" && strings.Contains(w, "marked"),
			program == "sh" && strings.Contains(w, "marked"):
			return fmt.Errorf("%q is no name of an object", w)
		}
	}
	return nil
}

// A shellWord is a word of a command line as bash sees it, or an operator between words.
type shellWord struct {
	text     string
	operator bool
}

var (
	shellToken = regexp.MustCompile(`^(?:(\s+)|(;|&&|\|\||\||>>|>|<|&)|'([^']*)'|\$'((?:[^'\\]|\\.)*)'|(\\.)|([^\s;&|<>'\\]))`)
	shellBytes = regexp.MustCompile(`\\(x[0-9a-f]{2}|.)`)
)

// shellWords splits a line into words; bare is what is not quoted of it.
func shellWords(line string) (words []shellWord, bare string, err error) {
	inWord := false
	add := func(text string) {
		if !inWord {
			words, inWord = append(words, shellWord{}), true
		}
		words[len(words)-1].text += text
	}
	for line != "" {
		m := shellToken.FindStringSubmatch(line)
		if m == nil {
			return nil, "", fmt.Errorf("a quote is not closed: %q", line)
		}
		switch line = line[len(m[0]):]; {
		case m[1] != "":
			inWord, bare = false, bare+m[1]
		case m[2] != "":
			words, inWord, bare = append(words, shellWord{m[2], true}), false, bare+m[2]
		case strings.HasPrefix(m[0], "$'"):
			add(shellBytes.ReplaceAllStringFunc(m[4], func(s string) string {
				var b byte
				if n, _ := fmt.Sscanf(s, `\x%02x`, &b); n == 1 {
					return string([]byte{b})
				}
				return s[1:]
			}))
		case m[0][0] == '\'':
			add(m[3])
		case m[5] != "":
			add(m[5][1:])
		default:
			add(m[6])
			bare += m[6]
		}
	}
	return words, bare, nil
}

// TestUnsafeSteps has the judge of the test above refuse what is not safe.
func TestUnsafeSteps(t *testing.T) {
	for _, tt := range []struct {
		want    string
		command []string
	}{
		{"", []string{"umount", "-c", "/a/b"}},
		{"", []string{"umount", "-c", "/a b;marked"}},
		{"", []string{"umount", "-c", "/a\nmarked'b"}},
		{"", []string{"sh", "-c", "echo 1 > /sys/fs/fuse/connections/47/abort"}},
		{"", []string{"sh", "-c", `echo "-:$1" >> /sys/kernel/tracing/uprobe_events`, "sh", "a/b"}},
		{"", []string{"grep", "-F", "-e", "--marked", "/proc/self/mountinfo"}},
		{"is an option", []string{"grep", "-F", "--marked", "/proc/self/mountinfo"}},
		{"it runs", []string{"nsenter", "-m", "-t", "5", "umount", "-c", "/a"}},
		{"is an option", []string{"umount", "-a"}},
		{"is an option", []string{"kill", "--", "-1"}},
		{"it kills", []string{"kill", "0"}},
		{"leads elsewhere", []string{"cat", "/proc/5/root/etc/passwd"}},
		{"leads elsewhere", []string{"find", "/a/../b", "-type", "f"}},
		{"a shell", []string{"sh", "-c", "marked"}},
		{"a shell", []string{"sh", "-c", "echo 1 > /sys/fs/fuse/connections/47/abort; marked"}},
		{"a shell", []string{"sh", "x"}},
		{"no name", []string{"kubectl", "delete", "pod", "marked"}},
		{"it runs", []string{"Look", "at", "it"}},
	} {
		wantUnsafe(t, forensics.Remedy{Command: tt.command}, tt.want)
	}
	for sentence, want := range map[string]string{
		"Look at 'a;marked'": "", "Look at the disk's state": "", "Look at the disk's 'a;marked'": "not closed", "Look at the disk's 'a;marked' and it's": "not quoted",
		"Look at a\nmarked": "control", "Look at $(marked)": "expands", "": "no sentence", "umount -c /a": "no sentence",
	} {
		wantUnsafe(t, forensics.Remedy{Instruction: sentence}, want)
	}
}

func wantUnsafe(t *testing.T, r forensics.Remedy, want string) {
	t.Helper()
	err := safe(r, map[string]bool{})
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%q: %v, want %q", r.String(), err, want)
	}
}

// TestActions holds each step to what its action means: a command fits to it, and what changes something says when and at which risk.
func TestActions(t *testing.T) {
	t.Parallel()
	// What a command is for, by its first words.
	fits := []struct{ command, actions string }{
		{"kill -CONT ", "resume"},
		{"kill -USR1 ", "dump"},
		{"kill ", "stop end-namespace"},
		{"umount -c -l ", "detach"},
		{"umount -c -f ", "abort unmount"},
		{"umount -i -c -f ", "abort unmount"},
		{"umount -c ", "unmount end-namespace"},
		{"systemctl restart ", "restart end-namespace"},
		{"systemctl status ", "look"},
		{"kubectl cordon ", "configure"},
		{"kubectl ", "look"},
		{"sh -c 'echo 1 > /sys/fs/fuse", "abort"},
		{"sh -c 'echo \"-:$1", "free"},
		{"sh -c ", "look"},
		{"fsfreeze -u ", "resume"},
		{"dmsetup resume ", "resume"},
		{"nodeforensics plan ", "clean-up"},
		{"nodeforensics", "look"},
		{"crictl rmi ", "free"},
		{"crictl ", "look"},
		{"ctr -n k8s.io images import ", "repair"},
		{"ctr -n k8s.io images label ", "configure"},
		{"journalctl --vacuum", "free"},
		{"sysctl -w vm.drop_caches", "free"},
		{"swapoff ", "free"},
		{"losetup -d ", "free"},
		{"exportfs -u ", "free"}, //nolint:misspell // exportfs(8)
		{"cat ", "look"},
		{"ceph -s", "look"},
		{"dmesg ", "look"},
		{"du ", "look"},
		{"find ", "look"},
		{"grep ", "look"},
		{"journalctl -u ", "look"},
		{"ls ", "look"},
		{"multipath -ll ", "look"},
		{"openssl x509 -noout ", "look"},
		{"ps ", "look"},
	}
	// What needs no condition, since it is the reader who decides what it is about.
	always := []forensics.Action{remedy.ActionLook, remedy.ActionDump, remedy.ActionWait, remedy.ActionNoRestart, remedy.ActionConfigure, remedy.ActionRepair, remedy.ActionFree}
	seen := map[forensics.Action]bool{}
	for _, check := range All() {
		for _, s := range append(slices.Clone(scenarios[check.ID]), moreRemedies()[check.ID]...) {
			e := s.base(t)
			if s.change != nil {
				s.change(t, &e)
			}
			for _, f := range forensics.Analyze(&e, []forensics.Check{check}).Findings {
				for _, r := range f.Remedies {
					seen[r.Action] = true
					if r.Risk == "" || r.Why == "" || r.OnlyIf == "" && len(r.Command) > 0 && !slices.Contains(always, r.Action) {
						t.Errorf("%s, %s: step %q: why %q, only if %q, risk %q", check.ID, s.name, r.String(), r.Why, r.OnlyIf, r.Risk)
					}
					i := slices.IndexFunc(fits, func(c struct{ command, actions string }) bool { return strings.HasPrefix(r.String(), c.command) })
					if len(r.Command) > 0 && (i < 0 || !slices.Contains(strings.Fields(fits[i].actions), string(r.Action))) {
						t.Errorf("%s, %s: the action of %q is %s", check.ID, s.name, r.String(), r.Action)
					}
				}
			}
		}
	}
	for _, action := range []forensics.Action{
		remedy.ActionLook, remedy.ActionDump, remedy.ActionWait, remedy.ActionNoRestart, remedy.ActionConfigure, remedy.ActionRepair, remedy.ActionResume, remedy.ActionAbort, remedy.ActionStop,
		remedy.ActionRestart, remedy.ActionDeletePod, remedy.ActionFree, remedy.ActionUnmount, remedy.ActionDetach, remedy.ActionEndNamespace, remedy.ActionCleanUp,
	} {
		if !seen[action] {
			t.Errorf("no step has the action %s", action)
		}
	}
}
