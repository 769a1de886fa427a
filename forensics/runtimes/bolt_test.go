package runtimes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/nodeforensics/nodeforensics/internal/nodefs"
)

// build makes a database with the real library.
func build(tb testing.TB, pageSize int, fill func(*bbolt.Tx) error) string {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "x.db")
	db, err := bbolt.Open(name, 0o600, &bbolt.Options{PageSize: pageSize, NoSync: true})
	if err != nil {
		tb.Fatal(err)
	}
	if err := db.Update(fill); err != nil {
		tb.Fatal(err)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return name
}

// nested fills buckets: many, so that there are branches; large values, for overflow pages; small ones, which are inline.
func nested(tx *bbolt.Tx) error {
	for i := range 500 {
		b, err := tx.CreateBucketIfNotExists(fmt.Appendf(nil, "bucket %d", i))
		if err != nil {
			return err
		}
		for j := range i % 7 {
			if err := b.Put(fmt.Appendf(nil, "key %d", j), bytes.Repeat([]byte{byte(i)}, (i%50)*(i%50)*10)); err != nil {
				return err
			}
		}
		if i%3 == 0 {
			inner, err := b.CreateBucket([]byte("inner"))
			if err != nil {
				return err
			}
			if err := inner.Put([]byte("k"), []byte("v")); err != nil {
				return err
			}
		}
	}
	return nil
}

// flat lists everything in a database, as "bucket/bucket/key" and the value.
func flat(db *boltDB, b boltBucket, prefix string, into map[string]string) error {
	return db.each(b, func(key, value []byte, sub *boltBucket) error {
		if sub == nil {
			into[prefix+string(key)] = string(value)
			return nil
		}
		into[prefix+string(key)+"/"] = ""
		return flat(db, *sub, prefix+string(key)+"/", into)
	})
}

func flatReal(b *bbolt.Bucket, prefix string, into map[string]string) error {
	return b.ForEach(func(key, value []byte) error {
		if value != nil {
			into[prefix+string(key)] = string(value)
			return nil
		}
		into[prefix+string(key)+"/"] = ""
		return flatReal(b.Bucket(key), prefix+string(key)+"/", into)
	})
}

// TestBoltAgainstTheRealOne reads what bbolt wrote, with page sizes of several machines, and compares with what bbolt reads.
func TestBoltAgainstTheRealOne(t *testing.T) {
	for _, pageSize := range []int{1024, 4096, 16384, 65536} {
		t.Run(fmt.Sprint(pageSize), func(t *testing.T) {
			name := build(t, pageSize, nested)
			want := map[string]string{}
			reference, err := bbolt.Open(name, 0o600, &bbolt.Options{ReadOnly: true})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = reference.Close() }()
			if err := reference.View(func(tx *bbolt.Tx) error {
				return tx.ForEach(func(key []byte, b *bbolt.Bucket) error {
					want[string(key)+"/"] = ""
					return flatReal(b, string(key)+"/", want)
				})
			}); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			db, err := openBolt(bytes.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			if err := flat(db, db.top(), "", got); err != nil {
				t.Fatal(err)
			}
			if len(want) < 500 || !cmp.Equal(want, got) {
				t.Errorf("%d entries, want %d", len(got), len(want))
			}
		})
	}
}

// TestBoltChanged notices a transaction that is committed while the database is read.
func TestBoltChanged(t *testing.T) {
	name := build(t, 4096, nested)
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	db, err := openBolt(file, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if db.changed() {
		t.Error("changed, though nobody wrote")
	}
	writer, err := bbolt.Open(name, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatal(err) // a lock of the reader would be in the daemon's way
	}
	defer func() { _ = writer.Close() }()
	if err := writer.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket([]byte("new")); return err }); err != nil {
		t.Fatal(err)
	}
	if !db.changed() {
		t.Error("a transaction went unnoticed")
	}
}

// TestBoltShortBucket has a bucket whose value is shorter than a bucket's header.
func TestBoltShortBucket(t *testing.T) {
	for size := range boltBucketSize + 2 {
		page := make([]byte, boltPageHeader+boltLeafSize+1+size)
		binary.LittleEndian.PutUint16(page[8:], boltLeaf)
		binary.LittleEndian.PutUint16(page[10:], 1)
		e := page[boltPageHeader:]
		binary.LittleEndian.PutUint32(e, boltIsBucket)
		binary.LittleEndian.PutUint32(e[4:], boltLeafSize)
		binary.LittleEndian.PutUint32(e[8:], 1)
		binary.LittleEndian.PutUint32(e[12:], uint32(size))
		found := 0
		err := new(boltDB).page(page, 0, func(_, _ []byte, sub *boltBucket) error {
			found++
			return nil
		})
		if whole := size >= boltBucketSize; whole != (err == nil) || whole != (found == 1) || !whole && !errors.Is(err, errBoltDamaged) {
			t.Errorf("%d bytes: %d buckets, %v", size, found, err)
		}
	}
}

// TestBoltCircle has a branch that leads to itself, which ends bbolt with an overflow of its stack.
func TestBoltCircle(t *testing.T) {
	text, err := os.ReadFile(build(t, 4096, nested))
	if err != nil {
		t.Fatal(err)
	}
	db, err := openBolt(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	root := text[db.root*4096:]
	if root[8] != boltBranch {
		t.Fatalf("the root is no branch: %#x", root[8])
	}
	for i := range int(root[10]) {
		root[boltPageHeader+i*boltBranchSize+8] = byte(db.root)
		root[boltPageHeader+i*boltBranchSize+9] = byte(db.root >> 8)
	}
	err = db.each(db.top(), func([]byte, []byte, *boltBucket) error { return nil })
	if !errors.Is(err, errBoltDamaged) && !errors.Is(err, nodefs.ErrTruncated) {
		t.Errorf("error = %v", err)
	}
}

func FuzzBolt(f *testing.F) {
	text, err := os.ReadFile(build(f, 4096, func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("v1"))
		if err != nil {
			return err
		}
		inner, err := b.CreateBucket([]byte("k8s.io"))
		if err != nil {
			return err
		}
		list, err := inner.CreateBucket([]byte("containers"))
		if err != nil {
			return err
		}
		c, err := list.CreateBucket([]byte("id"))
		if err != nil {
			return err
		}
		return c.Put([]byte("image"), []byte("name"))
	}))
	if err != nil {
		f.Fatal(err)
	}
	// Numbers rather than the text itself: the fuzzer would make that shorter byte by byte, which takes longer than the run.
	for page := range len(text) / 4096 {
		for _, field := range []int{8, 10, 12, boltPageHeader, boltPageHeader + 4, boltPageHeader + 8, boltPageHeader + 12} {
			f.Add(len(text), uint32(page*4096+field), uint16(1), uint32(page*4096+boltPageHeader), uint16(1))
			f.Add(len(text), uint32(page*4096+field), uint16(0xffff), uint32(page*4096+boltPageHeader+4), uint16(0xfff))
		}
	}
	f.Add(len(text)/2, uint32(0), uint16(0), uint32(0), uint16(0))
	f.Fuzz(func(t *testing.T, size int, at uint32, value uint16, at2 uint32, value2 uint16) {
		text := append(bytes.Clone(text[:max(0, min(size, len(text)))]), 0) // small changes behind the checksums
		for at, value := range map[uint32]uint16{at: value, at2: value2} {
			binary.LittleEndian.PutUint16(text[int(at)%max(len(text)-1, 1):], value)
		}
		db, err := openBolt(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return
		}
		found, _ := ParseMetadata(bytes.NewReader(text), int64(len(text)))
		for _, c := range found.Containers {
			if len(c.ID) > len(text) {
				t.Errorf("id of %d bytes out of %d", len(c.ID), len(text))
			}
		}
		_ = flat(db, db.top(), "", map[string]string{})
	})
}
