package procs

import (
	"bytes"
)

// Idle says whether a thread that sleeps in this function (/proc/PID/task/TID/wchan) waits for work rather than for a file
// system, so that its stack need not be read. It errs on the side of false, and allocates nothing for common names.
func Idle(wchan []byte) bool {
	name, _, _ := bytes.Cut(wchan, []byte("."))
	return idleFunctions[string(name)] || idleFunctions[frameName(string(wchan))]
}

// idleFunctions are where threads sleep that wait for events, messages, children or time.
var idleFunctions = words(`
	futex_wait_queue_me futex_wait_queue futex_do_wait futex_wait futex_wait_multiple futex_wait_requeue_pi futex_lock_pi
	do_epoll_wait ep_poll poll_schedule_timeout do_poll do_sys_poll do_select core_sys_select
	pipe_wait pipe_read pipe_write anon_pipe_read anon_pipe_write pipe_wait_readable pipe_wait_writable
	wait_for_partner fifo_open do_wait kernel_wait4 kernel_waitid wait_woken
	unix_stream_read_generic unix_stream_data_wait unix_wait_for_peer unix_accept
	skb_wait_for_more_packets __skb_wait_for_more_packets wait_for_more_packets __skb_recv_datagram __skb_recv_udp
	inet_csk_accept inet_csk_wait_for_connect inet_wait_for_connect inet_stream_connect sk_wait_data sk_stream_wait_memory
	sk_stream_wait_connect tcp_recvmsg netlink_recvmsg vsock_connectible_wait_data virtio_transport_recv_enqueue
	hrtimer_nanosleep do_nanosleep common_nsleep common_nsleep_timens sys_nanosleep sys_clock_nanosleep sys_pause sys_select
	sys_epoll_wait sys_epoll_pwait sys_poll sys_wait4 sys_futex sys_rt_sigtimedwait
	do_sigtimedwait sigsuspend sys_rt_sigsuspend do_signal_stop ptrace_stop
	n_tty_read n_tty_write tty_wait_until_sent inotify_read fanotify_read signalfd_read signalfd_read_iter signalfd_dequeue
	eventfd_read eventfd_ctx_do_read timerfd_read timerfd_read_iter
	do_msgrcv do_msgsnd do_semtimedop __do_semtimedop sys_semtimedop wq_sleep do_mq_timedreceive do_mq_timedsend
	do_syslog syslog_print devkmsg_read kmsg_read fuse_dev_do_read fuse_dev_read fuse_uring_cmd
	io_cqring_wait io_wqe_worker io_wq_worker io_sq_thread read_events
	binder_wait_for_work binder_thread_read kvm_vcpu_block kvm_vcpu_halt vhost_worker vhost_task_fn
	flock_lock_inode_wait posix_lock_inode_wait locks_lock_inode_wait do_lock_file_wait fcntl_setlk fcntl_setlk64
	handle_userfault userfaultfd_ctx_read seccomp_do_user_notification wait_for_random_bytes random_read
	evdev_read rfkill_fop_read uio_read ring_buffer_wait perf_read rpc_pipe_read cache_wait_req
	autofs_dev_ioctl rcu_gp_kthread worker_thread rescuer_thread smpboot_thread_fn kthreadd`)

// waitsForChild are idle functions behind which something worse may stand: the end of a PID namespace waits there, too.
var waitsForChild = words(`do_wait kernel_wait4`)
