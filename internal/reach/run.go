package reach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// errTooMuch says that a command writes more than is taken.
var errTooMuch = errors.New("too much output")

// failure is a command that ended with an error.
type failure struct {
	status int    // -1 if it was killed or could not be started
	words  string // its last line on standard error
	err    error
}

func (f *failure) Error() string {
	switch {
	case f.words != "":
		return brief(f.words)
	case f.status > 0:
		return fmt.Sprintf("exit status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// kubeletError is what kubectl says if the API server could not reach the kubelet of a pod: with the URL that it asked, or, from
// older API servers, "error dialing backend: dial tcp 10.0.0.1:10250: connect: connection refused".
var kubeletError = pattern.New(`^error (?:sending request: \w+ "https?://([^/" ]+)[^"]*"|dialing backend): (?:dial tcp (\S+): (?:connect: )?)?`)

// brief is what kubectl said without what it repeats: the kubelet, and why it could not be reached.
func brief(words string) string {
	words = strings.TrimPrefix(strings.TrimPrefix(words, "error: "), "Error from server: ")
	words = strings.TrimPrefix(words, "Internal error occurred: ")
	m := kubeletError.FindStringSubmatch(words)
	if m == nil {
		return words
	}
	kubelet := cmp.Or(m[2], m[1])
	if kubelet != "" {
		kubelet = " at " + kubelet
	}
	return "no answer from the kubelet" + kubelet + ": " + words[len(m[0]):]
}

// run starts a command and waits until it ends or the time is up. Then it is killed with all processes that it has started.
func run(ctx context.Context, limit time.Duration, args []string, in io.Reader, out io.Writer, most int64) error {
	return runBoth(ctx, limit, args, in, out, most, &tail{most: 4 << 10})
}

// runBoth is run for somebody who wants to see standard error.
func runBoth(ctx context.Context, limit time.Duration, args []string, in io.Reader, out io.Writer, most int64, words *tail) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	took := &capped{w: out, left: most, over: cancel}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, took, words
	cmd.WaitDelay = 2 * time.Second // for a process that has left the group and keeps a pipe open
	ownGroup(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case took.failed != nil:
		return took.failed
	case ctx.Err() != nil && err != nil:
		return &failure{-1, "", fmt.Errorf("no answer from %s: %w", command(args), ctxError(ctx))}
	case errors.Is(err, exec.ErrNotFound):
		return &failure{-1, "", fmt.Errorf("%s is not installed", args[0])}
	case errors.As(err, &exit):
		return &failure{exit.ExitCode(), words.last(), err}
	case err != nil:
		return &failure{-1, "", err}
	}
	return nil
}

// command names a command in a message: its program, and what kubectl is to do.
func command(args []string) string {
	name := filepath.Base(args[0])
	for _, arg := range args[1:] {
		if slices.Contains([]string{"get", "exec", "debug", "wait", "delete"}, arg) {
			return name + " " + arg
		}
	}
	return name
}

func ctxError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("timed out")
	}
	return errors.New("interrupted")
}

// runText is run for a short text.
func runText(ctx context.Context, limit time.Duration, args []string) (string, error) {
	var text bytes.Buffer
	err := run(ctx, limit, args, nil, &text, mostWords)
	return text.String(), err
}

// get asks the API server for objects, and reads them while they arrive.
func (o *Options) get(ctx context.Context, read func(io.Reader) error, what ...string) error {
	out, in := io.Pipe()
	parsed := make(chan error, 1)
	go func() {
		err := read(out)
		if err == nil {
			_, err = io.Copy(io.Discard, out)
		}
		_ = out.CloseWithError(err)
		parsed <- err
	}()
	args := slices.Concat([]string{"get"}, what, []string{"--output=json", "--request-timeout=15s"})
	err := run(ctx, max(askLimit, min(o.Examination, time.Minute)), o.kubectl(args...), nil, in, mostJSON)
	_ = in.Close()
	if broken := <-parsed; broken != nil && (err == nil || errors.Is(err, broken)) {
		err = fmt.Errorf("the answer of kubectl: %w", broken)
	}
	return err
}

// capped passes on what is not too much, and ends the command when it is.
type capped struct {
	w      io.Writer
	left   int64
	over   func()
	failed error
}

func (c *capped) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 && c.failed == nil {
		c.failed = errTooMuch
	}
	if c.failed == nil {
		if _, err := c.w.Write(p); err != nil {
			c.failed = err
		}
	}
	if c.failed != nil {
		c.over()
		return 0, c.failed
	}
	return len(p), nil
}

// tail keeps the end of what is written.
type tail struct {
	text []byte
	most int
}

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[max(0, len(p)-t.most):]...)
	t.text = t.text[max(0, len(t.text)-t.most):]
	return len(p), nil
}

// last is the last line that tells something: of this program, if it has said something there. kubectl ends with one that says the
// exit status again.
func (t *tail) last() (last string) {
	for line := range strings.Lines(string(t.text)) {
		line = strings.TrimSpace(line)
		own, isOwn := strings.CutPrefix(line, "nodeforensics: ")
		_, wasOwn := strings.CutPrefix(last, "nodeforensics: ")
		if own != "" && (isOwn || !wasOwn) && !strings.HasPrefix(line, "command terminated with exit code") {
			last = line
		}
	}
	return strings.TrimPrefix(last, "nodeforensics: ")
}

// isNoProgram says whether a command could not be found where it was to be run: by the exit status of shells, or by the words of
// container runtimes and nsenter.
func isNoProgram(err error) bool {
	var f *failure
	if !errors.As(err, &f) || f.status < 0 {
		return false
	}
	return f.status == 127 || strings.Contains(f.words, "executable file not found") || strings.Contains(f.words, "no such file or directory") ||
		strings.Contains(f.words, "No such file or directory")
}
