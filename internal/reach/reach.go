// Package reach finds a way onto a node of a cluster and runs nodeforensics there. It starts kubectl, or a command such as ssh, as
// a child process with arguments, never a shell of this machine: each with a deadline, in a process group of its own, and with
// bounded output. What it decides, it decides of the JSON that kubectl prints.
//
// The ways, in the order in which they are tried: a pod of the DaemonSet of nodeforensics; a privileged pod that already runs on the
// node, if the caller names it; a debug pod, if the node can start pods; a command such as ssh.
package reach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
	"github.com/nodeforensics/nodeforensics/internal/shellword"
)

// Options say how nodes are reached.
type Options struct {
	// Kubectl is the command and its first arguments.
	Kubectl []string
	// Namespace and label of the pods of the DaemonSet, whose image has the program as Program and no shell.
	Namespace string
	// Via names a pod that may be used: NAMESPACE/POD or NAMESPACE/POD/CONTAINER.
	Via string
	// DebugImage is the image of a debug pod, which has a shell; empty: none is started.
	DebugImage string
	// Remote is a command that runs a command on a node: its arguments, in which {node} is the name of the node; nil is none.
	Remote []string
	// Binary opens the program for an architecture, named as by Go.
	Binary func(arch string) (Binary, error)
	// Args are arguments of an examination. Its standard output is what Examine writes.
	Args []string
	// Stdin is a line, without its end, that an examination reads from standard input: what no command line may have, since others see those.
	// It has no blank and nothing that a shell would expand. Empty: nothing is passed.
	Stdin string
	// Examination is how long one may take, once started. All steps beside it have limits of their own.
	Examination time.Duration
	// Most is how many bytes are taken of its output.
	Most int64
	// Say tells what is being done; it may be called by several goroutines.
	Say func(string)
}

// Binary is a program that is brought to a node.
type Binary struct {
	Open func() (io.ReadCloser, error)
	Sum  string // sha256, hexadecimal
	Size int64
}

// An Attempt is a way that did not work, and why.
type Attempt struct {
	Way string `json:"way"`
	Why string `json:"why"`
}

// Result says which way was taken; if none was, Way is empty.
type Result struct {
	Way   string
	Tried []Attempt
	// Offers are pods that can be used, as values of Via, the best first.
	Offers []string
	// Left is what could not be removed.
	Left []string
}

// Program is the program in the image of nodeforensics.
const Program = "/nodeforensics"

// NotGiven is why a way was not tried that only the caller can give.
const NotGiven = "not given"

// DaemonSetLabel is that of the pods of the DaemonSet.
const DaemonSetLabel = "app.kubernetes.io/name=nodeforensics"

// Limits of the steps beside an examination.
const (
	askLimit    = 20 * time.Second // a request to the API server, or a short command on the node
	bringLimit  = 3 * time.Minute  // the program over a slow line
	startLimit  = 45 * time.Second // a debug pod
	removeLimit = 10 * time.Second
	mostJSON    = 512 << 20 // 5,000 nodes have some 80 MB; it is read as a stream
	mostWords   = 64 << 10  // of a short command on the node
)

var (
	objectName = pattern.New(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	plainWord  = pattern.New(`^[A-Za-z0-9_./:=,@%+-]+$`)
)

// ErrName says that a name cannot be that of a Kubernetes object.
var ErrName = errors.New("want a name of lower case letters, digits, '-' and '.'")

// Check reports what cannot be done with options and the names of nodes.
func (o *Options) Check(nodes ...string) error {
	for _, node := range nodes {
		if !objectName.MatchString(node) {
			return fmt.Errorf("node %q: %w", node, ErrName)
		}
	}
	if o.Via != "" {
		if _, err := parseVia(o.Via); err != nil {
			return err
		}
	}
	for _, arg := range o.Args {
		if !plainWord.MatchString(arg) {
			return fmt.Errorf("argument %q: it is passed through shells; letters, digits and _./:=,@%%+- can be used", arg)
		}
	}
	return nil
}

// Examine runs an examination on a node, by the first way that works, and copies its standard output. Where it fails after it has
// begun, reset is called. An error means that no way worked. known are the pods of the DaemonSet if they were asked for already.
func (o *Options) Examine(ctx context.Context, node string, known *Pods, out io.Writer, reset func() error) (Result, error) {
	e := examination{Options: o, node: node, known: known, out: out, reset: reset}
	for _, way := range e.ways() {
		if ctx.Err() != nil {
			return e.result, ctxError(ctx)
		}
		name, err := way.try(ctx)
		if err == nil {
			e.result.Way = name
			return e.result, nil
		}
		if name == "" {
			name = way.name
		}
		e.result.Tried = append(e.result.Tried, Attempt{name, err.Error()})
	}
	return e.result, errors.New("no way into the node worked")
}

// A way into a node.
type way struct {
	name string
	try  func(context.Context) (string, error)
}

// ways are in the order in which they are tried. What was given for one node comes first; for many nodes it is for those that have no pod.
func (e *examination) ways() []way {
	daemonSet, via, debug, remote := way{"DaemonSet", e.daemonSet}, way{"--via", e.via}, way{"kubectl debug", e.debug}, way{"--ssh", e.remote}
	switch {
	case e.Via != "":
		return []way{via, daemonSet, debug, remote}
	case len(e.Remote) > 0 && e.known == nil:
		return []way{remote, daemonSet, via, debug}
	}
	return []way{daemonSet, via, debug, remote}
}

// examination is that of one node.
type examination struct {
	*Options
	node   string
	known  *Pods
	out    io.Writer
	reset  func() error
	result Result
}

func (e *examination) say(format string, args ...any) {
	if e.Say != nil {
		e.Say(e.node + ": " + fmt.Sprintf(format, args...))
	}
}

// kubectl is a command of kubectl.
func (o *Options) kubectl(args ...string) []string {
	return append(append([]string{}, o.Kubectl...), args...)
}

// daemonSet is a pod that was placed before.
func (e *examination) daemonSet(ctx context.Context) (string, error) {
	pods, err := e.known.of(ctx, e.Options, e.node)
	if err != nil {
		return "", err
	}
	why := errors.New("no pod of nodeforensics runs on the node; nodeforensics install prints the DaemonSet")
	for _, p := range stayingFirst(pods) {
		name := "DaemonSet, pod " + p.Name()
		if err := p.usable(p.Spec.Containers[0]); err != nil {
			why = fmt.Errorf("pod %s: %w", p.Name(), err)
			continue
		}
		e.say("using %s", name)
		in := e.inPod(p, p.Spec.Containers[0].Name)
		// A short command first: a stopped kubelet is not worth the time of an examination.
		if _, err := runText(ctx, askLimit, append(in(false), Program, "version")); err != nil {
			why = fmt.Errorf("pod %s: %w", p.Name(), err)
			continue
		}
		if err := e.run(ctx, append(append(in(e.Stdin != ""), Program), e.Args...), e.stdin(nil), e.Examination); err != nil {
			why = fmt.Errorf("pod %s: %w", p.Name(), err)
			continue
		}
		return name, nil
	}
	return "", why
}

// stdin is what an examination reads, and then the program that is brought.
func (e *examination) stdin(program io.Reader) io.Reader {
	if e.Stdin == "" {
		return program
	}
	line := strings.NewReader(e.Stdin + "\n")
	if program == nil {
		return line
	}
	return io.MultiReader(line, program)
}

// inPod returns commands in a container of a pod, with or without standard input.
func (e *examination) inPod(p *Pod, container string) func(stdin bool) []string {
	return func(stdin bool) []string {
		args := e.kubectl("exec", "--namespace="+p.Metadata.Namespace, "--container="+container)
		if stdin {
			args = append(args, "--stdin")
		}
		return append(args, p.Metadata.Name, "--")
	}
}

// via is a pod that the caller has named.
func (e *examination) via(ctx context.Context) (string, error) {
	switch {
	case e.Via == "" && e.known != nil:
		return "", errors.New(NotGiven)
	case e.Via == "":
		return "", e.offer(ctx)
	}
	via, _ := parseVia(e.Via)
	name := "pod " + via.String()
	p, err := e.getPod(ctx, via.namespace, via.pod)
	if err != nil {
		return name, err
	}
	if p.Spec.NodeName != e.node {
		return name, fmt.Errorf("it runs on node %q", p.Spec.NodeName)
	}
	c, err := p.container(via.container)
	if err != nil {
		return name, err
	}
	if err := p.usable(c); err != nil {
		return name, err
	}
	if err := p.privileged(c); err != nil {
		return name, err
	}
	e.say("using %s", name)
	in := e.inPod(p, c.Name)
	if err := e.spare(ctx, in(false), p.limit(c)); err != nil {
		return name, err
	}
	return name, e.bring(ctx, direct(in), p.places(c))
}

// offer is why no running pod is used, where none is named; it finds those that can be.
func (e *examination) offer(ctx context.Context) error {
	pods, err := e.list(ctx, "--all-namespaces", "--field-selector=spec.nodeName="+e.node)
	if err != nil {
		return fmt.Errorf("the pods of the node: %w", err)
	}
	e.result.Offers = offers(pods)
	if len(e.result.Offers) == 0 {
		return errors.New("no privileged pod with hostPID runs on the node")
	}
	return errors.New("a pod that already runs is used only if you name it")
}

// direct makes commands of a shell out of commands that get their arguments as they are.
func direct(in func(stdin bool) []string) func(string, bool) []string {
	return func(script string, stdin bool) []string { return append(in(stdin), "sh", "-c", script) }
}

// remote is ssh, or another command.
func (e *examination) remote(ctx context.Context) (string, error) {
	if len(e.Remote) == 0 {
		return "", errors.New(NotGiven)
	}
	var args []string
	for _, word := range e.Remote {
		args = append(args, strings.ReplaceAll(word, "{node}", e.node))
	}
	name := shellword.Join(args)
	e.say("using %s", name)
	// ssh passes one command line on, which a shell there reads; others start a program with arguments.
	shell := func(script string, _ bool) []string { return append(append([]string{}, args...), "sh -c '"+script+"'") }
	if _, err := runText(ctx, askLimit, shell("true", false)); isNoProgram(err) {
		shell = direct(func(bool) []string { return append([]string{}, args...) })
	} else if err != nil {
		return name, err
	}
	return name, e.bring(ctx, shell, nil)
}
