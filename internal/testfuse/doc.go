// Package testfuse gives tests FUSE mounts that can be told to hang, to answer late, to fail and to die, and
// processes that are stuck in such mounts or hold them. It is for tests only, and does its work on Linux only.
//
// The file system is not served by the test binary, which would deadlock as soon as it touched its own mount, but by
// a second process that the binary starts from its own executable. Nothing in this package makes the test binary
// itself ask that file system anything. TestMain has to begin with [Main]:
//
//	func TestMain(m *testing.M) {
//		Main()
//		os.Exit(m.Run())
//	}
//
//	func TestHungMount(t *testing.T) {
//		fuse := Mount(t, t.TempDir(), Options{Type: "fuse.ceph-fuse"})
//		fuse.Hang()
//		stuck := HoldStat(t, fuse.MountPoint())
//		Await(t, "the stat to block", stuck.Blocked)
//		...
//	}
//
// Everything ends with the test. A cleanup kills the server, which aborts its connection and so releases every
// thread that waits for it, and then detaches the mount. It is registered by [Mount], so it runs before the removal of
// a t.TempDir that was made earlier. Should the test binary die without its cleanups, the server notices, detaches the
// mount and exits; that also frees a test binary that cannot die because a thread of its own waits for the mount.
package testfuse
