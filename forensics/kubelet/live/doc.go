// Package live looks at a kubelet on a live machine, and at its directories on the disk of one.
//
//   - [Find] picks the kubelet among the processes and reads its files, each for a limited time: any of them may lie on a
//     mount that no longer answers.
//   - [Walk] reads <root>/pods and never touches a mount: pod directories hold the mount points that are the reason for
//     looking, and files of untrusted containers.
//   - [Client] asks /healthz, /pods, /metrics and the goroutines, over connections that lead to the kubelet's own
//     process and nowhere else: it owns the listening socket before the connection is made, and has accepted the
//     connection before anything is asked. Whose certificate the server has is compared with the kubelet's files.
//
// It rests on /proc/PID/{stat,root,fd,ns,net/tcp,net/tcp6} (proc(5)), on net/ipv4/{tcp_ipv4,inet_hashtables}.c for which
// socket gets a connection, and on the ports and answers of kubelets 1.10 to 1.36 (pkg/kubelet/server).
package live
