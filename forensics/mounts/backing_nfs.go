package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// NFSState is what the NFS client knows of one mount.
type NFSState struct {
	MountPoint string `json:"mount_point"`
	Server     string `json:"server,omitempty"`
	Version    string `json:"version,omitempty"`
	// Hard says that callers wait until the server answers, however long that takes; otherwise they get an error after
	// TimeoutSeconds and Retransmissions further tries (nfs(5)).
	Hard            bool    `json:"hard"`
	TimeoutSeconds  float64 `json:"timeout_seconds,omitempty"`
	Retransmissions int     `json:"retransmissions,omitempty"`
	AgeSeconds      int64   `json:"age_seconds,omitempty"`
	// Sent and Received count requests and answers of all connections since the mount was made; Outstanding is what has
	// not been answered. IdleSeconds is how long nothing has been sent.
	Sent        int64 `json:"sent"`
	Received    int64 `json:"received"`
	Outstanding int64 `json:"outstanding"`
	IdleSeconds int64 `json:"idle_seconds"`
	Connects    int64 `json:"connects"`
	// Timeouts counts requests that had to be sent again, Errors those that ended with an error (Linux 5.4).
	Timeouts int64 `json:"timeouts"`
	Errors   int64 `json:"errors"`
}

const maxStats = 8 << 20

// nfs finds the state of a mount.
func (b *backings) nfs(m *Mount) *NFSState {
	if !b.statsRead {
		b.statsRead = true
		text, err := b.fsys.ReadFile(b.proc+"mountstats", maxStats)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			b.errs = append(b.errs, fmt.Errorf("nfs: %w", err))
		}
		b.stats = parseMountStats(text)
	}
	state := NFSState{MountPoint: m.MountPoint}
	for _, s := range b.stats {
		if s.MountPoint == m.MountPoint {
			state = s // the last one is on top
		}
	}
	state.Server, _, _ = strings.Cut(m.Source, ":/")
	state.options(m)
	return &state
}

// options takes over what the mount table says.
func (s *NFSState) options(m *Mount) {
	s.Version = option(m, "vers")
	s.Hard = !hasOption(m.SuperOptions, "soft") && !hasOption(m.SuperOptions, "softerr")
	if tenths, err := strconv.Atoi(option(m, "timeo")); err == nil {
		s.TimeoutSeconds = float64(tenths) / 10
	}
	if n, err := strconv.Atoi(option(m, "retrans")); err == nil {
		s.Retransmissions = n
	}
}

// patience says what the options mean for callers.
func (s *NFSState) patience() string {
	if s.Hard {
		return "the mount is hard: callers wait until the server answers, or are killed"
	}
	return fmt.Sprintf("the mount is soft: callers get an error after %g s and %d retransmissions", s.TimeoutSeconds, s.Retransmissions)
}

// parseMountStats reads the parts of /proc/PID/mountstats (fs/nfs/super.c nfs_show_stats, net/sunrpc/stats.c) that are
// about NFS:
//
//	device 10.0.0.9:/x mounted on /mnt with fstype nfs4 statvers=1.1
//		age:	1234
//		xprt:	tcp 0 0 2 0 24 3000 2990 10 3010 0 2 123 45
//		per-op statistics
//		        READ: 1 1 0 44 24 0 0 0 0
//
// What it does not know it passes over.
func parseMountStats(text []byte) []NFSState {
	var list []NFSState
	var now *NFSState
	ops, idle := false, false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if rest, ok := bytes.CutPrefix(line, []byte("device ")); ok {
			now, ops, idle = nil, false, false
			if point, ok := nfsPoint(rest); ok {
				list = append(list, NFSState{MountPoint: point})
				now = &list[len(list)-1]
			}
			continue
		}
		key, value, ok := bytes.Cut(line, []byte{':'})
		switch {
		case now == nil:
		case bytes.Equal(line, []byte("per-op statistics")):
			ops = true
		case !ok:
		case ops:
			now.operation(bytes.Fields(value))
		case string(key) == "age":
			now.AgeSeconds = field(bytes.Fields(value), 0)
		case string(key) == "xprt":
			idle = now.transport(bytes.Fields(value), idle)
		}
	}
	return list
}

// nfsPoint takes the mount point out of "SOURCE mounted on POINT with fstype nfs4 statvers=1.1".
func nfsPoint(text []byte) (string, bool) {
	_, rest, ok := bytes.Cut(text, []byte(" mounted on "))
	point, fsType, ok2 := bytes.Cut(rest, []byte(" with fstype "))
	if !ok || !ok2 || !bytes.HasPrefix(fsType, []byte("nfs")) {
		return "", false
	}
	return string(unescape(bytes.Clone(point))), true
}

// transport reads one connection (xs_tcp_print_stats and its siblings in net/sunrpc/xprtsock.c). seen says that another
// was read before.
func (s *NFSState) transport(f [][]byte, seen bool) bool {
	if len(f) == 0 {
		return seen
	}
	var sent int
	switch string(f[0]) {
	case "tcp", "rdma": // port, binds, connects, seconds for them, idle, sent, received
		sent = 6
		s.Connects += field(f, 3)
		if idle := field(f, 5); !seen || idle < s.IdleSeconds {
			s.IdleSeconds = idle
		}
	case "local": // the same without the port
		sent = 5
	case "udp": // port, binds, sent, received
		sent = 3
	default:
		return seen
	}
	s.Sent += field(f, sent)
	s.Received += field(f, sent+1)
	s.Outstanding = max(0, s.Sent-s.Received)
	return true
}

// operation reads the counts of one sort of request: how many, transmissions, major timeouts, bytes sent and received,
// milliseconds queued, on the way and in all, errors.
func (s *NFSState) operation(f [][]byte) {
	s.Timeouts += field(f, 2)
	s.Errors += field(f, 8)
}

// field is a number in a list of words, 0 if it is none.
func field(words [][]byte, at int) int64 {
	if at >= len(words) {
		return 0
	}
	n, err := strconv.ParseInt(string(words[at]), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
