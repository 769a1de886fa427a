package testfuse

import (
	"bytes"
	"encoding/binary"
)

// The messages of the FUSE protocol, version 7.31, as far as this server speaks it. See linux/fuse.h.

const (
	protocolMajor = 7
	protocolMinor = 31
	maxWrite      = 128 << 10
	outHeaderSize = 16

	initPosixLocks = 1 << 1 // fcntl(2)
	initBigWrites  = 1 << 5 // FUSE_BIG_WRITES
	initFlockLocks = 1 << 10
	initMaxPages   = 1 << 22

	releaseFlockUnlock = 1 << 1 // FUSE_RELEASE_FLOCK_UNLOCK

	setattrMode = 1 << 0 // FATTR_MODE
	setattrSize = 1 << 3 // FATTR_SIZE
)

const (
	opLookup      = 1
	opForget      = 2
	opGetattr     = 3
	opSetattr     = 4
	opReadlink    = 5
	opMknod       = 8
	opMkdir       = 9
	opUnlink      = 10
	opRmdir       = 11
	opRename      = 12
	opOpen        = 14
	opRead        = 15
	opWrite       = 16
	opStatfs      = 17
	opRelease     = 18
	opFsync       = 20
	opFlush       = 25
	opInit        = 26
	opOpendir     = 27
	opReaddir     = 28
	opReleasedir  = 29
	opFsyncdir    = 30
	opSetlk       = 32
	opSetlkw      = 33
	opAccess      = 34
	opCreate      = 35
	opInterrupt   = 36
	opDestroy     = 38
	opBatchForget = 42
	opRename2     = 45
)

type inHeader struct {
	Len, Opcode       uint32
	Unique, Node      uint64
	UID, GID, PID     uint32
	ExtLen, Padding16 uint16
}

type outHeader struct {
	Len    uint32
	Error  int32
	Unique uint64
}

type initOut struct {
	Major, Minor, MaxReadahead, Flags  uint32
	MaxBackground, CongestionThreshold uint16
	MaxWrite, TimeGranularity          uint32
	MaxPages, MapAlignment             uint16
	Flags2, MaxStackDepth              uint32
	RequestTimeout                     uint16
	Unused                             [11]uint16
}

// attr is struct fuse_attr. The times are never set: every file is from 1970.
type attr struct {
	Ino, Size, Blocks                             uint64
	Atime, Mtime, Ctime                           uint64
	AtimeNsec, MtimeNsec, CtimeNsec               uint32
	Mode, Nlink, UID, GID, Rdev, BlockSize, Flags uint32
}

// attrOut and entryOut leave the time for which the kernel may keep them at 0: each stat asks the server.
type attrOut struct {
	ValidSec           uint64
	ValidNsec, Padding uint32
	Attr               attr
}

type entryOut struct {
	Node, Generation              uint64
	EntryValidSec, AttrValidSec   uint64
	EntryValidNsec, AttrValidNsec uint32
	Attr                          attr
}

type openIn struct{ Flags, OpenFlags uint32 }

// openDirectIO is FOPEN_DIRECT_IO: what is read through it is not kept in memory. It is what O_DIRECT asks for here.
const openDirectIO = 1

type openOut struct {
	Handle         uint64
	Flags, Padding uint32
}

type createOut struct {
	Entry entryOut
	Open  openOut
}

type createIn struct{ Flags, Mode, Umask, OpenFlags uint32 }

type mkdirIn struct{ Mode, Umask uint32 }

type mknodIn struct{ Mode, Rdev, Umask, _ uint32 }

type renameIn struct{ NewDir uint64 }

type rename2In struct {
	NewDir         uint64
	Flags, Padding uint32
}

type setattrIn struct {
	Valid, Padding                  uint32
	Handle, Size, LockOwner         uint64
	Atime, Mtime, Ctime             uint64
	AtimeNsec, MtimeNsec, CtimeNsec uint32
	Mode, Unused4, UID, GID         uint32
	Unused5                         uint32
}

// ioIn is struct fuse_read_in and struct fuse_write_in.
type ioIn struct {
	Handle, Offset uint64
	Size, IOFlags  uint32
	LockOwner      uint64
	Flags, Padding uint32
}

// lockIn is struct fuse_lk_in. Locks of a part of a file are taken for locks of all of it.
type lockIn struct {
	Handle, Owner uint64
	Start, End    uint64
	Type, PID     uint32
	Flags, _      uint32
}

type releaseIn struct {
	Handle       uint64
	Flags        uint32
	ReleaseFlags uint32
	LockOwner    uint64
}

type writeOut struct{ Size, Padding uint32 }

type statfsOut struct {
	Blocks, Free, Available      uint64
	Files, FilesFree             uint64
	BlockSize, NameLen, FragSize uint32
	Padding                      uint32
	Spare                        [6]uint32
}

// pack returns a fixed-size message as bytes.
func pack(message any) []byte {
	// The only error is about types without a fixed size, and there is none here.
	packed, _ := binary.Append(nil, binary.NativeEndian, message)
	return packed
}

// unpack reads a fixed-size message and returns what follows it. A short one leaves the message zero.
func unpack(body []byte, message any) (rest []byte) {
	n, err := binary.Decode(body, binary.NativeEndian, message)
	if err != nil {
		return nil
	}
	return body[n:]
}

// cstring splits off a NUL-terminated name.
func cstring(body []byte) (name string, rest []byte) {
	before, after, _ := bytes.Cut(body, []byte{0})
	return string(before), after
}

// appendDirent appends struct fuse_dirent, padded to eight bytes.
func appendDirent(buf []byte, ino, next uint64, kind uint32, name string) []byte {
	buf = binary.NativeEndian.AppendUint64(buf, ino)
	buf = binary.NativeEndian.AppendUint64(buf, next)
	buf = binary.NativeEndian.AppendUint32(buf, uint32(len(name)))
	buf = binary.NativeEndian.AppendUint32(buf, kind)
	buf = append(buf, name...)
	return append(buf, make([]byte, -len(name)&7)...)
}
