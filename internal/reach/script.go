package reach

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/pattern"
)

// mostUse is what an examination uses in a container at most, with room: 77 MiB were measured, and the program is in memory if its
// directory is.
const mostUse = 128 << 20

// The scripts are read by any POSIX shell. They may stand between single quotes in the command line of a csh, so they have no
// single quote, no exclamation mark, no backslash and no end of a line. What busybox has under no name of its own is called through it.
const (
	// Programs that a small image has only as a part of busybox.
	toolsScript = `b=; command -v uname >/dev/null 2>&1 && command -v sha256sum >/dev/null 2>&1 || b=busybox; `

	// Says the memory of the container that is in use and how much of it is cache of files, and whether one of its processes, or
	// of its pod, has the FUSE device open. On cgroup v1 there is a line for each controller, and the memory has one of its own.
	// Links are listed and not followed: an open file may be on a dead mount.
	spareScript = toolsScript + `while IFS=: read -r i c p; do case ,$c, in ,,|*,memory,*) for d in /sys/fs/cgroup$p /sys/fs/cgroup/memory$p /sys/fs/cgroup /sys/fs/cgroup/memory; do ` +
		`for f in memory.current memory.usage_in_bytes; do if [ -r $d/$f ] && [ -r $d/memory.stat ]; then read -r n < $d/$f && echo used $n; ` +
		`while read -r k v; do case $k in inactive_file|total_inactive_file) echo $k $v;; esac; done < $d/memory.stat; break 3; fi; done; done;; esac; done < /proc/self/cgroup; ` +
		`read -r me < /proc/self/cgroup; me=${me%/*}; ` +
		`for x in /proc/[0-9]*; do if read -r o < $x/cgroup; then if [ "${o%/*}" = "$me" ]; then echo seen; case $($b ls -l $x/fd) in */dev/fuse*) echo fuse;; esac; fi; fi; done 2>/dev/null; echo done`

	// Says the architecture, and the first directory where a program can be written and started. A file without #! is a script of
	// the shell that starts it, unless it may not be started there.
	placeScript = toolsScript + `echo machine $($b uname -m); umask 077; for d in %s; do t=$d/%s; ` +
		`if $b mkdir $t 2>/dev/null; then echo exit 7 > $t/try && $b chmod 700 $t/try && $t/try 2>/dev/null; r=$?; $b rm -f $t/try; $b rmdir $t; ` +
		`if [ $r = 7 ]; then echo place $d; break; fi; fi; done; echo done`

	// Takes the program from standard input, checks it, starts it and removes it, also if the connection breaks. A line may stand before it,
	// which a shell reads byte by byte, and prints itself: it is in no command line.
	bringScript = toolsScript + `umask 077; t=%[1]s; $b mkdir $t || exit 91; %[4]strap "$b rm -f $t/nodeforensics; $b rmdir $t" EXIT; trap "exit 94" HUP INT TERM PIPE; ` +
		`$b cat > $t/nodeforensics || exit 92; set -- $($b sha256sum $t/nodeforensics); [ "$1" = %[2]s ] || exit 93; $b chmod 700 $t/nodeforensics || exit 92; ` +
		`%[5]s$t/nodeforensics %[3]s`
	takeLine, passLine = `IFS= read -r line; `, `echo "$line" | `

	removeScript = toolsScript + `$b rm -f %[1]s/nodeforensics; $b rmdir %[1]s 2>/dev/null; [ -e %[1]s ] || echo removed`
)

// Directories in which the program may be placed, the container's own first. Those below /proc/1/root are the node's, for a
// container with a read-only root file system.
var places = []string{
	"/tmp", "/run", "/var/tmp", "/dev/shm", "/proc/1/root/run", "/proc/1/root/tmp", "/proc/1/root/var/tmp", "/proc/1/root/dev/shm", "/proc/1/root/var/lib",
}

// spare says why an examination may not run in a container that has a task of its own.
func (e *examination) spare(ctx context.Context, in []string, limit int64) error {
	text, err := runText(ctx, askLimit, append(in, "sh", "-c", spareScript))
	switch {
	case isNoProgram(err):
		return errors.New("it has no shell that could take the program")
	case err != nil:
		return err
	}
	said := map[string]int64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[key], _ = strconv.ParseInt(value, 10, 64)
	}
	_, done := said["done"]
	_, seen := said["seen"]
	_, fuse := said["fuse"]
	used, measured := said["used"]
	switch {
	case fuse:
		return errors.New("it serves FUSE mounts: if memory runs short, the kernel kills their server, and the mounts fail")
	case !done || !seen:
		return errors.New("it is not known whether it serves FUSE mounts")
	case limit == 0:
		return nil
	case !measured:
		return fmt.Errorf("its memory is limited to %d MiB, and what it uses could not be read", limit>>20)
	}
	used -= max(said["inactive_file"], said["total_inactive_file"])
	if left := limit - used; left < mostUse {
		return fmt.Errorf("%d MiB remain below its memory limit of %d MiB; an examination needs %d MiB", max(left, 0)>>20, limit>>20, mostUse>>20)
	}
	return nil
}

// bring places the program on the node, runs it, and removes it.
func (e *examination) bring(ctx context.Context, shell func(script string, stdin bool) []string, more []string) error {
	token := make([]byte, 8)
	if _, err := rand.Read(token); err != nil {
		return err
	}
	name := fmt.Sprintf("nodeforensics-%x", token)
	said, err := runText(ctx, askLimit, shell(fmt.Sprintf(placeScript, strings.Join(append(append([]string{}, more...), places...), " "), name), false))
	switch {
	case isNoProgram(err):
		return errors.New("it has no shell that could take the program")
	case err != nil:
		return err
	}
	machine, place := field(said, "machine"), field(said, "place")
	arch, known := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[machine]
	switch {
	case !known:
		return fmt.Errorf("its architecture is %q; there are programs for amd64 and arm64", machine)
	case !absoluteDir.MatchString(place):
		return errors.New("no directory was found where a program can be written and started")
	}
	program, err := e.Binary(arch)
	if err != nil {
		return err
	}
	in, err := program.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	dir := path.Join(place, name)
	e.say("sending the program (%d MB) to %s", program.Size/1e6, dir)
	take, pass := "", ""
	if e.Stdin != "" {
		take, pass = takeLine, passLine
	}
	script := fmt.Sprintf(bringScript, dir, program.Sum, strings.Join(e.Args, " "), take, pass)
	err = e.run(ctx, shell(script, true), e.stdin(in), bringLimit+e.Examination)
	if err == nil {
		return nil
	}
	e.remove(shell, dir)
	var f *failure
	if errors.As(err, &f) {
		switch f.status {
		case 91:
			return fmt.Errorf("cannot make %s: %w", dir, err)
		case 92:
			return fmt.Errorf("cannot write to %s: %w", dir, err)
		case 93:
			return errors.New("the checksum of the program is wrong there; it was not started")
		case 94:
			return errors.New("the connection broke")
		}
	}
	return err
}

var absoluteDir = pattern.New(`^/[A-Za-z0-9_./-]*$`)

// field is the value in a line "KEY VALUE".
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// remove takes away what an attempt has left, also when the caller does not want to wait any longer.
func (e *examination) remove(shell func(string, bool) []string, dir string) {
	said, _ := runText(context.Background(), removeLimit, shell(fmt.Sprintf(removeScript, dir), false))
	if !strings.Contains(said, "removed") {
		e.result.Left = append(e.result.Left, fmt.Sprintf("%s, if it exists: it removes itself when the examination there ends", dir))
	}
}

// run runs an examination. Its exit status 1 is a report that is incomplete.
func (e *examination) run(ctx context.Context, args []string, in io.Reader, limit time.Duration) error {
	count := &counter{w: e.out}
	err := run(ctx, limit, args, in, count, e.Most)
	var f *failure
	if errors.As(err, &f) && f.status == 1 && count.n > 0 {
		return nil
	}
	if err == nil && count.n == 0 {
		return errors.New("there was no output")
	}
	if err != nil {
		err = errors.Join(err, e.reset())
	}
	return err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}
