package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodeforensics/nodeforensics/internal/reach"
	"github.com/nodeforensics/nodeforensics/report"
)

// nodeFlags are those of the command that reaches nodes.
type nodeFlags struct {
	reach.Options
	output                       outputFlags
	kubectl, context, kubeconfig string
	ssh, binary                  string
	noDebug, imageGiven          bool
	keyName                      string // of the key that nodes mask with
	all                          bool
	selector, list               string
	parallel                     int
	wait                         time.Duration // --timeout
}

// usualNamespace is that of the DaemonSet.
const usualNamespace = "nodeforensics"

// pluginName is that of the same program as a plugin of kubectl.
const pluginName = "kubectl-nodeforensics"

// pluginArgs are the arguments of the command "node" where kubectl runs this program with those of another: kubectl nodeforensics NODE.
func pluginArgs(name string, args []string, isCommand func(string) bool) []string {
	if !strings.HasPrefix(filepath.Base(name), pluginName) || len(args) > 0 && (isCommand(args[0]) || args[0] == "--version") {
		return args
	}
	return append([]string{"node"}, args...)
}

func (a *app) nodeCommand() *cobra.Command {
	var f nodeFlags
	cmd := &cobra.Command{
		Use:   "node NODE|--all",
		Short: "Examine a node of a cluster, or all nodes, by way of kubectl or ssh",
		Long: `node examines a node of a cluster without logging on to it. As the plugin
kubectl-nodeforensics, which is the same program, it is kubectl nodeforensics.

It tries these ways, in this order, and says which one it has taken. For a
single node, --via or --ssh comes first if you give it:

  1. a pod of the DaemonSet of nodeforensics (nodeforensics install)
  2. --via: a privileged pod with hostPID that already runs on the node. It is
     used only if you name it. It needs a shell, and 128 MiB below its memory
     limit. A pod that serves FUSE mounts is not used.
  3. kubectl debug: a new pod, which is deleted afterwards. A node that is not
     Ready does not start it.
  4. --ssh: a command such as 'ssh {node} sudo'. It must not ask for a password.

Where the program is not on the node (2 to 4), it is sent, checked there by its
checksum, and removed afterwards.

--all examines all nodes, or those of --selector or --nodes. Reports are stored
in --output-dir while they arrive. If you start it again with the same
directory, only the nodes without a report are examined.

--redact=strict has each node mask names before its report leaves it. With --all,
all nodes mask with one key, so that a name has the same placeholder in all
reports, and fleet joins them. Files and nodes are called by placeholders, too;
only the terminal says which node is which. The key is in the file
` + keyFile + ` in --output-dir (or in that of --redact-key). Who has it can
test guesses of names: do not pass it on with the reports. Each node gets it over
standard input, and in no command line.

Arguments after -- are passed to nodeforensics on the node.`,
		Example: `  # Examine a node.
  kubectl nodeforensics node-1

  # Use a pod that already runs there.
  kubectl nodeforensics node-1 --via kube-system/node-agent-x7x2p

  # Use ssh, if the kubelet does not respond.
  kubectl nodeforensics node-1 --ssh 'ssh -o BatchMode=yes {node} sudo'

  # Examine all nodes.
  kubectl nodeforensics --all --output-dir /tmp/cluster

  # Without the plugin, and with arguments for the examination.
  nodeforensics node node-1 --redact=strict -- --api

  # Examine all nodes, and mask names with one key.
  kubectl nodeforensics --all --redact=strict --output-dir /tmp/masked`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.imageGiven = cmd.Flags().Changed("image")
			var more []string
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, more = args[:dash], args[dash:]
			}
			if err := f.validate(args, more); err != nil {
				return err
			}
			a.signals.note = "interrupted: ending the examination; interrupt again to end at once"
			if f.all {
				return a.examineAll(&f)
			}
			return a.examineNode(&f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.Via, "via", "", "use this `POD` that runs on the node: NAMESPACE/POD or NAMESPACE/POD/CONTAINER")
	fs.StringVar(&f.DebugImage, "image", "busybox:1.36", "`IMAGE` of the debug pod; it needs a shell. With --all, debug pods are started only if this is given")
	fs.BoolVar(&f.noDebug, "no-debug", false, "start no debug pod")
	fs.StringVar(&f.ssh, "ssh", "", "`COMMAND` that runs a command on a node; {node} is replaced by its name. It is split at blanks; quotes keep blanks")
	fs.StringVar(&f.binary, "binary", "", "send this `FILE` to the node (default: this program, or nodeforensics-linux-amd64 or -arm64 in its directory)")
	fs.StringVar(&f.kubectl, "kubectl", "kubectl", "`COMMAND` to run instead of kubectl, such as 'k3s kubectl'; it is split like --ssh")
	fs.StringVar(&f.context, "context", "", "`NAME` of the context of the kubeconfig")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` with the kubeconfig")
	fs.StringVarP(&f.Namespace, "namespace", "n", usualNamespace, "`NAMESPACE` of the DaemonSet")
	fs.BoolVar(&f.all, "all", false, "examine all nodes, and store the reports in --output-dir")
	fs.StringVarP(&f.selector, "selector", "l", "", "examine the nodes with these `LABELS`; implies --all")
	fs.StringVar(&f.list, "nodes", "", "examine the nodes whose names are in `FILE`, one a line; - is standard input; implies --all")
	fs.IntVar(&f.parallel, "parallel", 32, "examine this `NUMBER` of nodes at a time")
	fs.DurationVar(&f.wait, "timeout", 3*time.Minute, "end within this time; with --all, give up a node after this time")
	f.output.register(cmd)
	f.output.registerRedact(cmd)
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
	return cmd
}

// validate checks the flags and makes the options.
func (f *nodeFlags) validate(args, more []string) (err error) {
	f.all = f.all || f.selector != "" || f.list != ""
	switch {
	case f.all && len(args) > 0:
		return usagef("--all, --selector and --nodes want no NODE")
	case !f.all && len(args) != 1:
		return usagef("got %d names of nodes; want one, or --all", len(args))
	case f.selector != "" && f.list != "":
		return usagef("--selector and --nodes exclude each other")
	case strings.HasPrefix(f.selector, "-"):
		return usagef("--selector %q: want labels, as for kubectl", f.selector)
	case f.parallel < 1 || f.parallel > 256:
		return usagef("--parallel %d: want 1 to 256", f.parallel)
	case f.wait < 5*time.Second:
		return usagef("--timeout %v: want at least 5s", f.wait)
	case f.all && f.Via != "":
		return usagef("--via is one pod of one node; it cannot be used with --all")
	case f.all && slices.ContainsFunc(more, func(arg string) bool { return strings.HasPrefix(arg, "--redact") }):
		return usagef("with --all, give --redact before --")
	case f.all && f.output.format != "":
		return usagef("--output: with --all, reports are stored in --output-dir")
	case f.binary != "" && isStream(f.binary):
		return usagef("--binary: want a file")
	}
	if f.Kubectl, err = words(f.kubectl); err != nil || len(f.Kubectl) == 0 {
		return usagef("--kubectl %q: want a command: %v", f.kubectl, err)
	}
	if f.Remote, err = words(f.ssh); err != nil {
		return usagef("--ssh %q: %v", f.ssh, err)
	}
	if len(f.Remote) > 0 && !strings.Contains(f.ssh, "{node}") {
		return usagef("--ssh %q: it has no {node}, so every node would be the same", f.ssh)
	}
	if f.context != "" {
		f.Kubectl = append(f.Kubectl, "--context="+f.context)
	}
	if f.kubeconfig != "" {
		f.Kubectl = append(f.Kubectl, "--kubeconfig="+f.kubeconfig)
	}
	if f.noDebug || f.all && !f.imageGiven {
		f.DebugImage = ""
	}
	if strings.HasPrefix(f.DebugImage, "-") || strings.HasPrefix(f.Namespace, "-") {
		return usagef("--image and --namespace: want a name")
	}
	f.Examination = min(90*time.Second, f.wait)
	f.Args = []string{"--output=json", "--gzip", "--timeout=" + min(time.Minute, f.wait*2/3).String()}
	if f.output.redact == redactStrict {
		f.Args = append(f.Args, "--redact="+redactStrict)
	}
	f.Args = append(f.Args, more...)
	f.Most = maxPacked
	if err := f.Check(args...); err != nil {
		return usageError{err}
	}
	return f.output.validate()
}

// maxPacked is how many bytes of a compressed report are taken. The largest reports have 3 MB so.
const maxPacked = 32 << 20

// words splits a command as a shell does, without doing anything else that one does.
func words(command string) (list []string, err error) {
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				list = append(list, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		list = append(list, word.String())
	}
	return list, nil
}

// examineNode examines one node, and delivers its report as an examination does.
func (a *app) examineNode(f *nodeFlags, node string) error {
	ctx, cancel := a.untilInterrupted(f.wait)
	defer cancel()
	f.Binary = f.binaries()
	f.Say = func(text string) { a.note("%s", printable(text)) }
	if f.output.redactKey != "" {
		key, _, err := f.output.sharedKey()
		if err != nil {
			return err
		}
		f.useKey(key)
	}
	got, err := a.fetch(ctx, f, node, nil)
	if err != nil {
		return err
	}
	if got.err != nil {
		a.complain("%s: %v", node, got.err)
		if a.wasInterrupted() {
			return nil
		}
		for _, line := range explain(node, got, f.ssh != "") {
			a.err.printf("  %s\n", printable(line))
		}
		return nil
	}
	a.note("%s: examined by way of: %s", node, printable(got.Way))
	r, err := a.unpackReport(got.packed, f.nameOf(node))
	if err != nil {
		return fmt.Errorf("the report of %s: %w", node, err)
	}
	if err := f.checkKey(&r); err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	if err := a.write(f.output, r); err != nil {
		return err
	}
	a.fail(f.output, r)
	return nil
}

// explain says what was tried, and what can be done. remote: --ssh was given.
func explain(node string, got *fetched, remote bool) (lines []string) {
	for _, t := range got.Tried {
		lines = append(lines, t.Way+": "+t.Why)
	}
	if len(got.Offers) > 0 {
		lines = append(lines, "Pods on the node that can be used; choose one:")
		for _, pod := range got.Offers {
			lines = append(lines, "  kubectl nodeforensics "+node+" --via "+pod)
		}
	}
	if remote {
		return lines
	}
	return append(lines, "If you can log on to the node:", "  kubectl nodeforensics "+node+" --ssh 'ssh {node} sudo'")
}

// untilInterrupted is a context that ends after a time, or when the program is told to end.
func (a *app) untilInterrupted(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	interrupted := a.interrupts()
	go func() {
		select {
		case <-interrupted:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// fetched is the report of a node, compressed, in a file that has no name any more where the system allows that.
type fetched struct {
	reach.Result
	err    error // no way worked
	packed *os.File
}

func (g *fetched) close() {
	if g.packed != nil {
		_ = g.packed.Close()
		_ = os.Remove(g.packed.Name())
	}
}

// fetch examines a node. An error is one of this machine.
func (a *app) fetch(ctx context.Context, f *nodeFlags, node string, known *reach.Pods) (*fetched, error) {
	packed, err := os.CreateTemp("", "nodeforensics-*")
	if err != nil {
		return nil, err
	}
	got := &fetched{packed: packed}
	got.Result, got.err = f.Examine(ctx, node, known, packed, func() error {
		_, err := packed.Seek(0, io.SeekStart)
		return errors.Join(err, packed.Truncate(0))
	})
	for _, left := range got.Left {
		a.warn("%s: left behind: %s", node, left)
	}
	if got.err != nil {
		got.close()
		return got, nil
	}
	return got, nil
}

// unpackReport reads the report that a node has sent, within the limits of "render", and masks what it may not have masked.
// The name is that of the node in the cluster, by which it was reached, if that may be said.
func (a *app) unpackReport(packed *os.File, name string) (report.Report, error) {
	defer func() { _ = os.Remove(packed.Name()) }()
	defer func() { _ = packed.Close() }()
	if _, err := packed.Seek(0, io.SeekStart); err != nil {
		return report.Report{}, err
	}
	hash := sha256.New()
	text, err := gzip.NewReader(bufio.NewReader(packed))
	if err != nil {
		head := make([]byte, 200)
		n, _ := packed.ReadAt(head, 0)
		return report.Report{}, fmt.Errorf("it is not compressed JSON: %q", bytes.TrimSpace(head[:n]))
	}
	r, err := report.Read(io.TeeReader(text, hash))
	if err != nil {
		return report.Report{}, err
	}
	r.Node.Name = cmp.Or(name, r.Node.Name)
	return r, a.redactReport(&r, [sha256.Size]byte(hash.Sum(nil)), time.Now().Add(time.Minute))
}

// nameOf is the name of a node, unless names are masked in its report.
func (f *nodeFlags) nameOf(node string) string {
	if slices.ContainsFunc(f.Args, func(arg string) bool { return strings.HasSuffix(arg, redactStrict) }) {
		return ""
	}
	return node
}

// binaries finds the program for an architecture: --binary, this program, or one beside it.
func (f *nodeFlags) binaries() func(arch string) (reach.Binary, error) {
	var mu sync.Mutex
	known := map[string]reach.Binary{}
	return func(arch string) (reach.Binary, error) {
		mu.Lock()
		defer mu.Unlock()
		if b, ok := known[arch]; ok {
			return b, nil
		}
		b, err := f.findBinary(arch)
		if err == nil {
			known[arch] = b
		}
		return b, err
	}
}

func (f *nodeFlags) findBinary(arch string) (reach.Binary, error) {
	if f.binary != "" {
		b, err := binaryFor(f.binary, arch)
		if err != nil {
			return b, fmt.Errorf("--binary %s: %w", f.binary, err)
		}
		return b, nil
	}
	self, err := os.Executable()
	if err != nil {
		return reach.Binary{}, err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	beside := filepath.Join(filepath.Dir(self), "nodeforensics-linux-"+arch)
	candidates := []string{beside}
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		candidates = []string{self, beside}
	}
	for _, name := range candidates {
		b, err := binaryFor(name, arch)
		if !errors.Is(err, os.ErrNotExist) {
			return b, err
		}
	}
	return reach.Binary{}, fmt.Errorf("no program for linux/%s: there is no %s; give one with --binary", arch, beside)
}

// machines are e_machine of elf(5).
var machines = map[string]byte{"amd64": 62, "arm64": 183}

// binaryFor reads a program once, to know its checksum.
func binaryFor(name, arch string) (reach.Binary, error) {
	file, err := os.Open(name)
	if err != nil {
		return reach.Binary{}, err
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 20)
	if _, err := io.ReadFull(file, head); err != nil || string(head[:4]) != "\x7fELF" || head[18] != machines[arch] || head[19] != 0 {
		return reach.Binary{}, fmt.Errorf("%s is not a program for linux/%s", name, arch)
	}
	hash := sha256.New()
	_, _ = hash.Write(head)
	n, err := io.Copy(hash, file)
	if err != nil {
		return reach.Binary{}, err
	}
	return reach.Binary{
		Open: func() (io.ReadCloser, error) { return os.Open(name) },
		Sum:  fmt.Sprintf("%x", hash.Sum(nil)), Size: n + int64(len(head)),
	}, nil
}

// isCommand says whether a word is a command of this program, also one that shells use.
func isCommand(root *cobra.Command, word string) bool {
	if strings.HasPrefix(word, "__complete") {
		return true
	}
	for _, c := range root.Commands() {
		if c.Name() == word {
			return true
		}
	}
	return false
}
