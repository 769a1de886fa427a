package mounts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
)

// An rpcClient is one of the kernel's clients for remote procedure calls, which NFS speaks.
type rpcClient struct {
	server    netip.AddrPort
	transport string         // as NFSState.Transport
	waiting   map[string]int // requests by program and version: "nfsv3", "nfsv4"
}

const (
	rpcDebug      = "/sys/kernel/debug/sunrpc/rpc_clnt"
	maxRPCClients = 1024
	maxRPCTasks   = 1 << 20
)

// rpcClients reads them from debugfs (net/sunrpc/debugfs.c, Linux 4.0): /sys/kernel/debug/sunrpc/rpc_clnt/N has "tasks",
// and a link "xprt" to its connection. It is nil where they are not to be read.
func (b *backings) rpcClients() []rpcClient {
	if b.rpcRead {
		return b.rpc
	}
	b.rpcRead = true
	entries, err := b.fsys.ReadDir(rpcDebug, maxRPCClients)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			b.errs = append(b.errs, fmt.Errorf("nfs: %w", err))
		}
		return nil
	}
	b.rpc = []rpcClient{}
	for _, e := range entries {
		info, err := b.fsys.ReadFile(rpcDebug+"/"+e.Name+"/xprt/info", maxRPCTasks)
		if err != nil {
			continue // a client that has just ended
		}
		tasks, err := b.fsys.ReadFile(rpcDebug+"/"+e.Name+"/tasks", maxRPCTasks)
		if client, ok := parseTransport(info); ok && err == nil {
			client.waiting = parseTasks(tasks)
			b.rpc = append(b.rpc, client)
		}
	}
	return b.rpc
}

// parseTransport reads "info". The bits of its state are those of include/linux/sunrpc/xprt.h.
//
//	netid: tcp
//	addr:  10.9.0.2
//	port:  2049
//	state: 0x12
func parseTransport(text []byte) (rpcClient, bool) {
	const connected, connecting = 1 << 1, 1 << 2
	values := map[string]string{}
	for line := range bytes.Lines(text) {
		key, value, _ := bytes.Cut(line, []byte{':'})
		values[string(key)] = string(bytes.TrimSpace(value))
	}
	addr, err := netip.ParseAddr(values["addr"])
	port, err2 := strconv.ParseUint(values["port"], 10, 16)
	state, err3 := strconv.ParseUint(values["state"], 0, 64)
	if err != nil || err2 != nil || err3 != nil {
		return rpcClient{}, false // the local one of rpcbind has a path
	}
	c := rpcClient{server: netip.AddrPortFrom(addr.Unmap(), uint16(port)), transport: "closed"}
	switch {
	case state&connected != 0:
		c.transport = "connected"
	case state&connecting != 0:
		c.transport = "connecting"
	}
	return c, true
}

// parseTasks counts requests, one a line (tasks_show). The columns are id, flags, status, client, transaction, ticks until
// the timeout, operations with their module, program and version, procedure, what it does, what it waits in:
//
//	10 88a0      0 0x5 0xa43de92c      323 rpc_default_ops [sunrpc] nfsv3 LOOKUP a:call_status [sunrpc] q:xprt_pending
func parseTasks(text []byte) map[string]int {
	count := map[string]int{}
	for line := range bytes.Lines(text) {
		for _, word := range bytes.Fields(line) {
			if string(word) == "nfsv3" || string(word) == "nfsv4" || string(word) == "nfsv2" {
				count[string(word)]++
				break
			}
		}
	}
	return count
}

// requests takes over what the clients of a mount's server and version wait for.
func (s *NFSState) requests(clients []rpcClient, servers []server) {
	if clients == nil || len(servers) == 0 || s.Version == "" {
		return
	}
	s.Outstanding = new(int64)
	for _, c := range clients {
		if !slices.ContainsFunc(servers, func(at server) bool {
			return at.addr == c.server.Addr() && slices.Contains(at.ports, c.server.Port())
		}) {
			continue
		}
		n := int64(c.waiting["nfsv"+s.Version[:1]])
		*s.Outstanding += n
		if n > 0 && s.Transport != "connected" {
			s.Transport = c.transport
		}
	}
}
