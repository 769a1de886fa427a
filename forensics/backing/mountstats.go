package backing

import (
	"bytes"
	"math"
	"strconv"

	"github.com/nodeforensics/nodeforensics/internal/fsfamily"
	"github.com/nodeforensics/nodeforensics/internal/octal"
)

// parseMountStats reads the parts of /proc/PID/mountstats (fs/nfs/super.c nfs_show_stats, net/sunrpc/stats.c) that are
// about NFS:
//
//	device 10.9.0.2:/srv/b mounted on /mnt/v3 with fstype nfs statvers=1.1
//		age:	31
//		xprt:	tcp 810 1 2 0 4 21 12 9 66 0 2 0 5
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
				list = append(list, NFSState{MountPoint: point, LocalPorts: []int{}})
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
	fsType, _, _ = bytes.Cut(fsType, []byte(" "))
	if !ok || !ok2 || fsfamily.Of(string(fsType)).Name != fsfamily.NameNFS {
		return "", false
	}
	return string(octal.Unescape(bytes.Clone(point))), true
}

// transport reads one connection (xs_tcp_print_stats and its siblings in net/sunrpc/xprtsock.c). seen says that another
// was read before.
func (s *NFSState) transport(f [][]byte, seen bool) bool {
	if len(f) == 0 {
		return seen
	}
	var sent int
	switch string(f[0]) {
	case "tcp", "rdma": // port, binds, connects, seconds for them, idle, sent, received, answers to nothing
		sent = 6
		s.Connects += field(f, 3)
		if port := field(f, 1); port > 0 && port <= math.MaxUint16 {
			s.LocalPorts = append(s.LocalPorts, int(port))
		}
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
	s.Late += field(f, sent+2)
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
