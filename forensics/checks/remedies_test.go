package checks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/backing"
	"github.com/nodeforensics/nodeforensics/forensics/holders"
	"github.com/nodeforensics/nodeforensics/forensics/mounts"
)

// programs are what commands may run, all of them the host's own, and with which options. None of them runs another program that
// its arguments name.
var programs = map[string][]string{
	"cat": {"-v"}, "ceph": {"-s"}, "crictl": {"-a", "--prune"}, "ctr": {"-n"}, "dmesg": {"-T"}, "dmsetup": nil, "du": {"-xh", "--max-depth=2"},
	"echo": {"-:bcc/malloc"}, "exportfs": {"-u"}, "find": {"-xdev", "-type"}, "fsfreeze": {"-u"}, "grep": {"-s", "-i", "-E", "-F", "-e"}, //nolint:misspell // exportfs(8)
	"journalctl": {"-u", "-n", "--no-pager", "--vacuum-size=500M", "--vacuum-size=200M"}, "kill": {"-9", "-CONT", "-USR1"},
	"kubectl": {"-n", "-A", "-o", "-c", "--field-selector", "--since=30m"}, "losetup": {"-d"}, "ls": {"-l"}, "multipath": {"-ll"}, "nodeforensics": {"--disk-usage", "--token-file"},
	"ps": {"-eo", "-o", "-p"}, "sort": {"-h"}, "swapoff": nil, "systemctl": nil, "tail": {"-n"}, "umount": {"-c", "-f", "-i", "-l"}, "sh": nil,
}

// written are the files that commands may write to: those of the kernel that take orders, and what the reader saves.
var written = regexp.MustCompile(`^(/sys/fs/fuse/connections/[1-9][0-9]*/abort|/proc/sys/vm/drop_caches|/sys/kernel/tracing/uprobe_events|plan\.sh)$`)

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
		"unmount-busy":       {{name: "all that the kernel has", base: sickNode, change: kernel}},
		"mount-hung": {
			{name: "no path", base: sickNode, change: disk(backing.FaultNoPath, backing.DiskState{Kind: "multipath", Name: "dm-0", Map: "mpatha"})},
			{name: "suspended", base: sickNode, change: disk(backing.FaultSuspended, backing.DiskState{Kind: "dm", Name: "dm-0", Map: "mpatha", Suspended: true})},
			{name: "Ceph", base: sickNode, change: both(status(mounts.StatusHung), both(withBacking(backing.FaultLost, "so it is"), func(_ testing.TB, e *forensics.Evidence) {
				e.Backings[0].Ceph = &backing.CephState{}
			}))},
		},
	}
}

// lied is evidence, as JSON, with lies in the place of some tokens; false if it has none of them.
func lied(t testing.TB, text []byte, lie func(string) string, number func(float64) float64, tokens []string) (forensics.Evidence, bool) {
	t.Helper()
	if number == nil && !slices.ContainsFunc(tokens, func(token string) bool { return bytes.Contains(text, []byte(token)) }) {
		return forensics.Evidence{}, false
	}
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
			for k := range v {
				v[k] = walk(k, v[k])
			}
		case []any:
			for i := range v {
				v[i] = walk(key, v[i])
			}
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
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	var out forensics.Evidence
	text, err := json.Marshal(walk("", tree))
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, changed
}

// TestRemediesOfLies runs each check over its scenarios, with lies in place of names, and takes apart what the reader is told
// to do: it has to be safe to paste into the shell of root, whatever the node says.
func TestRemediesOfLies(t *testing.T) {
	seen, withLies := map[string]bool{}, 0
	judge := func(e *forensics.Evidence, check forensics.Check, what string) (steps int) {
		for _, f := range forensics.Analyze(e, []forensics.Check{check}).Findings {
			for _, r := range f.Remedies {
				if steps++; strings.Contains(r.Command, "marked") {
					withLies++
				}
				if err := safe(r.Command, seen); err != nil {
					t.Errorf("%s, %s: %q: %v", check.ID, what, r.Command, err)
				}
			}
		}
		return steps
	}
	for _, check := range All() {
		for _, s := range append(slices.Clone(allScenarios()[check.ID]), moreRemedies()[check.ID]...) {
			e := s.base(t)
			if s.change != nil {
				s.change(t, &e)
			}
			if judge(&e, check, s.name) == 0 {
				continue
			}
			text, err := json.Marshal(e)
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
					if e, changed := lied(t, text, c.lie, c.number, tokens); changed {
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

// safe says why a step of a report is not safe to paste, and notes what it runs.
func safe(step string, seen map[string]bool) error {
	words, bare, err := shellWords(step)
	sentence := step != "" && 'A' <= step[0] && step[0] <= 'Z'
	switch {
	case sentence && !strings.Contains(step, "marked"):
		return nil // of the program's own words
	case err != nil:
		return err
	case sentence && strings.ContainsAny(bare, ";&|<>"):
		return fmt.Errorf("what the node says is not quoted: %q", bare)
	case strings.ContainsFunc(bare, func(r rune) bool { return r < ' ' || r > '~' && r != '…' }):
		return fmt.Errorf("unquoted control characters: %q", bare)
	case step == "" || strings.ContainsAny(bare, "`$"):
		return fmt.Errorf("it is empty, or expands something: %q", bare)
	case sentence:
		return nil
	}
	for i := 0; i < len(words); i++ {
		end := i
		for end < len(words) && !words[end].operator {
			end++
		}
		if err := safeCommand(words[i:end], seen); err != nil {
			return err
		}
		for i = end; i+1 < len(words) && strings.HasPrefix(words[i].text, ">"); i += 2 {
			if !written.MatchString(words[i+1].text) {
				return fmt.Errorf("it writes to %q", words[i+1].text)
			}
		}
	}
	return nil
}

// safeCommand says why one command of a line is not safe.
func safeCommand(words []shellWord, seen map[string]bool) error {
	if len(words) == 0 {
		return fmt.Errorf("an empty command")
	}
	program := words[0].text
	options, known := programs[program]
	if !known {
		return fmt.Errorf("it runs %q", program)
	}
	seen[program] = true
	if program == "sh" && (len(words) != 2 || words[1].text != "plan.sh") {
		return fmt.Errorf("it runs a shell")
	}
	for i, w := range words[1:] {
		switch {
		case words[i].text == "-e": // its value, whatever that is
		case strings.HasPrefix(w.text, "-") && !slices.Contains(options, w.text):
			return fmt.Errorf("%q is an option of %s", w.text, program)
		case program == "kill" && !strings.HasPrefix(w.text, "-") && !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(w.text):
			return fmt.Errorf("it kills %q", w.text)
		case regexp.MustCompile(`^/proc/[0-9]+/(root|cwd|exe|fd)\b`).MatchString(w.text) || strings.Contains(w.text+"/", "/../"):
			return fmt.Errorf("%q leads elsewhere", w.text)
		case program == "systemctl" && strings.Contains(w.text, "marked"), program == "kubectl" && strings.Contains(w.text, "marked"):
			return fmt.Errorf("%q is no name of an object", w.text)
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

// TestShellWords has the judge of the test above refuse what is not safe.
func TestShellWords(t *testing.T) {
	for step, want := range map[string]string{
		"umount -c /a/b": "", "umount -c '/a b;marked'": "", `umount -c $'/a\x0amarked\'b'`: "", "ceph -s; ceph fs status": "", "Look at 'a;marked'": "", "Look at the disk's state": "", "Look at the disk's 'a;marked'": "not closed", "Look at the disk's 'a;marked' and it's": "not quoted",
		"echo 1 > /sys/fs/fuse/connections/47/abort": "", "dmesg -T | tail -n 200": "", "grep -F -e --marked /proc/self/mountinfo": "", "grep -F --marked /proc/self/mountinfo": "is an option",
		"nsenter -m -t 5 umount -c /a": "it runs", "umount -c /a;marked": "it runs", "umount -a": "is an option", "kill -- -1": "is an option",
		"kill 0": "it kills", "cat /proc/5/root/etc/passwd": "leads elsewhere", "echo x > /etc/passwd": "it writes to", "umount -c '/a": "not closed",
		"sh -c marked": "a shell", "sh x": "a shell", "Look at a\nmarked": "control", "Look at $(marked)": "expands", "umount -c /a\tb\x1b": "control",
		"find /a/../b -type f": "leads elsewhere", "kubectl delete pod 'marked'": "no name", "": "empty", "ls; ; ls": "empty command",
	} {
		err := safe(step, map[string]bool{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", step, err, want)
		}
	}
}
