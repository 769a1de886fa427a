// Package testvm runs a test on a real kernel, in a virtual machine of its own: one that has the file systems and the
// disks that the kernel below the tests lacks, and that may be left in a state from which only a reboot helps. It is for
// tests only, and does its work on Linux only.
//
// The machine is made of packages of a Debian suite, which fetch.sh unpacks into the user's cache directory once, and of
// the calling package's test binary, built anew without cgo. That is its first process, and then runs the same test:
//
//	func TestMain(m *testing.M) {
//		Main()
//		os.Exit(m.Run())
//	}
//
//	func TestOnRealNFS(t *testing.T) {
//		if !Inside() {
//			out := Run(t, Machine{Packages: []string{"nfs-common"}, Modules: []string{"nfsv4"}})
//			// look at what the test has left in out
//			return
//		}
//		// the test itself: root, alone, with procfs, sysfs, debugfs, cgroup2, and the loopback device up
//		os.WriteFile(filepath.Join(Out(), "mountinfo"), ...)
//	}
//
// What an old kernel lacks can also be tried without a machine: [RunTestsOld] runs tests with the system calls of Linux 3.10.
//
// Only tests with the build tag "download" have it, since "go test ./..." is to need no network.
//
// Where there is no QEMU or nothing to make the machine of, the test skips and says why. The machine is emulated, so it
// needs no /dev/kvm, may have another processor, and computes several times slower than the one that it runs on.
package testvm
