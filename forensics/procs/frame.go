package procs

import "strings"

// wrappers are what system calls are called inside the kernel, by architecture and generation: SYSCALL_DEFINE since
// 4.17, before that SyS_ and sys_.
var wrappers = []string{
	"__x64_sys_", "__arm64_sys_", "__do_sys_", "__se_sys_", "__ia32_sys_", "ksys_", "SyS_", "SYSC_",
}

// frameName returns the plain name of a kernel function, out of a wchan or a line of a stack:
//
//	[<0>] request_wait_answer+0x112/0x210 [fuse]
//
// It drops the address, offset and size, the module, and what the compiler appends to copies that it made of a
// function (".isra.0", ".constprop.0", ".part.0", ".cold"). All names of a system call's entry become "sys_" and the
// name of the call.
func frameName(line string) string {
	name := functionName(line)
	if dot := strings.IndexByte(name, '.'); dot > 0 {
		name = name[:dot]
	}
	for _, wrapper := range wrappers {
		if call, ok := strings.CutPrefix(name, wrapper); ok {
			return "sys_" + call
		}
	}
	return name
}

// functionName returns the name of the function in a line of a stack as the kernel has it, "" for an address without a
// name, such as the end mark 0xffffffffffffffff of older kernels.
func functionName(line string) string {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "[<") {
		_, line, _ = strings.Cut(line, "]")
		line = strings.TrimLeft(line, " ?") // "? " marks a frame that the unwinder is not sure of
	}
	if end := strings.IndexAny(line, "+ \t"); end >= 0 {
		line = line[:end]
	}
	if strings.HasPrefix(line, "0x") {
		return ""
	}
	return line
}

// ParseStack returns the function names of /proc/PID/task/TID/stack, innermost first. Addresses without a name are left
// out.
func ParseStack(text string) []string {
	frames := make([]string, 0, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		if name := functionName(line); name != "" {
			frames = append(frames, name)
		}
	}
	return frames
}

// primitives are what all sleeping is done with: they do not tell what is waited for. Most kernels leave them out of
// wchan and stack (they are in the section .sched.text); call traces in the kernel log show them, and old kernels some.
// ioPrimitives are those of them that account the time as a wait for I/O, locks are those that take a lock.
var (
	primitives = words(`
		schedule __schedule schedule_timeout schedule_timeout_interruptible schedule_timeout_killable
		schedule_timeout_uninterruptible schedule_preempt_disabled __switch_to __switch_to_asm context_switch
		io_schedule io_schedule_timeout io_schedule_prepare __cond_resched preempt_schedule_common
		schedule_hrtimeout_range schedule_hrtimeout_range_clock schedule_hrtimeout
		wait_for_completion wait_for_completion_killable wait_for_completion_interruptible wait_for_completion_timeout
		wait_for_completion_killable_timeout wait_for_completion_interruptible_timeout wait_for_completion_state
		wait_for_completion_io wait_for_completion_io_timeout wait_for_common __wait_for_common do_wait_for_common
		bit_wait bit_wait_timeout bit_wait_io bit_wait_io_timeout __wait_on_bit __wait_on_bit_lock out_of_line_wait_on_bit
		out_of_line_wait_on_bit_lock out_of_line_wait_on_bit_timeout wait_bit_event cv_wait_common __cv_wait __cv_wait_sig __cv_wait_io
		__cv_timedwait __cv_timedwait_io msleep usleep_range usleep_range_state prepare_to_wait_event`)

	ioPrimitives = words(`
		io_schedule io_schedule_timeout bit_wait_io bit_wait_io_timeout wait_for_completion_io wait_for_completion_io_timeout
		__cv_wait_io __cv_timedwait_io`)

	locks = words(`
		rwsem_down_read_failed rwsem_down_read_failed_killable rwsem_down_write_failed rwsem_down_write_failed_killable
		rwsem_down_read_slowpath rwsem_down_write_slowpath call_rwsem_down_read_failed call_rwsem_down_read_failed_killable
		call_rwsem_down_write_failed call_rwsem_down_write_failed_killable
		down_read down_read_killable down_read_interruptible down_read_nested __down_read __down_read_common
		down_write down_write_killable down_write_nested __down_write __down_write_common
		mutex_lock mutex_lock_nested mutex_lock_killable mutex_lock_interruptible mutex_lock_io __mutex_lock __mutex_lock_common
		__mutex_lock_slowpath __mutex_lock_killable_slowpath __mutex_lock_interruptible_slowpath
		ww_mutex_lock __ww_mutex_lock down down_interruptible down_killable down_timeout __down __down_common
		__down_interruptible __down_killable __down_timeout
		rt_mutex_lock rt_mutex_slowlock rt_mutex_slowlock_block rt_mutex_schedule __rt_mutex_slowlock_locked
		rwbase_read_lock rwbase_write_lock __rwbase_read_lock`)

	// percpuLocks take a percpu_rw_semaphore. The kernel has few of them, and the one that hangs belongs to the
	// superblock: sb_start_write, which is inlined into whoever wants to write.
	percpuLocks = words(`percpu_rwsem_wait percpu_down_read percpu_down_write __percpu_down_read`)
)

// words makes a set of the words of text.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}
