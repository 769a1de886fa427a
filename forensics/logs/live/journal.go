package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/forensics/logs"
	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

const (
	// maxRecords and maxJournal bound what is taken from a journal: the newest records, and bytes of JSON.
	maxRecords = 500_000
	maxJournal = 2 << 30
	// journalPatience is how long the first record may take; a journal of many files on a slow disk takes seconds.
	journalPatience = 8 * time.Second
)

// programPaths are where journalctl may be. PATH is not searched: it may lead over a dead mount.
var programPaths = []string{"/usr/bin/journalctl", "/bin/journalctl", "/run/current-system/sw/bin/journalctl"}

// journalFields are those that are read; a record has twenty more.
const journalFields = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,CONTAINER_ID,_COMM,_PID,_SYSTEMD_UNIT,_TRANSPORT,_SOURCE_MONOTONIC_TIMESTAMP"

// A journal is what records are asked for.
type journal struct {
	// program is journalctl.
	program string
	// files are those of another machine's journal; without them it is this machine's own. They are handed over open, so
	// that no path or link of a captured disk means anything to journalctl.
	files []*os.File
	since time.Time
	// match are further arguments: units, a transport.
	match []string
	// fields are further ones that are read, each after a comma.
	fields string
}

func (j *journal) args(fields bool) []string {
	args := []string{"--no-pager", "--quiet", "--all", "--output=json", "--lines=" + strconv.Itoa(maxRecords)}
	if fields {
		args = append(args, "--output-fields="+journalFields+j.fields)
	}
	for i := range j.files {
		args = append(args, "--file=/proc/self/fd/"+strconv.Itoa(firstExtraFile+i))
	}
	if !j.since.IsZero() {
		args = append(args, "--since=@"+strconv.FormatInt(j.since.Unix(), 10))
	}
	return append(args, j.match...)
}

// Journal reads a binary journal that was saved, the newest records of all programs, through journalctl. The caller closes the file, once
// it returns. It is [fs.ErrNotExist] where the program or a record is missing.
func (o FindOptions) Journal(ctx context.Context, file *os.File) (io.ReadCloser, error) {
	program := (&finder{opt: o}).journalctl()
	if program == "" {
		return nil, fmt.Errorf("journalctl is not installed: %w", fs.ErrNotExist)
	}
	j := journal{program: program, files: []*os.File{file}, since: o.Since, fields: ",_HOSTNAME"}
	return j.open(ctx)
}

// firstExtraFile is the number that the first of [exec.Cmd]'s ExtraFiles has in the child.
const firstExtraFile = 3

// errNoRecords says that a journal has nothing of what was asked for.
var errNoRecords = fmt.Errorf("no records: %w", fs.ErrNotExist)

// open starts journalctl and waits for the first record. When ctx ends, the child is killed; one that cannot be killed,
// because it is stuck in the kernel, is left behind.
func (j *journal) open(ctx context.Context) (io.ReadCloser, error) {
	for _, fields := range []bool{true, false} { // --output-fields came with systemd 236
		r, err := j.start(ctx, fields)
		if err != nil {
			return nil, err
		}
		waiting, cancel := context.WithTimeout(ctx, journalPatience)
		giveUp := context.AfterFunc(waiting, func() { // closing the pipe ends the wait for one that cannot be killed
			r.cancel()
			_ = r.pipe.Close()
		})
		_, err = r.out.Peek(1)
		late := !giveUp()
		cancel()
		if err == nil && !late {
			return r, nil
		}
		_ = r.Close()
		complaint := r.complaint()
		switch {
		case late && ctx.Err() == nil:
			return nil, fmt.Errorf("journalctl: no record for %v: %w", journalPatience, context.DeadlineExceeded)
		case fields && strings.Contains(complaint, "output-fields"):
			continue
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case strings.Contains(complaint, "ermission"), strings.Contains(complaint, "not seeing messages"):
			return nil, fmt.Errorf("journalctl: %s: %w", complaint, fs.ErrPermission)
		case complaint != "" && !strings.HasPrefix(complaint, "No journal files"):
			return nil, fmt.Errorf("journalctl: %s", complaint)
		}
		return nil, errNoRecords
	}
	return nil, errNoRecords
}

func (j *journal) start(ctx context.Context, fields bool) (*records, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &records{cancel: cancel}
	r.cmd = exec.CommandContext(ctx, j.program, j.args(fields)...)
	r.cmd.Env = []string{"LC_ALL=C", "SYSTEMD_COLORS=0", "SYSTEMD_PAGER="}
	r.cmd.Dir = "/"
	r.cmd.ExtraFiles = j.files
	r.cmd.Stderr = &r.stderr
	r.cmd.WaitDelay = time.Second // then its pipes are closed, whether or not it has ended
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	r.pipe = out
	r.out = bufio.NewReaderSize(out, 64<<10)
	return r, nil
}

// records is the output of a journalctl that runs.
type records struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	pipe   io.ReadCloser
	out    *bufio.Reader
	stderr head
	read   int64
	ended  bool
	end    error // what each reading after the last one returns
}

// MaxRecords says how many records were asked for.
func (r *records) MaxRecords() int64 { return maxRecords }

// Read implements [io.Reader].
func (r *records) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	if r.read >= maxJournal {
		return 0, fmt.Errorf("more than %d bytes: %w", int64(maxJournal), nodefs.ErrTruncated)
	}
	n, err := r.out.Read(p[:min(int64(len(p)), maxJournal-r.read)])
	r.read += int64(n)
	if errors.Is(err, io.EOF) {
		r.ended, r.end = true, err
		if waited := r.cmd.Wait(); waited != nil {
			r.end = fmt.Errorf("journalctl: %w: %s", waited, r.complaint())
		}
		return n, r.end
	}
	return n, err
}

// Close ends the child. It waits for a second at most.
func (r *records) Close() error {
	r.cancel()
	if r.ended {
		return nil
	}
	r.ended = true
	gone := make(chan struct{})
	go func() {
		_ = r.cmd.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(2 * time.Second):
		_ = r.pipe.Close()
	}
	return nil
}

// complaint is the first line that journalctl wrote to standard error.
func (r *records) complaint() string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(r.stderr.text)), "\n")
	return line
}

// head keeps the beginning of what is written to it.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), 4096-len(h.text))]...)
	return len(p), nil
}

// opened is a source whose log is open already.
func opened(name, origin string, r io.ReadCloser) logs.Source {
	return logs.Source{Path: name, Origin: origin, Open: func(context.Context) (io.ReadCloser, error) { return r, nil }}
}
