package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"strconv"
	"time"

	"github.com/nodeforensics/nodeforensics/internal/probe"
	"github.com/nodeforensics/nodeforensics/internal/procnet"
)

// errNotAccepted says that a connection waits for its server to accept it, which the kernel has done in its place.
var errNotAccepted = errors.New("the connection has not been accepted")

// errClosed says that a server has closed a connection before it was asked.
var errClosed = errors.New("the server has closed the connection")

const (
	// maxConnections bounds /proc/PID/net/tcp where a connection is looked for, at 150 bytes each. It is read in
	// pieces, up to the one that has it.
	maxConnections = 64 << 20
	// settling is how long a connection may seem to be another's: while accept(2) is under way, its socket has an inode
	// and no descriptor yet, and the table of connections is no snapshot.
	settling = 200 * time.Millisecond

	firstPause, longestPause = time.Millisecond, 500 * time.Millisecond
)

// accepted waits until the process has accepted the connection that this machine sees as one from an address to another
// of its own. That another process has it is an error at once, that nobody has accepted it once ctx ends.
func (o owner) accepted(ctx context.Context, from, to netip.AddrPort) error {
	began := time.NewTimer(settling)
	defer began.Stop()
	settled := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		key := fmt.Sprintf("connection to pid %d from port %d", o.pid, from.Port())
		_, err := probe.Do(ctx, o.group, key, func() (struct{}, error) { return struct{}{}, o.has(from, to) })
		if err == nil {
			return nil
		}
		waiting := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			waiting.Stop()
			return err
		case <-waiting.C:
		}
		select {
		case <-began.C:
			settled = true
		default:
		}
		if errors.Is(err, errClosed) || settled && !errors.Is(err, errNotAccepted) {
			return err
		}
	}
}

// has says whether the server's end of a connection is open in the process.
func (o owner) has(from, to netip.AddrPort) error {
	inode, err := o.serverInode(from, to)
	if err != nil {
		return err
	}
	owned, err := o.owned(inode)
	if err != nil {
		return err
	}
	if !owned[inode] {
		return fmt.Errorf("port %d: %w: another process has accepted the connection", to.Port(), errNotOwned)
	}
	return nil
}

// serverInode finds the socket of the server's end of a connection in /proc/PID/net/tcp and tcp6, where a server that is
// bound to :: has its IPv4 connections, too.
func (o owner) serverInode(from, to netip.AddrPort) (uint64, error) {
	tables := []struct {
		name   string
		mapped bool
	}{{"net/tcp6", true}}
	if to.Addr().Is4() {
		tables = append(tables, tables[0])
		tables[0].name, tables[0].mapped = "net/tcp", false
	}
	for _, t := range tables {
		inode, err := o.lookUp(t.name, " "+procnet.Format(to, t.mapped)+" "+procnet.Format(from, t.mapped)+" ")
		switch {
		case errors.Is(err, fs.ErrNotExist): // not in this one, or IPv6 is disabled
		case errors.Is(err, errNotAccepted), errors.Is(err, errClosed):
			return 0, err
		case err != nil:
			return 0, fmt.Errorf("%w, as far as visible: %w", errNotOwned, err)
		default:
			return inode, nil
		}
	}
	return 0, fmt.Errorf("port %d: %w, as far as visible: the connection is not in the table of connections", to.Port(), errNotOwned)
}

// lookUp finds the inode of the connection with some addresses. One that has not been accepted has none, since it
// belongs to no socket yet, nor has one that is closed.
func (o owner) lookUp(name, addrs string) (inode uint64, err error) {
	file, err := o.fs.OpenFile(procPath(o.pid, name))
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	wanted := []byte(addrs)
	table := bufio.NewReaderSize(io.LimitReader(file, maxConnections), 64<<10)
	for {
		line, err := table.ReadSlice('\n')
		if bytes.Contains(line, wanted) {
			if fields := bytes.Fields(line); len(fields) >= 10 {
				return inodeOf(string(fields[3]), string(fields[9]))
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return 0, fs.ErrNotExist
		case err != nil:
			return 0, err
		}
	}
}

func inodeOf(state, inode string) (uint64, error) {
	number, err := strconv.ParseUint(inode, 10, 64)
	switch {
	case err != nil || number != 0:
		return number, err
	case state == "01" || state == "03": // ESTABLISHED, SYN_RECV of include/net/tcp_states.h
		return 0, errNotAccepted
	}
	return 0, errClosed
}
