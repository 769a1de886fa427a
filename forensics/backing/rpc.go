package backing

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// An rpcClient is one of the kernel's clients for remote procedure calls, which NFS speaks.
type rpcClient struct {
	server    string   // "10.9.0.2 2049"; the local one of rpcbind has a path
	transport string   // as NFSState.Transport
	waiting   [5]int64 // requests by version of NFS
}

const (
	rpcDebug      = "/sys/kernel/debug/sunrpc/rpc_clnt"
	maxRPCClients = 1024
	maxRPCTasks   = 1 << 20
)

// readRPC reads them from debugfs (net/sunrpc/debugfs.c, Linux 4.0): /sys/kernel/debug/sunrpc/rpc_clnt/N has "tasks",
// and a link "xprt" to its connection. It is nil where they are not to be read.
func (b *backings) readRPC() []rpcClient {
	entries, err := b.fsys.ReadDir(rpcDebug, maxRPCClients)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			b.errs = append(b.errs, fmt.Errorf("nfs: %w", err))
		}
		return nil
	}
	clients := []rpcClient{}
	for _, e := range entries {
		info, err := b.fsys.ReadFile(rpcDebug+"/"+e.Name+"/xprt/info", maxRPCTasks)
		if err != nil {
			continue // a client that has just ended
		}
		tasks, err := b.fsys.ReadFile(rpcDebug+"/"+e.Name+"/tasks", maxRPCTasks)
		if client, ok := parseTransport(info); ok && err == nil {
			client.tasks(tasks)
			clients = append(clients, client)
		}
	}
	return clients
}

// parseTransport reads "info". The bits of its state are those of include/linux/sunrpc/xprt.h.
//
//	netid: tcp
//	addr:  10.9.0.2
//	port:  2049
//	state: 0x12
func parseTransport(text []byte) (rpcClient, bool) {
	const connected, connecting = 1 << 1, 1 << 2
	f := bytes.Fields(text)
	if len(f) < 8 {
		return rpcClient{}, false
	}
	state, err := strconv.ParseUint(string(f[7]), 0, 64)
	if err != nil {
		return rpcClient{}, false
	}
	c := rpcClient{server: string(f[3]) + " " + string(f[5]), transport: "closed"}
	switch {
	case state&connected != 0:
		c.transport = "connected"
	case state&connecting != 0:
		c.transport = "connecting"
	}
	return c, true
}

// tasks counts requests, one a line (tasks_show). The columns are id, flags, status, client, transaction, ticks until
// the timeout, operations with their module, program and version, procedure, what it does, what it waits in:
//
//	10 88a0      0 0x5 0xa43de92c      323 rpc_default_ops [sunrpc] nfsv3 LOOKUP a:call_status [sunrpc] q:xprt_pending
func (c *rpcClient) tasks(text []byte) {
	for line := range bytes.Lines(text) {
		if _, after, ok := bytes.Cut(line, []byte(" nfsv")); ok && len(after) > 0 && after[0]-'0' < byte(len(c.waiting)) {
			c.waiting[after[0]-'0']++
		}
	}
}

// requests takes over what the clients of a mount's server and version wait for.
func (s *NFSState) requests(clients []rpcClient, servers []server) {
	if clients == nil || len(servers) == 0 || s.Version == "" {
		return
	}
	s.Outstanding = new(int64)
	server := fmt.Sprint(servers[0].addr, " ", servers[0].ports[0])
	for i := range clients {
		c := &clients[i]
		if c.server != server {
			continue
		}
		n := c.waiting[min(s.Version[0]-'0', 4)]
		*s.Outstanding += n
		if n > 0 && s.Transport != "connected" {
			s.Transport = c.transport
		}
	}
}
