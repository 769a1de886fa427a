package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics"
	"github.com/nodeforensics/nodeforensics/forensics/redact"
	"github.com/nodeforensics/nodeforensics/internal/mask"
	"github.com/nodeforensics/nodeforensics/report"
)

// examine runs the examination of this node: a child collects, this process waits for it until the deadline, judges
// what came and has it written.
func (a *app) examine(f flags) error {
	if err := f.validate(); err != nil {
		return err
	}
	if !supported {
		return errors.New("a node can be examined on Linux only; analyze, render and checks work here")
	}
	if err := f.enterHost(); err != nil {
		a.note("this container has other files than the host, and cannot enter it: %v; the report is about what is visible here", err)
	}
	limitMemory(nodeMemory, nodeGC)
	began := time.Now()
	a.interrupts() // from here on there is something to report
	f.Version, f.Command = programVersion(), append([]string{"nodeforensics"}, os.Args[1:]...)
	if os.Getpid() == 1 && !f.probe && !f.NoProbe {
		a.note("mounts are not probed: this is PID 1 of a container, and a blocked thread would keep the container from ending; --probe probes them")
		f.NoProbe = true
	}
	if os.Geteuid() != 0 {
		a.note("not root: threads and open files of other users and the files of the kubelet are not visible; run it with sudo")
	}
	if left := f.timeout - 2*reserveOf(f.timeout); !f.NoProbe && f.HungAfter+2*time.Second > left {
		a.note("--timeout %v leaves %v for collecting, but --hung-after is %v: a hung mount may not be recognized", f.timeout, left, f.HungAfter)
	}
	f.absolutePaths()
	key, name, err := f.output.sharedKey()
	if err != nil {
		return err
	}
	f.RedactKey, f.keyName = key, name
	f.Command = redact.New(key).Args("command lines", f.Command) // the child may not live to mask it
	return giveUp(f.timeout, began.Add(f.timeout), func() error { return a.collectAndDeliver(f, began) })
}

// enterHost enters the host from a container, to examine it. Files go to /run there, since the working directory stays behind.
func (f *flags) enterHost() error {
	switch {
	case f.Root != "/":
		return nil
	case f.output.format == "" && !f.output.toDir():
		return enterHost("--output-dir=/run")
	}
	return enterHost()
}

func (a *app) collectAndDeliver(f flags, began time.Time) error {
	evidence, err := a.collect(f, began)
	evidence.Collector.RedactionKey = f.keyName
	switch cut := evidence.Collector.Interrupted; {
	case err != nil:
		a.complain("%v", err)
	case cut != "" && a.status.Load() == exitDone:
		a.complain("--timeout %v: %s before everything was collected; the report has what was collected", f.timeout, cut)
	}
	a.complainOfInputs(f, evidence)
	f.podGC.apply(&evidence)
	f.output.deadline, f.output.live = began.Add(f.timeout), f.Root == "/"
	command := f.Command
	if f.output.redact == redactStrict { // the child has masked secrets; names are known now that all parts are there
		return a.redactAndDeliver(f.output, evidence, f.RedactKey, command)
	}
	return a.deliver(f.output, evidence, command, f.output.deadline)
}

// complainOfInputs names files of the command line that the collector could not read.
func (a *app) complainOfInputs(f flags, e forensics.Evidence) {
	for _, s := range e.Coverage {
		_, name, _ := strings.Cut(s.Source, ":")
		detail := strings.ReplaceAll(s.Detail, "\n", "; ")
		switch {
		case s.Status == forensics.SourceRead:
		case s.Source == forensics.SourceCredentials:
			a.complain("%s", detail)
		case s.Source == forensics.SourceAPI:
			a.complain("--api: %s", detail)
		case s.Source == forensics.SourceGoroutines+":"+name && slices.Contains(f.Goroutines, name),
			s.Source == forensics.SourceAPIDump+":"+name && slices.Contains(f.APIDumps, name):
			a.complain("%s: %s", name, strings.TrimPrefix(detail, name+": "))
		case slices.Contains(f.Logs, strings.TrimPrefix(s.Source, forensics.SourceLogs+":")):
			a.complain("%s: %s", strings.TrimPrefix(s.Source, forensics.SourceLogs+":"), detail)
		}
	}
}

// redactAndDeliver masks evidence and the command line, judges the evidence and writes the report.
func (a *app) redactAndDeliver(out outputFlags, evidence forensics.Evidence, key []byte, command []string) error {
	return a.finish(out, a.redactAndJudge(out.redact, evidence, key, command, out.deadline))
}

// redactAndJudge masks evidence and the command line, and judges the evidence. Evidence of which a part could not be masked in
// time is not judged: what is missing would be taken for gone.
func (a *app) redactAndJudge(how string, evidence forensics.Evidence, key []byte, command []string, deadline time.Time) report.Report {
	ctx, cancel := context.WithDeadline(context.Background(), share(deadline, 1, 2))
	defer cancel()
	a.working("masking secrets")
	text, cut := mask.Until(ctx, &evidence, key, how == redactStrict)
	if cut != nil {
		a.complain("--timeout: %v", cut)
		deadline = time.Now()
	}
	masked := make([]string, len(command))
	for i, arg := range command {
		masked[i] = text("command lines", arg)
	}
	return a.reportOf(evidence, masked, deadline)
}

func (f *flags) absolutePaths() {
	f.Root, f.TokenFile = absolute(f.Root), absolute(f.TokenFile)
	f.ClientCert, f.ClientKey = absolute(f.ClientCert), absolute(f.ClientKey)
	for _, files := range [][]string{f.Goroutines, f.APIDumps} {
		for i := range files {
			files[i] = absolute(files[i])
		}
	}
	for i := range f.Logs {
		f.Logs[i] = absolute(f.Logs[i])
	}
}

// deliver judges evidence with half of the time until a deadline, writes the files, and prints the summary after them.
func (a *app) deliver(out outputFlags, evidence forensics.Evidence, command []string, judged time.Time) error {
	return a.finish(out, a.reportOf(evidence, command, judged))
}

// reportOf judges evidence with half of the time until a deadline.
func (a *app) reportOf(evidence forensics.Evidence, command []string, judged time.Time) report.Report {
	r := a.judge(report.Tool{Name: "nodeforensics", Version: programVersion(), Command: evidence.Collector.Command}, evidence, judged)
	if len(r.Tool.Command) == 0 {
		r.Tool.Command = command
	}
	return r
}

// finish writes the files and prints the summary after them.
func (a *app) finish(out outputFlags, r report.Report) error {
	if err := a.write(out, r); err != nil {
		return err
	}
	a.fail(out, r)
	return nil
}

// collect starts the child and merges what it tells until it is done, the deadline strikes or somebody interrupts.
// Whatever came is returned, also with an error.
func (a *app) collect(f flags, began time.Time) (forensics.Evidence, error) {
	evidence := forensics.NewEvidence()
	evidence.Collected, evidence.Root = began.UTC(), f.Root
	evidence.Collector.Command = f.Command
	c, err := startChild(childArg)
	if err != nil {
		err = fmt.Errorf("cannot collect: %w", err)
		evidence.Cover(forensics.Source{Source: forensics.SourceCollector, Status: forensics.SourceAbsent, Detail: err.Error()})
		return evidence, err
	}
	defer c.close()
	reserve := reserveOf(f.timeout)
	if err := c.order(order{Options: f.Options, Timeout: f.timeout - 2*reserve}); err != nil {
		return evidence, err
	}
	ctx, cancel := context.WithDeadline(context.Background(), began.Add(f.timeout-reserve))
	defer cancel()
	err = a.receive(ctx, c, &evidence, reserve/2)
	if err != nil {
		evidence.Cover(forensics.Source{Source: forensics.SourceCollector, Status: forensics.SourceTimeout, Detail: err.Error()})
		evidence.Collector.Interrupted = cmp.Or(evidence.Collector.Interrupted, err.Error())
	}
	return evidence, err
}

// reserveOf is kept of a time twice: for what the child cannot finish, and for judging and writing.
func reserveOf(timeout time.Duration) time.Duration { return min(timeout/8, 5*time.Second) }

func (c *child) order(o order) error {
	o.Options.Self = []int{os.Getpid()}
	line, err := json.Marshal(o)
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("cannot collect: %w", err)
	}
	return nil
}

// receive merges frames into evidence. An interrupt closes the child's input, which asks it for what it has; it gets
// grace to hand it over.
func (a *app) receive(ctx context.Context, c *child, evidence *forensics.Evidence, grace time.Duration) error {
	interrupted := a.interrupts()
	a.left.collecting(c.process.Pid)
	arrived, stop := make(chan frame), make(chan struct{})
	defer close(stop)
	failed := make(chan error, 1)
	go func() { failed <- readFrames(c.out, arrived, stop) }()
	for {
		select {
		case f := <-arrived:
			if f.Part != nil {
				evidence.Merge(*f.Part)
			}
			if f.Rest != nil {
				f.Rest.addTo(evidence)
			}
			if f.Progress != "" {
				a.working("%s", f.Progress)
			}
			if f.Error != "" {
				return errors.New(f.Error)
			}
			if f.Done {
				return nil
			}
		case err := <-failed:
			return fmt.Errorf("the collecting process (pid %d) ended early: %w", c.process.Pid, c.fate(err))
		case <-interrupted:
			interrupted = nil
			_ = c.in.Close()
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, grace)
			defer cancel()
		case <-ctx.Done():
			evidence.Collector.Interrupted = "the collecting process did not finish in time"
			return fmt.Errorf("the collecting process (pid %d) did not finish in time and may be left behind; the report has what it had sent", c.process.Pid)
		}
	}
}

// readFrames passes frames on until the pipe ends, which it should not before Done, or nobody wants them any more.
func readFrames(r io.Reader, frames chan<- frame, stop <-chan struct{}) error {
	reader, pool := bufio.NewReaderSize(r, 1<<16), stringPool{}
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return err
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			return err
		}
		f.share(pool)
		select {
		case frames <- f:
		case <-stop:
			return nil
		}
	}
}
