package runtimes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// The layout of a bbolt database (go.etcd.io/bbolt internal/common: page.go, meta.go, bucket.go), which has been
// version 2 since it was first released. All numbers are in the byte order of the machine, little-endian on all that run containerd.
//
//	page:   id u64, flags u16, count u16, overflow u32; then count elements
//	branch: pos u32, ksize u32, page u64           pos counts from the element itself
//	leaf:   flags u32, pos u32, ksize u32, vsize u32
//	bucket: root page u64, sequence u64; with root page 0 the bucket's only page follows
//	meta:   magic u32, version u32, page size u32, flags u32, root bucket, freelist u64, high water u64, txid u64, checksum u64
const (
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	boltPageHeader = 16
	boltBranchSize = 16
	boltLeafSize   = 16
	boltBucketSize = 16
	boltMetaSize   = 64
	boltBranch     = 0x01
	boltLeaf       = 0x02
	boltIsBucket   = 0x01

	maxBoltDepth = 32        // a tree of this depth would have more entries than there are atoms in a disk
	maxBoltPage  = 64 << 20  // one page with its overflow
	maxBoltRead  = 256 << 20 // all that is read of one database
	boltRereads  = 8         // a page has one place in a whole database, and the first few are looked at several times
)

var errBoltDamaged = errors.New("damaged database")

// A boltDB reads a bbolt database that its owner may be writing to.
//
// The bbolt package itself is not for that: it takes a lock on the file, maps it, and trusts what it finds, so that a torn
// or damaged file ends the program, with a fault or an endless descent, in ways that no recover contains. This one
// reads page by page, checks every offset, and stops at bounds.
//
// Pages that a transaction frees are used again by the next but one at the earliest. So what was read is
// consistent if no transaction was committed meanwhile; changed tells.
type boltDB struct {
	r        io.ReaderAt
	size     int64
	pageSize int64
	root     uint64
	txid     uint64
	budget   int64
}

// openBolt finds the newer of the two meta pages that are whole.
func openBolt(r io.ReaderAt, size int64) (*boltDB, error) {
	db := &boltDB{r: r, size: size, budget: min(maxBoltRead, boltRereads*size)}
	// The second meta page begins at the page size, which is that of the machine which made the file.
	for _, at := range []int64{0, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10} {
		if m, ok := db.meta(at); ok && (db.pageSize == 0 || m.txid > db.txid) {
			db.pageSize, db.root, db.txid = m.pageSize, m.root, m.txid
		}
	}
	if db.pageSize == 0 {
		return nil, fmt.Errorf("no valid meta page: %w", errBoltDamaged)
	}
	return db, nil
}

type boltMeta struct {
	pageSize   int64
	root, txid uint64
}

func (db *boltDB) meta(at int64) (boltMeta, bool) {
	var page [boltPageHeader + boltMetaSize]byte
	if n, _ := db.r.ReadAt(page[:], at); n < len(page) {
		return boltMeta{}, false
	}
	m := page[boltPageHeader:]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:56])
	size := int64(binary.LittleEndian.Uint32(m[8:]))
	ok := binary.LittleEndian.Uint32(m) == boltMagic && binary.LittleEndian.Uint32(m[4:]) == boltVersion &&
		binary.LittleEndian.Uint64(m[56:]) == sum.Sum64() && size >= 1024 && size <= 64<<10
	return boltMeta{size, binary.LittleEndian.Uint64(m[16:]), binary.LittleEndian.Uint64(m[48:])}, ok
}

// changed says whether a transaction was committed since the database was opened.
func (db *boltDB) changed() bool {
	now, err := openBolt(db.r, db.size)
	return err != nil || now.txid != db.txid
}

// A boltBucket is a bucket: the page of its root, or the page itself where it is small.
type boltBucket struct {
	root   uint64
	inline []byte
}

func (db *boltDB) top() boltBucket { return boltBucket{root: db.root} }

// each calls visit for everything in a bucket, in the order of keys: with a value, or with a bucket. Key and value
// belong to the database. It goes on behind what is damaged, and returns the first damage and any error of visit.
func (db *boltDB) each(b boltBucket, visit func(key, value []byte, sub *boltBucket) error) error {
	if b.inline != nil {
		return db.page(b.inline, 0, visit)
	}
	return db.descend(b.root, 0, visit)
}

// find returns the bucket of a name in a bucket.
func (db *boltDB) find(b boltBucket, name string) (found *boltBucket, err error) {
	err = db.each(b, func(key, _ []byte, sub *boltBucket) error {
		if sub != nil && string(key) == name {
			found = sub
		}
		return nil
	})
	return found, err
}

func (db *boltDB) descend(id uint64, depth int, visit func(key, value []byte, sub *boltBucket) error) error {
	page, err := db.read(id)
	if err != nil {
		return err
	}
	return db.page(page, depth, visit)
}

// read reads one page with its overflow.
func (db *boltDB) read(id uint64) ([]byte, error) {
	if id > math.MaxInt64/uint64(db.pageSize) || int64(id)*db.pageSize > db.size-db.pageSize {
		return nil, fmt.Errorf("page %d: beyond the end: %w", id, errBoltDamaged)
	}
	at := int64(id) * db.pageSize
	var head [boltPageHeader]byte
	if _, err := db.r.ReadAt(head[:], at); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	if got := binary.LittleEndian.Uint64(head[:]); got != id {
		return nil, fmt.Errorf("page %d: has the number %d: %w", id, got, errBoltDamaged)
	}
	length := (int64(binary.LittleEndian.Uint32(head[12:])) + 1) * db.pageSize
	if length > maxBoltPage || at+length > db.size {
		return nil, fmt.Errorf("page %d: %d bytes: %w", id, length, errBoltDamaged)
	}
	if db.budget -= length; db.budget < 0 {
		return nil, fmt.Errorf("too much to read: %w", nodefs.ErrTruncated)
	}
	page := make([]byte, length)
	if _, err := db.r.ReadAt(page, at); err != nil {
		return nil, fmt.Errorf("page %d: %w", id, err)
	}
	return page, nil
}

func (db *boltDB) page(page []byte, depth int, visit func(key, value []byte, sub *boltBucket) error) error {
	if len(page) < boltPageHeader || depth > maxBoltDepth {
		return fmt.Errorf("page too short or too deep: %w", errBoltDamaged)
	}
	count := int(binary.LittleEndian.Uint16(page[10:]))
	var first error
	keep := func(err error) bool { // false ends it: the visitor's error, or the bound
		if first == nil {
			first = err
		}
		return err == nil || errors.Is(err, errBoltDamaged) || errors.Is(err, io.EOF)
	}
	switch flags := binary.LittleEndian.Uint16(page[8:]); flags {
	case boltBranch:
		for i := range count {
			at := boltPageHeader + i*boltBranchSize
			if at+boltBranchSize > len(page) {
				return errors.Join(first, fmt.Errorf("branch of %d: %w", count, errBoltDamaged))
			}
			if !keep(db.descend(binary.LittleEndian.Uint64(page[at+8:]), depth+1, visit)) {
				return first
			}
		}
	case boltLeaf:
		for i := range count {
			key, value, bucket, ok := leafElement(page, i)
			if !ok {
				return errors.Join(first, fmt.Errorf("leaf element %d of %d: %w", i, count, errBoltDamaged))
			}
			var sub *boltBucket
			if bucket {
				sub, value = subBucket(value), nil
			}
			if !keep(visit(key, value, sub)) {
				return first
			}
		}
	default:
		return fmt.Errorf("page of kind %#x: %w", flags, errBoltDamaged)
	}
	return first
}

func leafElement(page []byte, i int) (key, value []byte, bucket, ok bool) {
	at := boltPageHeader + i*boltLeafSize
	if at+boltLeafSize > len(page) {
		return nil, nil, false, false
	}
	e := page[at:]
	start := int64(at) + int64(binary.LittleEndian.Uint32(e[4:]))
	middle := start + int64(binary.LittleEndian.Uint32(e[8:]))
	end := middle + int64(binary.LittleEndian.Uint32(e[12:]))
	bucket = binary.LittleEndian.Uint32(e)&boltIsBucket != 0
	if end > int64(len(page)) || bucket && end-middle < boltBucketSize {
		return nil, nil, false, false
	}
	return page[start:middle:middle], page[middle:end:end], bucket, true
}

func subBucket(value []byte) *boltBucket {
	b := &boltBucket{root: binary.LittleEndian.Uint64(value)}
	if b.root == 0 {
		b.inline = value[boltBucketSize:]
	}
	return b
}
