#!/bin/sh
# Makes an NFS server of a network namespace of a virtual machine: server.sh start, and then what befalls it. Its address
# is 10.9.0.2 or fd09::2; it exports /srv/a, /srv/b, /srv/c and /srv/d, which are /a, /b, /c and /d to version 4.
set -eu

start() {
	ip netns add server
	ip link add c0 type veth peer name s0 netns server
	ip addr add 10.9.0.1/24 dev c0
	ip addr add fd09::1/64 dev c0 nodad
	ip link set c0 up
	ip -n server addr add 10.9.0.2/24 dev s0
	ip -n server addr add fd09::2/64 dev s0 nodad
	ip -n server link set s0 up
	ip -n server link set lo up
	mkdir -p /var/lib/nfs/rpc_pipefs /var/lib/nfs/v4recovery /var/lib/nfs/nfsdcltrack /run/rpcbind
	touch /var/lib/nfs/etab /var/lib/nfs/rmtab /var/lib/nfs/state
	ln -s /run /var/run
	mkdir -p /srv
	mount -t tmpfs exports /srv
	echo '/srv *(rw,no_root_squash,no_subtree_check,fsid=0)' >/etc/exports
	id=1
	for export in a b c d; do
		mkdir -p "/srv/$export"
		mount -t tmpfs "export-$export" "/srv/$export"
		mkdir "/srv/$export/dir"
		echo content >"/srv/$export/file"
		echo "/srv/$export *(rw,no_root_squash,no_subtree_check,fsid=$id)" >>/etc/exports
		id=$((id + 1))
	done
	ip netns exec server "$0" serve
}

# serve runs in the namespace, and in a mount namespace of its own.
serve() {
	mount -t nfsd nfsd /proc/fs/nfsd
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	rpcbind -w
	exportfs -ra
	rpc.nfsd 2
	rpc.mountd --foreground >/dev/null 2>&1 &
	echo $! >/run/mountd.pid
}

inside() { nsenter -t "$(cat /run/mountd.pid)" -n -m "$@"; }

# silence makes nfsd ask rpc.mountd, which does not answer.
silence() {
	kill -STOP "$(cat /run/mountd.pid)"
	for cache in auth.unix.ip nfsd.export nfsd.fh; do
		inside sh -c "echo 99999999999 >/proc/net/rpc/$cache/flush"
	done
}

case $1 in
start | serve | silence) "$1" ;;
speak) kill -CONT "$(cat /run/mountd.pid)" ;;
drop) inside nft 'add table inet f; add chain inet f input { type filter hook input priority 0; policy drop; }' ;;
pass) inside nft 'delete table inet f' ;;
stop) inside rpc.nfsd 0 ;;
resume) inside rpc.nfsd 2 ;;
forget)
	inside exportfs -u '*:/srv/c'
	inside exportfs -f
	;;
esac
